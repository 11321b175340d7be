"""The OpenAPI description and the programs that make it. `site` serves the file openapi.json."""

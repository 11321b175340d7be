"""The OpenAPI description. It is made when the service is built, and no request loads it."""

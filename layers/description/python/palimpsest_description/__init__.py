"""The OpenAPI description: it is made when the service is built, and no request loads it."""

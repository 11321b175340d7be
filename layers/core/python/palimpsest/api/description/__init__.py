"""The API's description, made when the service is built: no request loads it."""

"""Models of Amazon Bedrock, which a function calls with the credentials of its role."""

"""The search index in two tables of DynamoDB: the owners' words in one, their vectors in the other."""

from palimpsest.engines.dynamodb.search.index import DynamoDbIndex

__all__ = ["DynamoDbIndex"]

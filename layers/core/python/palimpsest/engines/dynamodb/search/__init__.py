"""The search index in two DynamoDB tables: one for words, one for vectors."""

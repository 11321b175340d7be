"""The tables on DynamoDB: the only place that imports botocore."""

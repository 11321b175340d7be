"""The tables on DynamoDB: the only place that imports pynamodb or botocore."""

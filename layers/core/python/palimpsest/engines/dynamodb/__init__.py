"""The stores on DynamoDB. Only this package and `aws` import botocore."""

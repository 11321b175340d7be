"""The adapters to AWS services other than DynamoDB. Each file has one service."""

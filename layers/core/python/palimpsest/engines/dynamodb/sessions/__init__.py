"""The conversation store on DynamoDB, and the jobs in its table."""

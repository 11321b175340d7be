"""The conversation store on DynamoDB, and the jobs in the same table."""

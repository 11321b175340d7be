"""The conversation store on DynamoDB, and the jobs that stand in its table."""

"""The long-term store on DynamoDB."""

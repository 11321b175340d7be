"""The model calls of jobs, with their prompts and answers, for tenants that want them kept."""

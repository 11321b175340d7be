"""The profile of a user: who they are, on one page that is made without a model."""

"""The truth benchmark: what the service believes about a user after labelled conversations."""

"""What is believed of a user after labelled conversations."""

"""What the use cases need of the world outside: one Protocol a file, with failure and ordering in the contract."""

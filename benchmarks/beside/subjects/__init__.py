"""The stores of conversations that are compared. Each runs in an environment of its own."""

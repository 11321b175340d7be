"""The window: which messages a model sees next, within a budget, always valid, never empty."""

"""The composition root: builds stores, models and workers from settings."""

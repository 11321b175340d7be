"""The prompts, one file each."""

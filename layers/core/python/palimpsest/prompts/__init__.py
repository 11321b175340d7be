"""The prompts that models are given, one file each."""

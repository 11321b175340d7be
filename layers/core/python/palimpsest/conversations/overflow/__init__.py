"""Overflow: what leaves a full window, and what stands for it."""

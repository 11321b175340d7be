"""How well memories are recalled, and what a recall costs as a memory grows."""

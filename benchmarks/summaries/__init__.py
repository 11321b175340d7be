"""How many answers are still in a context once their turns have left its window."""

"""The cost of 1,000 turns: the operations on AWS and the tokens of models, at list prices."""

"""What 1,000 turns ask of AWS and of models, at list prices."""

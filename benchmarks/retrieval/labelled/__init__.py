"""Labelled sets for the memory benchmark: their form, and the faults that make one unusable."""

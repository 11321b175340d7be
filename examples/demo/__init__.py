"""A conversation that overflows its window, and another that is remembered, on the local stack."""

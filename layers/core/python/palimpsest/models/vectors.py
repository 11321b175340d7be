"""Checks that every search index makes before it stores or compares a vector."""

from __future__ import annotations

import math

from palimpsest.models.ports import Space, Vector


def unit(vector: Vector) -> list[float]:
    """The vector at length 1. Raises `ValueError` if it has no direction: all zero, or not finite."""
    length = math.hypot(*vector)
    if not math.isfinite(length) or length == 0:
        raise ValueError("A vector must be finite and not zero.")
    return [value / length for value in vector]


def check(vector: Vector, space: Space | None) -> None:
    """Raise `ValueError` if the vector is not one of the space; `None` is the space of an index without vectors."""
    if space is None:
        raise ValueError("This index holds no vectors.")
    if len(vector) != space.dimension:
        raise ValueError(f"A vector of {space.dimension} numbers is needed, not of {len(vector)}.")
    unit(vector)

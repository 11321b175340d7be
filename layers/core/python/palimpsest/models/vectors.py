"""What every search index asks of a vector before it keeps it or compares with it."""

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
    """Raises `ValueError` if the vector can't be one of the space."""
    if space is None:
        raise ValueError("This index holds no vectors.")
    if len(vector) != space.dimension:
        raise ValueError(f"A vector of {space.dimension} numbers is needed, not of {len(vector)}.")
    unit(vector)

"""Computes how much weight a memory keeps as it ages."""

from __future__ import annotations

from math import log2

from palimpsest.recall.weights import DEFAULT_WEIGHTS


def freshness(
    *, said_at: int, uses: int, used_at: int, now: int, half_life: int = DEFAULT_WEIGHTS.half_life
) -> float:
    """Return the weight (0..1) of a memory. It is 1 if the memory was said or used just now, and
    halves with each half-life. Frequent use makes the half-life longer. Times are in milliseconds.
    """
    age = max(0, now - max(said_at, used_at))
    return faded(age, half_life=half_life * (1 + log2(1 + uses)))


def faded(age: int, *, half_life: float) -> float:
    """Return the share (0..1) that is left at this age. It halves with each half-life. Both
    arguments are in milliseconds.
    """
    return float(0.5 ** (age / half_life))

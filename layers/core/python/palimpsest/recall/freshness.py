"""How much of a memory's weight its age has left."""

from __future__ import annotations

from math import log2

from palimpsest.recall.weights import DEFAULT_WEIGHTS


def freshness(
    *, said_at: int, uses: int, used_at: int, now: int, half_life: int = DEFAULT_WEIGHTS.half_life
) -> float:
    """1 for what was said or used just now, half of it after a half-life; what was used often fades
    more slowly. Times are in milliseconds.
    """
    age = max(0, now - max(said_at, used_at))
    return faded(age, half_life=half_life * (1 + log2(1 + uses)))


def faded(age: int, *, half_life: float) -> float:
    """What is left of 1 after an age: half of it after each half-life. Both are in milliseconds."""
    return float(0.5 ** (age / half_life))

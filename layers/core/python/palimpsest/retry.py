"""Deciding again until a commit holds: how every write to a session meets other writers."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from palimpsest.clock import Clock
from palimpsest.errors import CommitLost, Unavailable

PATIENCE = timedelta(seconds=10)
FIRST_PAUSE = 0.005  # seconds
LONGEST_PAUSE = 0.5

Outcome = TypeVar("Outcome")


def until_committed(decide: Callable[[], Outcome], *, clock: Clock) -> Outcome:
    """Run `decide` (read, decide, commit) until its commit is not lost, with exponential jitter, for ten seconds.

    Raises `Unavailable` (retryable) after that; nothing of the last attempt was written then.
    """
    deadline = clock.now() + PATIENCE
    pause = FIRST_PAUSE
    while True:
        try:
            return decide()
        except CommitLost as lost:
            if clock.now() >= deadline:
                detail = "Too many writers at once: nothing was written."
                raise Unavailable(detail, code="contention") from lost
            clock.sleep(random.uniform(0, pause))  # noqa: S311 - jitter, no secret
            pause = min(LONGEST_PAUSE, pause * 2)

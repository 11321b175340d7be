"""Repeats a use case whose commit was lost to a concurrent writer. Writers within one process take
turns. If a writer of another process commits first, the use case reads and decides again.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeVar
from weakref import WeakValueDictionary

from palimpsest.clock import Clock
from palimpsest.errors import CommitLost, Unavailable

PATIENCE = timedelta(seconds=10)  # the caller's own time-out comes later
SHORTEST_ATTEMPT = 0.005  # seconds
LONGEST_PAUSE = 1.0  # seconds; a longer one would leave no time for another attempt

Outcome = TypeVar("Outcome")


def until_committed(decide: Callable[[], Outcome], *, clock: Clock) -> Outcome:
    """Run `decide` (which reads, decides and commits) and return its result. If its commit is lost,
    run it again, for at most ten seconds.

    After that, raises `Unavailable` (`contention`, retryable). In that case, the last attempt has
    written nothing.
    """
    deadline = clock.now() + PATIENCE
    losses = 0
    while True:
        begun = clock.now()
        try:
            return decide()
        except CommitLost as lost:
            now = clock.now()
            if now >= deadline:
                raise _contention() from lost
            losses += 1
            clock.sleep(pause_after(losses, attempt=(now - begun).total_seconds()))


def pause_after(losses: int, *, attempt: float) -> float:
    """Return how many seconds to wait after this many lost commits in a row, when an attempt took
    `attempt` seconds.

    Writers collide as long as their attempts overlap. The wait is therefore a multiple of the
    length of an attempt, and it doubles with every loss. Half of the wait is random.
    """
    return back_off(losses, first=2 * max(attempt, SHORTEST_ATTEMPT), longest=LONGEST_PAUSE)


def back_off(failures: int, *, first: float, longest: float) -> float:
    """Return how many seconds to wait after this many failures in a row. The wait is `first`,
    doubled with each failure, and at most `longest`. Up to half of it is taken off at random, so
    that callers who failed together do not return together.
    """
    return random.uniform(0.5, 1) * min(longest, first * 2.0**failures)  # noqa: S311 - jitter, no secret


class Turns:
    """Locks by place, for the writers of one process. Writers to the same place take turns, so only
    writers of other processes can collide with them. A thread that has the turn may take it again.
    """

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Hashable, threading.RLock] = WeakValueDictionary()
        self._lock = threading.Lock()

    @contextmanager
    def at(self, place: Hashable) -> Iterator[None]:
        """Let no other thread in at this place until the block ends. Waits for a thread that is in,
        at most ten seconds. Raises `Unavailable` (`contention`) after that.
        """
        with self._lock:
            turn = self._locks.setdefault(place, threading.RLock())
        if not turn.acquire(timeout=PATIENCE.total_seconds()):
            raise _contention()
        try:
            yield
        finally:
            turn.release()


def _contention() -> Unavailable:
    return Unavailable("Too many writers at once: nothing was written.", code="contention")

"""Decides which refused calls get a problem as their answer. A flood of them then costs little."""

from __future__ import annotations

from palimpsest.clock import Clock

MINUTE = 60


class Refusals:
    """Counts the refused calls of one process. The first `most` of each minute are answered with a
    problem, which a larger function makes.
    """

    def __init__(self, most: int, clock: Clock) -> None:
        self._most = most
        self._clock = clock
        self._minute = 0
        self._refused = 0

    def is_answered(self) -> bool:
        """Count a refused call. Return whether it is among the first of its minute."""
        minute = int(self._clock.now().timestamp()) // MINUTE
        if minute != self._minute:
            self._minute, self._refused = minute, 0
        self._refused += 1
        return self._refused <= self._most

"""What the writes within one process caused, as the tables' streams carry it on AWS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from palimpsest.engines.in_memory.state import State
from palimpsest.jobs.ports import Changed, JobNotice

T = TypeVar("T")


class InMemoryFeed:
    """`stores.Feed` over the state that the other stores share."""

    def __init__(self, state: State) -> None:
        self._state = state

    def jobs(self) -> Sequence[JobNotice]:
        return [JobNotice(job.tenant, job.id, job.kind) for job in self._taken(self._state.outbox)]

    def changes(self) -> Sequence[Changed]:
        return self._taken(self._state.changes)

    def _taken(self, waiting: list[T]) -> list[T]:
        with self._state.lock:
            taken = waiting[:]
            del waiting[: len(taken)]
        return taken

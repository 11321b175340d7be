"""The feed of changes in the in-memory stores."""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.jobs.events import Changed, JobNotice

from palimpsest_local.in_memory.jobs import T
from palimpsest_local.in_memory.state import State


class InMemoryFeed:
    """`stores.Feed` over the state of the other stores. It has the jobs and changes that their
    writes caused, which on AWS the tables' streams carry.
    """

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

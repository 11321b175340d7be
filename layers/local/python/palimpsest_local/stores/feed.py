"""The feed of changes in the stores of one machine."""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.jobs.events import Changed, JobNotice

from palimpsest_local.stores.shelves import NO_END
from palimpsest_local.stores.state import State

KEPT = 10_000  # changes that stay stored for other processes


class LocalFeed:
    """`stores.Feed` over the state of the other stores. It has the jobs and changes that their
    writes caused, which on AWS the tables' streams carry. Jobs that were pending when this process
    began come first. Earlier changes are not in it, because the process indexes all stored data
    when it starts.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._seen = state.last_change
        state.outbox += [job for job in state.jobs.values() if not job.has_ended]

    def jobs(self) -> Sequence[JobNotice]:
        with self._state.lock:
            taken = self._state.outbox[:]
            del self._state.outbox[: len(taken)]
        return [JobNotice(job.tenant, job.id, job.kind) for job in taken]

    def changes(self) -> Sequence[Changed] | None:
        """Return the changes of all processes since the last call. Return None if some of them were
        removed before this process read them.
        """
        with self._state.lock:
            log = self._state.change_log.between(self._seen + 1, NO_END)
            if not log:
                return ()
            is_whole = log[0][0] == self._seen + 1
            self._seen = log[-1][0]
            self._trim(len(log))
        return [change for _, change in log] if is_whole else None

    def _trim(self, count: int) -> None:
        """Remove at most `count` changes that all processes had time to read. While there are none,
        this begins no transaction.
        """
        if self._seen > KEPT:
            self._state.change_log.remove_between(0, self._seen - KEPT, limit=count)

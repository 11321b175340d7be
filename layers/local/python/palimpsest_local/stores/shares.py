"""Tenants' shares of the queues within the process."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator

from palimpsest.jobs.kinds import Queue
from palimpsest.jobs.ports import Waiting
from palimpsest.scope import Scope


class LocalShares:
    """`Shares` within the process. Safe to use from many threads."""

    def __init__(self) -> None:
        self._under_way: defaultdict[tuple[str, Queue], set[str]] = defaultdict(set)
        self._waiting: defaultdict[tuple[str, Queue], set[Waiting]] = defaultdict(set)
        self._lock = threading.Lock()

    def enter(self, scope: Scope, queue: Queue, job_id: str, *, most: int) -> bool:
        with self._lock:
            jobs = self._under_way[scope.tenant, queue]
            if job_id not in jobs and len(jobs) >= most:
                return False
            jobs.add(job_id)
            return True

    def leave(self, scope: Scope, queue: Queue, job_id: str) -> None:
        with self._lock:
            self._under_way[scope.tenant, queue].discard(job_id)

    def under_way(self, scope: Scope, queue: Queue) -> frozenset[str]:
        with self._lock:
            return frozenset(self._under_way[scope.tenant, queue])

    def wait(self, scope: Scope, queue: Queue, job_id: str, *, since: int) -> None:
        with self._lock:
            self._waiting[scope.tenant, queue].add(Waiting(job_id, since))

    def waiting(self, scope: Scope, queue: Queue) -> Iterator[Waiting]:
        with self._lock:
            waiting = list(self._waiting[scope.tenant, queue])
        return iter(sorted(waiting, key=lambda job: (job.since, job.job_id)))

    def call(self, scope: Scope, queue: Queue, waiting: Waiting) -> None:
        with self._lock:
            self._waiting[scope.tenant, queue].discard(waiting)

"""Jobs, and calls with an idempotency key, stored in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from palimpsest.engines.cursors import job_cursor
from palimpsest.engines.places import job_listed_as, job_partition, shard_of, shards_at
from palimpsest.errors import CommitLost
from palimpsest.idempotency import KeyedCall
from palimpsest.jobs.job import Job, JobState
from palimpsest.jobs.ports import Due
from palimpsest.scope import Scope, UserScope

from palimpsest_local.stores.kinds import SETTINGS
from palimpsest_local.stores.state import State

T = TypeVar("T")


class LocalJobs:
    """`Jobs` over the state of `LocalSessions`."""

    def __init__(self, state: State) -> None:
        self._state = state

    def put(self, job: Job) -> None:
        with self._state.write("put job"):
            if job_partition(job) in self._state.jobs:
                raise CommitLost("The job exists.")
            self._state.put_job(job)

    def get(self, scope: Scope, job_id: str) -> Job | None:
        return self._state.jobs.get(scope.job_partition(job_id))

    def listed(
        self, scope: UserScope, *, limit: int, after: str | None = None, newest_first: bool = True
    ) -> tuple[tuple[Job, ...], str | None]:
        return self._page(
            scope, lambda job: _is_of(job, scope), limit, after, newest_first=newest_first
        )

    def failed(
        self, scope: Scope, *, limit: int, after: str | None = None, newest_first: bool = True
    ) -> tuple[tuple[Job, ...], str | None]:
        def is_failed(job: Job) -> bool:
            return (job.tenant, job.state) == (scope.tenant, "failed")

        return self._page(scope, is_failed, limit, after, newest_first=newest_first)

    def _page(
        self,
        scope: UserScope | Scope,
        belongs: Callable[[Job], bool],
        limit: int,
        after: str | None,
        *,
        newest_first: bool,
    ) -> tuple[tuple[Job, ...], str | None]:
        beyond = job_cursor(scope).place(after)
        with self._state.lock:
            jobs = {job_listed_as(job): job for job in self._state.jobs.values() if belongs(job)}
        places = sorted(jobs, reverse=newest_first)
        if beyond is not None:
            places = [
                place for place in places if (place < beyond if newest_first else place > beyond)
            ]
        more = len(places) > limit
        following = job_cursor(scope).at(places[limit - 1]) if more else None
        return tuple(jobs[place] for place in places[:limit]), following

    def start(self, job: Job) -> None:
        with self._state.write("start"):
            stored = self._state.jobs.get(job_partition(job))
            if stored is not None and not stored.has_ended and stored.due_at is not None:
                self._state.jobs[job_partition(job)] = replace(
                    stored, state="running", due_at=job.due_at
                )

    def mark(self, job: Job, part: str) -> None:
        with self._state.write("mark"):
            stored = self._state.jobs.get(job_partition(job))
            if stored is not None and not stored.has_ended:
                self._state.jobs[job_partition(job)] = replace(
                    stored, stored=stored.stored | {part}
                )

    def spend(self, job: Job, used: Mapping[str, int]) -> None:
        with self._state.write("spend"):
            place = Scope(job.tenant).job_partition(job.root)
            stored = self._state.jobs.get(place)
            if stored is not None:
                spent = {
                    name: stored.spent.get(name, 0) + used.get(name, 0)
                    for name in {*stored.spent, *used}
                }
                self._state.jobs[place] = replace(stored, spent=spent)

    def finish(self, job: Job) -> None:
        with self._state.write("finish"):
            if not self._state.may_finish(job):
                raise CommitLost("The job has ended, or lacks a part.")
            self._state.finish(job)

    def settle(self, job: Job, *, due_at: int | None, state: JobState | None = None) -> None:
        with self._state.write("settle"):
            stored = self._state.jobs.get(job_partition(job))
            if stored is not None and state in (None, stored.state):
                self._state.jobs[job_partition(job)] = replace(
                    stored, due_at=due_at, lost=job.lost, tries=job.tries
                )

    def due(self, *, now: int, limit: int) -> Iterator[Due]:
        shards: dict[str, list[tuple[int, Due]]] = defaultdict(list)
        for due_at, partition, due in self._with_deadline():
            if due_at <= now:
                shards[shard_of(partition)].append((due_at, due))
        for shard in filter(shards.__contains__, shards_at(now)):
            oldest = sorted(shards[shard], key=lambda entry: entry[0])
            yield from (due for _, due in oldest[:limit])

    def _with_deadline(self) -> list[tuple[int, str, Due]]:
        with self._state.lock:
            jobs = [
                (job.due_at, partition, Due(job.tenant, job.id, None))
                for partition, job in self._state.jobs.items()
                if job.due_at is not None
            ]
            sessions = [
                (
                    settings.due_at,
                    Scope(tenant).session(session).partition,
                    Due(tenant, None, session),
                )
                for (tenant,) in self._state.shelves.places(SETTINGS)
                for session, settings in self._state.shelves.shelf(SETTINGS, tenant).items()
                if settings.due_at is not None
            ]
        return jobs + sessions


class LocalKeyedCalls:
    """`KeyedCalls` over the same state."""

    def __init__(self, state: State) -> None:
        self._state = state

    def get(self, call: KeyedCall) -> KeyedCall | None:
        return self._state.calls.get((call.tenant, call.name))

    def put(self, call: KeyedCall) -> None:
        with self._state.write("put call"):
            if not self._state.may_put(call):
                raise CommitLost("Another writer changed this first; nothing was written.")
            self._state.put_call(call)


def _is_of(job: Job, scope: UserScope) -> bool:
    return (job.tenant, job.user) == (scope.tenant, scope.user) and job.parent is None

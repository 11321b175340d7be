"""What background work reads of the in-memory stores: jobs, what is due or expires, what follows of all writes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from palimpsest.engines import job_cursor, job_listed_as, job_partition, shard_of
from palimpsest.engines.in_memory import State
from palimpsest.engines.in_memory.memories import InMemoryMemories
from palimpsest.engines.in_memory.sessions import InMemorySessions
from palimpsest.errors import CommitLost
from palimpsest.idempotency import KeyedCall
from palimpsest.jobs import Job, JobState
from palimpsest.jobs.ports import Changed, Due, JobNotice
from palimpsest.memory import Walk
from palimpsest.memory.ports import Page, Reminder
from palimpsest.scope import Scope, SessionScope, UserScope

T = TypeVar("T")


class InMemoryJobs:
    """`Jobs` over the state of `InMemorySessions`."""

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
        return self._page(scope, lambda job: _is_of(job, scope), limit, after, newest_first=newest_first)

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
            found = {job_listed_as(job): job for job in self._state.jobs.values() if belongs(job)}
        places = sorted(found, reverse=newest_first)
        if beyond is not None:
            places = [place for place in places if (place < beyond if newest_first else place > beyond)]
        more = len(places) > limit
        following = job_cursor(scope).at(places[limit - 1]) if more else None
        return tuple(found[place] for place in places[:limit]), following

    def start(self, job: Job) -> None:
        with self._state.write("start"):
            found = self._state.jobs.get(job_partition(job))
            if found is not None and not found.has_ended and found.due_at is not None:
                self._state.jobs[job_partition(job)] = replace(found, state="running", due_at=job.due_at)

    def mark(self, job: Job, part: str) -> None:
        with self._state.write("mark"):
            found = self._state.jobs.get(job_partition(job))
            if found is not None and not found.has_ended:
                self._state.jobs[job_partition(job)] = replace(found, stored=found.stored | {part})

    def spend(self, job: Job, used: Mapping[str, int]) -> None:
        with self._state.write("spend"):
            place = Scope(job.tenant).job_partition(job.root)
            found = self._state.jobs.get(place)
            if found is not None:
                spent = {name: found.spent.get(name, 0) + used.get(name, 0) for name in {*found.spent, *used}}
                self._state.jobs[place] = replace(found, spent=spent)

    def finish(self, job: Job) -> None:
        with self._state.write("finish"):
            if not self._state.may_finish(job):
                raise CommitLost("The job has ended, or lacks a part.")
            self._state.finish(job)

    def settle(self, job: Job, *, due_at: int | None, state: JobState | None = None) -> None:
        with self._state.write("settle"):
            found = self._state.jobs.get(job_partition(job))
            if found is not None and state in (None, found.state):
                self._state.jobs[job_partition(job)] = replace(found, due_at=due_at, lost=job.lost)

    def due(self, *, now: int, limit: int) -> Iterator[Due]:
        shards: dict[str, list[tuple[int, Due]]] = defaultdict(list)
        for due_at, partition, due in self._with_deadline():
            if due_at <= now:
                shards[shard_of(partition)].append((due_at, due))
        for shard in sorted(shards):
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
                (found.settings.due_at, Scope(tenant).session(session).partition, Due(tenant, None, session))
                for (tenant, session), found in self._state.partitions.items()
                if found.settings is not None and found.settings.due_at is not None
            ]
        return jobs + sessions


class InMemoryKeyedCalls:
    """`KeyedCalls` over the same state."""

    def __init__(self, state: State) -> None:
        self._state = state

    def get(self, call: KeyedCall) -> KeyedCall | None:
        return self._state.calls.get((call.tenant, call.name))

    def put(self, call: KeyedCall) -> None:
        with self._state.write("put call"):
            if not self._state.may_put(call):
                raise CommitLost("Another writer was first.")
            self._state.put_call(call)


def _is_of(job: Job, scope: UserScope) -> bool:
    return (job.tenant, job.user) == (scope.tenant, scope.user) and job.parent is None


class InMemoryFeed:
    """`stores.Feed` over the state of the other stores: what their writes caused, as streams carry it on AWS."""

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


S = TypeVar("S", SessionScope, UserScope)


class InMemoryOwners:
    """`Owners` over what the two stores know."""

    def __init__(self, sessions: InMemorySessions, memories: InMemoryMemories) -> None:
        self._sessions = sessions
        self._memories = memories

    def sessions(self, *, after: str | None = None) -> Iterator[tuple[SessionScope, str]]:
        with self._sessions.state.lock:
            partitions = self._sessions.state.partitions.items()
            found = [SessionScope(*names) for names, partition in partitions if partition.settings is not None]
        return _from(after, found)

    def users(self, *, after: str | None = None) -> Iterator[tuple[UserScope, str]]:
        with self._memories.state.lock:
            found = [UserScope(*names) for names in self._memories.state.users]
        return _from(after, found)


def _from(after: str | None, scopes: Iterable[S]) -> Iterator[tuple[S, str]]:
    for scope in sorted(scopes, key=lambda each: each.partition):
        if after is None or scope.partition > after:
            yield scope, scope.partition


class InMemoryExpiries:
    """`Expiries` over what `InMemoryMemories` knows."""

    def __init__(self, memories: InMemoryMemories) -> None:
        self._memories = memories

    def due(self, *, now: int, limit: int) -> Iterator[tuple[UserScope, str | None]]:
        shards: dict[str, list[tuple[int, str, UserScope, str | None]]] = defaultdict(list)
        with self._memories.state.lock:
            for (tenant, user), known in self._memories.known.items():
                scope = UserScope(tenant, user)
                if known.walk is not None and known.walk.due_at <= now:
                    shards[shard_of(scope.partition)].append((known.walk.due_at, scope.partition, scope, None))
                for name, reminder in known.era.reminders.items():
                    if reminder.due_at <= now:
                        shards[shard_of(name)].append((reminder.due_at, scope.partition, scope, name))
        for shard in sorted(shards):
            oldest = sorted(shards[shard], key=lambda entry: (*entry[:2], entry[3] or ""))[:limit]
            yield from ((scope, name) for *_, scope, name in oldest)

    def reminder(self, scope: UserScope, record_id: str) -> Reminder | None:
        with self._memories.state.lock:
            return self._memories.known[scope.tenant, scope.user].era.reminders.get(record_id)

    def remind(self, scope: UserScope, record_id: str, *, before: Reminder, to: Reminder | None) -> None:
        with self._memories.state.write("remind"):
            reminders = self._memories.known[scope.tenant, scope.user].era.reminders
            if reminders.get(record_id) != before:
                raise CommitLost("Another writer was first.")
            if to is None:
                del reminders[record_id]
            else:
                reminders[record_id] = to

    def walk(self, scope: UserScope) -> Walk | None:
        with self._memories.state.lock:
            return self._memories.known[scope.tenant, scope.user].walk

    def move(self, scope: UserScope, *, before: Walk, to: Walk | None) -> None:
        with self._memories.state.write("walk"):
            known = self._memories.known[scope.tenant, scope.user]
            if known.walk != before:
                raise CommitLost("Another writer was first.")
            known.walk = to

    def records(self, scope: UserScope, *, limit: int, after: str | None = None) -> Page:
        with self._memories.state.lock:
            records = self._memories.known[scope.tenant, scope.user].era.records
            ids = sorted(name for name in records if after is None or name > after)
            page = tuple(records[name] for name in ids[:limit])
        return Page(page, page[-1].id if len(ids) >= limit else None)

"""Lists of all owners in the in-memory stores, and of expired data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TypeVar

from palimpsest.engines.places import shard_of, shards_at
from palimpsest.errors import CommitLost
from palimpsest.memory.expiry import Walk
from palimpsest.memory.ports import RecordPage, Reminder
from palimpsest.scope import SessionScope, UserScope

from palimpsest_local.stores.kinds import REMINDERS, SETTINGS, WALKS
from palimpsest_local.stores.memories import LocalMemories
from palimpsest_local.stores.sessions import LocalSessions

S = TypeVar("S", SessionScope, UserScope)


class LocalOwners:
    """`Owners` over the data of the two stores."""

    def __init__(self, sessions: LocalSessions, memories: LocalMemories) -> None:
        self._sessions = sessions
        self._memories = memories

    def sessions(self, *, after: str | None = None) -> Iterator[tuple[SessionScope, str]]:
        with self._sessions.state.lock:
            shelves = self._sessions.state.shelves
            places = [
                SessionScope(tenant, session)
                for (tenant,) in shelves.places(SETTINGS)
                for session in shelves.shelf(SETTINGS, tenant)
            ]
        return _from(after, places)

    def users(self, *, after: str | None = None) -> Iterator[tuple[UserScope, str]]:
        with self._memories.state.lock:
            scopes = [UserScope(*names) for names in self._memories.state.users]
        return _from(after, scopes)


def _from(after: str | None, scopes: Iterable[S]) -> Iterator[tuple[S, str]]:
    for scope in sorted(scopes, key=lambda scope: scope.partition):
        if after is None or scope.partition > after:
            yield scope, scope.partition


class LocalExpiries:
    """`Expiries` over the data of `LocalMemories`."""

    def __init__(self, memories: LocalMemories) -> None:
        self._memories = memories

    def due(self, *, now: int, limit: int) -> Iterator[tuple[UserScope, str | None]]:
        shards: dict[str, list[tuple[int, str, UserScope, str | None]]] = defaultdict(list)
        with self._memories.state.lock:
            for scope, due_at, name in self._with_deadline():
                if due_at <= now:
                    place = scope.partition
                    shard = shard_of(place if name is None else name)
                    shards[shard].append((due_at, place, scope, name))
        for shard in filter(shards.__contains__, shards_at(now)):
            oldest = sorted(shards[shard], key=lambda entry: (*entry[:2], entry[3] or ""))[:limit]
            yield from ((scope, name) for *_, scope, name in oldest)

    def _with_deadline(self) -> Iterator[tuple[UserScope, int, str | None]]:
        """Yield each walk, and each reminder of a user's present epoch with its record."""
        shelves = self._memories.state.shelves
        for names, walk in shelves.shelf(WALKS).items():
            yield UserScope(*names), walk.due_at, None
        for tenant, user, epoch in shelves.places(REMINDERS):
            scope = UserScope(tenant, user)
            if epoch == str(self._memories.user(scope).epoch):
                for name, reminder in shelves.shelf(REMINDERS, tenant, user, epoch).items():
                    yield scope, reminder.due_at, name

    def reminder(self, scope: UserScope, record_id: str) -> Reminder | None:
        with self._memories.state.lock:
            return self._memories.part_of(scope).era.reminders.get(record_id)

    def remind(
        self, scope: UserScope, record_id: str, *, before: Reminder, to: Reminder | None
    ) -> None:
        with self._memories.state.write("remind"):
            reminders = self._memories.part_of(scope).era.reminders
            if reminders.get(record_id) != before:
                raise CommitLost("Another writer changed this first; nothing was written.")
            if to is None:
                del reminders[record_id]
            else:
                reminders[record_id] = to

    def walk(self, scope: UserScope) -> Walk | None:
        with self._memories.state.lock:
            return self._memories.part_of(scope).walk

    def move(self, scope: UserScope, *, before: Walk, to: Walk | None) -> None:
        with self._memories.state.write("walk"):
            known = self._memories.part_of(scope)
            if known.walk != before:
                raise CommitLost("Another writer changed this first; nothing was written.")
            known.walk = to

    def records(self, scope: UserScope, *, limit: int, after: str | None = None) -> RecordPage:
        with self._memories.state.lock:
            records = self._memories.part_of(scope).era.records
            ids = sorted(name for name in records if after is None or name > after)
            page = tuple(records[name] for name in ids[:limit])
        return RecordPage(page, page[-1].id if len(ids) >= limit else None)

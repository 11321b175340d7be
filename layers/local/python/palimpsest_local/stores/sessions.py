"""The conversation store within one process. It fulfils the same contract as the tables."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, cast

from palimpsest.conversations.message import Message
from palimpsest.conversations.ports import HeadMoved, Listed, Opened, PartOfSession, PartsOfSessions
from palimpsest.conversations.session import Commit, Compaction, Head, IdempotencyKey, Settings
from palimpsest.engines.cursors import session_cursor
from palimpsest.engines.places import COUNTERS, listed_within, session_listed_as
from palimpsest.errors import CommitLost
from palimpsest.jobs.events import MessageChanged
from palimpsest.jobs.job import Job
from palimpsest.scope import Scope, SessionScope, UserScope

from palimpsest_local.stores.kinds import SETTINGS
from palimpsest_local.stores.state import Faults, Partition, State, T

PAGE = 100
REMOVED_AT_ONCE = 25


class LocalSessions:
    """`Sessions` in dictionaries. Safe for many threads. `LocalJobs` works on the same `state`."""

    def __init__(self, state: State | None = None, *, faults: Faults | None = None) -> None:
        self.state = state or (State() if faults is None else State(faults=faults))

    @property
    def outbox(self) -> list[Job]:
        """Return every job that was stored, in order. On AWS the stream would carry them."""
        return self.state.outbox

    def open(
        self,
        scope: SessionScope,
        *,
        settings: bool = False,
        key: str | None = None,
        user: str | None = None,
    ) -> Opened:
        with self.state.lock:
            partition = self._partition(scope)
            known = None if key is None else partition.keys.get(key)
            epoch = 0 if user is None else self.epoch(scope.owner.user(user))
            stored = partition.settings if settings else None
            return Opened(head=partition.head, settings=stored, key=known, epoch=epoch)

    def epoch(self, scope: UserScope) -> int:
        return self.state.epochs.get((scope.tenant, scope.user), 0)

    def commit(self, scope: SessionScope, commit: Commit) -> None:
        with self.state.write("commit"):
            partition = self._partition(scope)
            if partition.head is not None and not _guard_holds(partition.head, commit):
                raise HeadMoved(partition.head)
            moved = (commit.jobs, commit.finished, commit.call)
            if not (
                _holds(partition, commit)
                and self.state.may_move(*moved)
                and self._may_begin(scope, commit)
            ):
                raise CommitLost("Another writer changed this first; nothing was written.")
            self.state.move(*moved)
            _apply(partition, commit)
            if commit.begins:
                self.state.users[scope.tenant, commit.after.user] = True
            if commit.messages and (tally := commit.after.tally(scope)) is not None:
                self.state.reach(tally)
            self._note_changes(scope, [message.seq for message in _written(commit)])

    def messages(
        self,
        scope: SessionScope,
        *,
        first: int,
        last: int,
        newest_first: bool = False,
        page: int | None = None,
    ) -> Iterator[Message]:
        while True:
            with self.state.lock:
                series = self._partition(scope).messages
                stored = series.between(first, last, newest_first=newest_first, limit=page or PAGE)
            yield from stored
            if len(stored) < (page or PAGE):
                return
            first, last = (
                (first, stored[-1].seq - 1) if newest_first else (stored[-1].seq + 1, last)
            )

    def messages_at(self, scope: SessionScope, seqs: Sequence[int]) -> tuple[Message, ...]:
        with self.state.lock:
            stored = self._partition(scope).messages
            return tuple(
                message for seq in sorted(set(seqs)) if (message := stored.get(seq)) is not None
            )

    def parts(self, scope: UserScope, seqs: Mapping[str, Collection[int]]) -> PartsOfSessions:
        with self.state.lock:
            read = {
                name: self._part(scope.owner.session(name), wanted) for name, wanted in seqs.items()
            }
            return PartsOfSessions(read, self.epoch(scope))

    def _part(self, scope: SessionScope, seqs: Collection[int]) -> PartOfSession:
        messages = self.messages_at(scope, sorted(seqs))
        return PartOfSession(
            self._partition(scope).head, {message.seq: message for message in messages}
        )

    def compaction(self, scope: SessionScope, last: int) -> Compaction | None:
        with self.state.lock:
            return self._partition(scope).compactions.get(last)

    def compactions(
        self,
        scope: SessionScope,
        *,
        first: int,
        last: int,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> tuple[Compaction, ...]:
        with self.state.lock:
            series = self._partition(scope).compactions
            return tuple(series.between(first, last, newest_first=newest_first, limit=limit))

    def listed(
        self,
        scope: Scope,
        *,
        user: str | None,
        since: str | None = None,
        until: str | None = None,
        limit: int,
        after: str | None = None,
        newest_first: bool = True,
    ) -> Listed:
        cursor = session_cursor(scope, user)
        beyond = cursor.place(after)
        low, high = listed_within(user, since=since, until=until)
        places = sorted(
            (place for place in self._places(scope, user) if low <= place <= high),
            reverse=newest_first,
        )
        if beyond is not None:
            places = [
                place for place in places if (place < beyond if newest_first else place > beyond)
            ]
        sessions = tuple(place.rpartition("#")[2] for place in places[:limit])
        more = len(places) > limit
        return Listed(sessions, cursor.at(places[limit - 1]) if more else None)

    def count(self, scope: Scope, *, most: int) -> int:
        return min(most, sum(1 for _ in self._places(scope, None)))

    def remove(self, scope: SessionScope, *, first: int, last: int, whole: bool) -> int:
        removed = 0
        partition = self._partition(scope)
        for series in (partition.messages, partition.compactions):
            gone = REMOVED_AT_ONCE
            while gone == REMOVED_AT_ONCE:
                with self.state.write("remove"):
                    if series is partition.messages:
                        leaving = partition.messages.between(first, last, limit=REMOVED_AT_ONCE)
                        self._note_changes(scope, [message.seq for message in leaving])
                    gone = series.remove_between(first, last, limit=REMOVED_AT_ONCE)
                removed += gone
        if whole:
            with self.state.write("remove"):
                removed += _remove_old(partition, last)
        return removed

    def reschedule(self, scope: SessionScope, settings: Settings, *, due_at: int | None) -> None:
        with self.state.write("reschedule"):
            partition = self._partition(scope)
            known = partition.settings
            if known is None or (known.base, known.due_at) != (settings.base, settings.due_at):
                return
            partition.settings = replace(known, due_at=due_at)

    def _note_changes(self, scope: SessionScope, seqs: Sequence[int]) -> None:
        self.state.note([MessageChanged(scope.tenant, scope.session, seq) for seq in seqs])

    def _partition(self, scope: SessionScope) -> Partition:
        return self.state.partition(scope.tenant, scope.session)

    def _may_begin(self, scope: SessionScope, commit: Commit) -> bool:
        """Return whether a session that begins belongs to its user's present epoch."""
        after = commit.after
        return not commit.begins or after.epoch == self.epoch(scope.owner.user(after.user))

    def _places(self, scope: Scope, user: str | None) -> Iterator[str]:
        with self.state.lock:
            every = list(self.state.shelves.shelf(SETTINGS, scope.tenant).items())
        for session, settings in every:
            if user in (None, settings.user):
                place = session_listed_as(created_at=settings.created_at, session=session)
                yield place if user is None else f"{user}#{place}"


def _holds(partition: Partition, commit: Commit) -> bool:
    """Return whether the commit may be written: its guard holds, and no record that it creates
    exists.
    """
    return (
        _guard_holds(partition.head, commit)
        and not any(message.seq in partition.messages for message in commit.messages)
        and all(message.seq in partition.messages for message in _rewritten(commit))
        and (commit.key is None or _is_free(partition.keys.get(commit.key.key), commit.after))
    )


def _guard_holds(head: Head | None, commit: Commit) -> bool:
    before = commit.before
    if head is None or before is None:
        return head is before
    if commit.guard == "version":
        return head.version == before.version
    return (head.job, head.window_start) == (before.job, before.window_start)


def _written(commit: Commit) -> tuple[Message, ...]:
    return (*commit.messages, *_rewritten(commit))


def _rewritten(commit: Commit) -> tuple[Message, ...]:
    return commit.marked if commit.redacted is None else (*commit.marked, commit.redacted)


def _is_free(key: IdempotencyKey | None, after: Head) -> bool:
    """Return whether a key may be written, because it is absent, has expired, or belongs to an
    earlier session with the same id.
    """
    return key is None or key.expires_at <= after.updated_second or key.last <= after.base


def _apply(partition: Partition, commit: Commit) -> None:
    messages = [_as_json(message, "chat", "extra", "metadata") for message in _written(commit)]
    if commit.settings is not None:
        partition.settings = _as_json(commit.settings, "system", "memory", "metadata")
    elif commit.visit_at is not None and partition.settings is not None:
        partition.settings = replace(partition.settings, due_at=commit.visit_at)
    partition.head = commit.after if partition.head is None else _moved(partition.head, commit)
    for message in messages:
        partition.messages.put(message.seq, message)
    if commit.compaction is not None:
        partition.compactions.put(commit.compaction.last, commit.compaction)
    if commit.key is not None:
        partition.keys[commit.key.key] = commit.key


def _moved(head: Head, commit: Commit) -> Head:
    """Return the head with the commit's changes. A counter changes by a difference. Any other field
    that the commit changes gets its new value.
    """
    changes: dict[str, Any] = {}
    for field in fields(Head):
        old, new = getattr(commit.before, field.name), getattr(commit.after, field.name)
        if new != old:
            is_counted = commit.guard == "window" and field.name in COUNTERS
            changes[field.name] = getattr(head, field.name) + new - old if is_counted else new
    return replace(head, **changes)


def _as_json(record: T, *names: str) -> T:
    """Return a copy of the record, as a table would return it. Later changes of the caller's values
    do not change the copy.
    """
    copies = {name: json.loads(json.dumps(getattr(record, name), default=dict)) for name in names}
    return cast(T, replace(cast(Any, record), **copies))


def _remove_old(partition: Partition, last: int) -> int:
    """Remove keys and settings of an earlier session with this id that ended at or before message
    `last`. Return how many were removed.
    """
    old = [name for name, key in partition.keys.items() if key.last <= last]
    for name in old:
        del partition.keys[name]
    if partition.settings is None or partition.settings.base >= last:
        return len(old)
    partition.settings = None
    return len(old) + 1

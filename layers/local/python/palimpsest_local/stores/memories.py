"""The long-term store within one process. It fulfils the same contract as the table."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest
from typing import Any

from palimpsest.engines.cursors import record_cursor, user_cursor
from palimpsest.engines.places import (
    EXAMINED,
    MOST_ITEMS,
    items_of,
    job_partition,
    record_listed_as,
)
from palimpsest.errors import CommitLost
from palimpsest.jobs.events import RecordChanged
from palimpsest.jobs.job import Job
from palimpsest.memory.burials import Burial
from palimpsest.memory.expiry import Walk, noting
from palimpsest.memory.ports import (
    ChunkLine,
    MemoryCommit,
    Pointer,
    Progress,
    RecordPage,
    Reminder,
    Tombstone,
)
from palimpsest.memory.record import GRAPH, Record, RecordType, UserState
from palimpsest.scope import Scope, UserScope

from palimpsest_local.stores.kinds import (
    BURIALS,
    CURRENT,
    LINES,
    MARKS,
    NAMESPACES,
    OF_AN_ERA,
    PLACES,
    POINTERS,
    PROGRESS,
    RECORDS,
    REMINDERS,
    STATES,
    USES,
    VECTORS,
    WALKS,
)
from palimpsest_local.stores.shelves import Shelves
from palimpsest_local.stores.state import State


class Era:
    """All data of one epoch of a user."""

    def __init__(self, shelves: Shelves, scope: UserScope, epoch: int) -> None:
        place = (scope.tenant, scope.user, str(epoch))
        self.records = shelves.shelf(RECORDS, *place)
        self.reminders = shelves.shelf(REMINDERS, *place)
        self.pointers = shelves.shelf(POINTERS, *place)
        self.places = shelves.shelf(PLACES, *place)
        self.marks = shelves.shelf(MARKS, *place)
        self.burials = shelves.shelf(BURIALS, *place)
        self.uses = shelves.shelf(USES, *place)
        self.progress = shelves.shelf(PROGRESS, *place)
        self.lines = shelves.shelf(LINES, *place)
        self.namespaces = shelves.shelf(NAMESPACES, *place)
        self.vectors = shelves.shelf(VECTORS, *place)
        self._kinds = [shelves.shelf(kind, *place) for kind in OF_AN_ERA]

    def __repr__(self) -> str:
        return f"Era({[dict(kind.items()) for kind in self._kinds]})"

    def keys(self) -> set[tuple[str, Any]]:
        return {(str(number), name) for number, kind in enumerate(self._kinds) for name in kind}

    def wiped(self, limit: int | None, *, besides: set[tuple[str, Any]]) -> set[tuple[str, Any]]:
        """Remove at most `limit` items that are not among `besides`, and return their keys. A table
        holds one item for each key and epoch.
        """
        counted = sorted(self.keys() - besides, key=repr)[:limit]
        gone = {*counted, *(self.keys() & besides)}
        for number, name in gone:
            del self._kinds[int(number)][name]
        if not self.keys():
            self.reminders.clear()
        return gone


class UserPart:
    """One user's part of the store: the user's present state, and the data of each epoch."""

    def __init__(self, shelves: Shelves, scope: UserScope) -> None:
        self._shelves = shelves
        self._scope = scope
        self._name = (scope.tenant, scope.user)

    @property
    def user(self) -> UserState:
        return self._shelves.shelf(STATES).get(self._name, UserState())

    @user.setter
    def user(self, user: UserState) -> None:
        self._shelves.shelf(STATES)[self._name] = user

    @property
    def current(self) -> int:
        """How many current records the user has."""
        return self._shelves.shelf(CURRENT).get(self._name, 0)

    @current.setter
    def current(self, count: int) -> None:
        self._shelves.shelf(CURRENT)[self._name] = count

    @property
    def walk(self) -> Walk | None:
        return self._shelves.shelf(WALKS).get(self._name)

    @walk.setter
    def walk(self, walk: Walk | None) -> None:
        if walk is None:
            self._shelves.shelf(WALKS).pop(self._name, None)
        else:
            self._shelves.shelf(WALKS)[self._name] = walk

    @property
    def era(self) -> Era:
        """The data of the present epoch."""
        return self.era_of(self.user.epoch)

    @property
    def eras(self) -> dict[int, Era]:
        """The data of the present epoch and of all epochs before it, by number."""
        return {epoch: self.era_of(epoch) for epoch in range(self.user.epoch + 1)}

    def era_of(self, epoch: int) -> Era:
        return Era(self._shelves, self._scope, epoch)


class LocalMemories:
    """`Memories` in dictionaries. Safe for many threads. Jobs are in `state`, together with those
    of the sessions.
    """

    def __init__(self, state: State | None = None) -> None:
        self.state = State() if state is None else state

    def user(self, scope: UserScope) -> UserState:
        with self.state.lock:
            return self.part_of(scope).user

    def current(self, scope: UserScope) -> int:
        with self.state.lock:
            return self.part_of(scope).current

    def erase(self, scope: UserScope, *, epoch: int, job: Job) -> None:
        with self.state.write("erase"):
            known = self.part_of(scope)
            if known.user.epoch != epoch or job_partition(job) in self.state.jobs:
                raise CommitLost("Another writer changed this first; nothing was written.")
            self.state.put_job(job)
            known.user, known.current = UserState(epoch + 1, known.user.version + 1), 0
            self.state.users.pop((scope.tenant, scope.user), None)
            known.walk = None
            self.state.epochs[scope.tenant, scope.user] = epoch + 1

    def room(self, commit: MemoryCommit) -> int:
        return MOST_ITEMS - items_of(commit)

    def commit(self, scope: UserScope, commit: MemoryCommit) -> None:
        if self.room(commit) < 0:
            raise ValueError(f"{items_of(commit)} items in one transaction")
        with self.state.write("commit memories"):
            known = self.part_of(scope)
            moved = ((commit.job,) if commit.job else (), commit.finished, commit.call)
            era = known.era
            if known.user.epoch != commit.epoch or not (
                _holds(era, commit) and self.state.may_move(*moved)
            ):
                raise CommitLost("Another writer changed this first; nothing was written.")
            known.current += commit.gained
            version = known.user.version + commit.changes_memory
            known.user = replace(known.user, version=version)
            self.state.users[scope.tenant, scope.user] = True
            _apply(era, commit)
            if commit.expires_at is not None:
                known.walk = noting(known.walk, epoch=commit.epoch, expires_at=commit.expires_at)
            self.state.move(*moved)
            pending = [
                record
                for record in (*commit.new, *commit.changed)
                if record.index_state == "pending"
            ]
            changed = (*pending, *commit.removed)
            self.state.note(
                [RecordChanged(scope.tenant, scope.user, record.id) for record in changed]
            )

    def records(self, scope: UserScope, ids: Sequence[str]) -> tuple[Record, ...]:
        with self.state.lock:
            return tuple(self.part_of(scope).era.records.several(ids).values())

    def tombstones(self, scope: UserScope, ids: Sequence[str]) -> Mapping[str, Tombstone]:
        with self.state.lock:
            era = self.part_of(scope).era
            marks = era.marks.several(ids)
            return {name: mark for name, mark in marks.items() if name not in era.records}

    def burials(self, scope: UserScope) -> tuple[Burial, ...]:
        with self.state.lock:
            return tuple(self.part_of(scope).era.burials.values())

    def pointers(self, scope: UserScope, topic_keys: Sequence[str]) -> Mapping[str, Pointer]:
        with self.state.lock:
            return self.part_of(scope).era.pointers.several(topic_keys)

    def topics(self, scope: UserScope, *, prefix: str) -> tuple[Pointer, ...]:
        with self.state.lock:
            pointers = self.part_of(scope).era.pointers
            names = sorted((key for key in pointers if key.startswith(prefix)), key=str.encode)
            return tuple(pointers[key] for key in names if pointers[key].record is not None)

    def topics_after(
        self, scope: UserScope, after: str, *, limit: int
    ) -> tuple[tuple[Pointer, ...], str | None]:
        with self.state.lock:
            pointers = self.part_of(scope).era.pointers
            above = (key for key in pointers if key.encode() > after.encode())
            names = nsmallest(limit + 1, above, key=str.encode)
            page = [pointers[key] for key in names[:limit]]
            last = page[-1].topic_key if len(names) > limit else None
            return tuple(pointer for pointer in page if pointer.record is not None), last

    def versions(self, scope: UserScope, topic_key: str) -> tuple[Record, ...]:
        with self.state.lock:
            era = self.part_of(scope).era
            places = sorted(
                (order, statement)
                for (topic, order), statement in era.places.items()
                if topic == topic_key
            )
            return tuple(
                _said(era.records[place.id], place)
                for _, place in places
                if place.id in era.records
            )

    def listed(
        self,
        scope: UserScope,
        *,
        types: frozenset[RecordType] = frozenset(),
        limit: int,
        after: str | None = None,
        newest_first: bool = True,
    ) -> RecordPage:
        beyond = record_cursor(scope).place(after)
        with self.state.lock:
            of_graph = bool(types) and types <= GRAPH
            every = [
                record
                for record in self.part_of(scope).era.records.values()
                if (record.type in GRAPH) == of_graph
            ]
        records = {record_listed_as(record): record for record in every}
        places = sorted(records, reverse=newest_first)
        if beyond is not None:
            places = [
                place for place in places if (place < beyond if newest_first else place > beyond)
            ]
        examined = places[:EXAMINED]
        matching = [place for place in examined if not types or records[place].type in types]
        if len(matching) > limit:
            matching, last = matching[:limit], matching[limit - 1]
        else:
            last = examined[-1] if len(examined) < len(places) else ""
        return RecordPage(
            tuple(records[place] for place in matching),
            record_cursor(scope).at(last) if last else None,
        )

    def progress(self, scope: UserScope, session: str) -> Progress:
        with self.state.lock:
            return self.part_of(scope).era.progress.get(session, Progress(session))

    def lines(
        self, scope: UserScope, session: str, *, first: int, last: int
    ) -> tuple[ChunkLine, ...]:
        with self.state.lock:
            lines = dict(self.part_of(scope).era.lines)
            return tuple(
                lines[key] for key in sorted(lines) if key[0] == session and first <= key[1] <= last
            )

    def mark_indexed(self, scope: UserScope, record: Record) -> None:
        with self.state.write("index"):
            era = self.part_of(scope).era
            stored = era.records.get(record.id)
            if stored is not None and stored.version == record.version:
                era.records[record.id] = replace(stored, index_state="done")
                era.reminders.pop(record.id, None)

    def count_use(self, scope: UserScope, ids: Sequence[str], *, now: int) -> None:
        with self.state.write("use"):
            uses = self.part_of(scope).era.uses
            for name in dict.fromkeys(ids):
                uses[name] = (uses.get(name, (0, 0))[0] + 1, now)

    def uses(self, scope: UserScope, ids: Sequence[str]) -> Mapping[str, tuple[int, int]]:
        with self.state.lock:
            return self.part_of(scope).era.uses.several(ids)

    def users(
        self, tenant: str, *, limit: int, after: str | None = None
    ) -> tuple[tuple[str, ...], str | None]:
        scope = Scope(tenant)
        beyond = user_cursor(scope).place(after) or ""
        with self.state.lock:
            known = [user for owner, user in self.state.users if owner == tenant]
        users = sorted(user for user in known if user > beyond)
        return tuple(users[:limit]), user_cursor(scope).at(users[limit - 1]) if len(
            users
        ) > limit else None

    def wipe(self, scope: UserScope, *, below_epoch: int, limit: int | None = None) -> int:
        with self.state.write("wipe"):
            known = self.part_of(scope)
            later = range(below_epoch, known.user.epoch + 1)
            shared = set[tuple[str, Any]]().union(*(known.era_of(epoch).keys() for epoch in later))
            gone: set[tuple[str, Any]] = set()
            for epoch in range(below_epoch):
                left = None if limit is None else limit - len(gone - shared)
                gone |= known.era_of(epoch).wiped(left, besides=shared | gone)
            return len(gone - shared)

    @property
    def known(self) -> dict[tuple[str, str], UserPart]:
        """Every user by tenant and id. The caller must hold the lock of `state`."""
        names = self.state.shelves.shelf(STATES)
        return {name: self.part_of(UserScope(*name)) for name in names}

    def part_of(self, scope: UserScope) -> UserPart:
        """Return the user's part. The caller must hold the lock of `state`."""
        return UserPart(self.state.shelves, scope)


def _holds(era: Era, commit: MemoryCommit) -> bool:
    """Return whether the commit may be written. It may if no new record exists, and nothing was
    written since it was read.
    """
    read = (*commit.changed, *commit.removed)
    records = era.records.several(record.id for record in (*commit.new, *read))
    pointers = era.pointers.several(pointer.topic_key for pointer in commit.pointers)
    return (
        not any(record.id in records for record in commit.new)
        and all(_version(records.get(record.id)) == record.version for record in read)
        and all(
            _version(pointers.get(pointer.topic_key)) == pointer.version
            for pointer in commit.pointers
        )
        and _progress_holds(era, commit.progress)
    )


def _version(stored: Record | Pointer | None) -> int:
    """Return the stored version, or 0 if nothing is stored."""
    return 0 if stored is None else stored.version


def _progress_holds(era: Era, progress: Progress | None) -> bool:
    return (
        progress is None
        or era.progress.get(progress.session, Progress("")).version == progress.version
    )


def _apply(era: Era, commit: MemoryCommit) -> None:
    for record in commit.new:
        era.records[record.id] = _copied(record)
    for record in commit.changed:
        era.records[record.id] = replace(_copied(record), version=record.version + 1)
    era.burials.update({burial.id: burial for burial in commit.buried})
    _put_reminders(era, (*commit.new, *commit.changed))
    for record in (*commit.new, *commit.said):
        if record.topic_key is not None:
            era.places[record.topic_key, record.order] = record
    _remove(era, commit)
    for pointer in commit.pointers:
        era.pointers[pointer.topic_key] = replace(
            pointer, version=pointer.version + 1, was=pointer.record
        )
    if commit.line is not None:
        era.lines[commit.line.session, commit.line.first] = commit.line
    if commit.progress is not None:
        era.progress[commit.progress.session] = replace(
            commit.progress, version=commit.progress.version + 1
        )


def _put_reminders(era: Era, written: Sequence[Record]) -> None:
    for record in written:
        era.reminders.pop(record.id, None)
        if record.index_state == "pending":
            era.reminders[record.id] = Reminder()


def _remove(era: Era, commit: MemoryCommit) -> None:
    for record in (*commit.removed, *commit.removed_places):
        if record.topic_key is not None:
            era.places.pop((record.topic_key, record.order), None)
    by_id: dict[str, list[Record]] = defaultdict(list)
    for record in commit.removed:
        by_id[record.id].append(record)
    for name, records in by_id.items():
        era.records.pop(name, None)
        era.reminders.pop(name, None)
        era.uses.pop(name, None)
        sources = tuple(record.source.without_words for record in records)
        era.marks[name] = Tombstone(sources, records[0].version + 1)


def _said(record: Record, place: Record) -> Record:
    """Return the record as it was said at a place."""
    return replace(
        record,
        valid_from=place.valid_from,
        created_at=place.created_at,
        rank=place.rank,
        source=place.source,
    )


def _copied(record: Record) -> Record:
    """Return a copy of the record, as a table would return it. Later changes of the caller's values
    do not change the copy.
    """
    values = json.loads(json.dumps([record.metadata, record.data], default=dict))
    return replace(record, metadata=values[0], data=values[1])

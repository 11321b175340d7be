"""Reads, lists, changes, reverts and deletes the memories of a user."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from palimpsest import tracing
from palimpsest.clock import Clock, milliseconds, seconds
from palimpsest.errors import Conflict, NotFound
from palimpsest.idempotency import KeyedCall, Once
from palimpsest.memory.burials import Buried, States, burials_of, states_nothing
from palimpsest.memory.endings import Superseded, together
from palimpsest.memory.filters import MemoryFilter, MemoryType
from palimpsest.memory.ports import Memories, MemoryCommit, Pointer
from palimpsest.memory.preferences import limited
from palimpsest.memory.record import GRAPH, KEYED, ListedType, Record
from palimpsest.memory.remember import Remember, Room
from palimpsest.memory.removal.drawn import ForgetDrawn
from palimpsest.memory.removal.sources import Hidden, HidesSources, hides_nothing
from palimpsest.memory.removal.transactions import (
    Removal,
    RemovesExports,
    bury,
    no_exports,
    transactions,
)
from palimpsest.memory.resting import check_grounds
from palimpsest.memory.secrets import masked_texts
from palimpsest.memory.statements import confirmed, drawing, edited, topic_of_edits
from palimpsest.memory.versions import Version, single, versions
from palimpsest.privacy.secrets import masked
from palimpsest.retry import until_committed
from palimpsest.scope import UserScope
from palimpsest.tenants.ports import Tenants

PAGE = 100
KEPT: Any = object()
"""The `data` of a change that leaves the data as it is. None removes the data."""


CLEARED = ("data", "occurs_at", "due_at")
"""The fields that a value of None removes."""


@dataclass(frozen=True, slots=True)
class RecordChange:
    """The fields of a record to set. A field that is None is not changed."""

    content: str | None = None
    importance: float | None = None
    confidence: float | None = None
    subject: str | None = None
    metadata: Mapping[str, Any] | None = None
    data: Any = KEPT
    occurs_at: Any = KEPT
    due_at: Any = KEPT
    rests_on: tuple[str, ...] | None = None
    keywords: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class _InTopic:
    """A stored record with all statements of its topic. `chain` holds the topic's versions, oldest
    first.
    """

    record: Record
    chain: tuple[Version, ...]
    pointer: Pointer | None = None
    statements: tuple[Record, ...] = ()

    @property
    def version(self) -> Version:
        """Return the record's version in the chain. If the record was current more than once, this
        is its last version.
        """
        return [version for version in self.chain if version.record.id == self.record.id][-1]

    @property
    def newest(self) -> Record:
        """Return the newest version. All versions of a topic expire together with it."""
        return self.chain[-1].record

    def holds(self, fields: Mapping[str, Any]) -> bool:
        """Return whether the version right after the record is current and has these values."""
        after = self.chain[self.version.number :][:1]
        return any(later.is_current for later in after) and all(
            getattr(after[0].record, name) == value for name, value in fields.items()
        )


@dataclass(frozen=True, slots=True)
class ManageMemories:
    memories: Memories
    tenants: Tenants
    clock: Clock
    exports: RemovesExports = no_exports
    hides: HidesSources = hides_nothing
    states: States = states_nothing

    def read(self, scope: UserScope, record_id: str) -> Version:
        """Return the record as a version of its topic. Raises `NotFound` (`memory_not_found`)."""
        return self._found(scope, record_id).version

    def history(self, scope: UserScope, record_id: str) -> tuple[Version, ...]:
        """Return every version of the record's topic, newest first. A record without a topic has
        only one version.
        """
        return tuple(reversed(self._found(scope, record_id).chain))

    def _found(self, scope: UserScope, record_id: str) -> _InTopic:
        records = self.memories.records(scope, [record_id])
        if not records:
            raise _no_memory()
        stored = self._with_topic(scope, records[0])
        if not self._is_alive(stored.newest):
            raise _no_memory()
        return stored

    def _with_topic(self, scope: UserScope, record: Record) -> _InTopic:
        if record.topic_key is None:
            return _InTopic(record, (single(record),))
        pointer = self.memories.pointers(scope, [record.topic_key]).get(record.topic_key)
        statements = self.memories.versions(scope, record.topic_key)
        if pointer is None or record.id not in {statement.id for statement in statements}:
            raise _no_memory()  # the record was removed between the reads
        chain = versions(
            statements, current=pointer.record, retracted=pointer.retracted_at, ended=pointer.ended
        )
        return _InTopic(record, chain, pointer, statements)

    def listed(
        self,
        scope: UserScope,
        *,
        where: MemoryFilter,
        limit: int,
        after: str | None = None,
        newest_first: bool = True,
        superseded: bool = False,
    ) -> tuple[tuple[Record, ...], str | None]:
        """Return at most `limit` current records by creation, or superseded ones, and the cursor of
        the next page (None on the last page). A page may be short or empty although more follow,
        because the filter is applied after reading.
        """
        if where.topic is not None and not superseded:
            return self._current_of(scope, where.topic, where), None
        page = self.memories.listed(
            scope, types=where.record_types, limit=limit, after=after, newest_first=newest_first
        )
        matching = [record for record in page.records if where.matches(record)]
        return self._of_status(scope, matching, superseded=superseded), page.after

    def _current_of(self, scope: UserScope, topic: str, where: MemoryFilter) -> tuple[Record, ...]:
        """Return the current record of a topic, if it matches. The topic's pointer names it, so no
        other record is read.
        """
        pointer = self.memories.pointers(scope, [topic]).get(topic)
        records = (
            self.memories.records(scope, [pointer.record]) if pointer and pointer.record else ()
        )
        return tuple(
            record for record in records if where.matches(record) and self._is_alive(record)
        )

    def _of_status(
        self, scope: UserScope, records: Sequence[Record], *, superseded: bool
    ) -> tuple[Record, ...]:
        topics = sorted({record.topic_key for record in records if record.topic_key})
        pointers = self.memories.pointers(scope, topics) if topics else {}
        current = {pointer.record for pointer in pointers.values()}
        return tuple(
            record
            for record in records
            if self._is_alive(record)
            and superseded != (record.topic_key is None or record.id in current)
        )

    def _is_alive(self, record: Record) -> bool:
        return record.expires_at is None or record.expires_at > seconds(self.clock.now())

    def counts(self, scope: UserScope) -> Mapping[ListedType, int]:
        """Return the number of current records of each type."""
        every = Counter(record.type for record in self.every(scope, MemoryFilter()))
        return {kind: every[kind] for kind in get_args(ListedType)}

    def every(self, scope: UserScope, where: MemoryFilter) -> Iterator[Record]:
        """Yield all current records that match the filter, newest first."""
        after = None
        while True:
            page, after = self.listed(scope, where=where, limit=PAGE, after=after)
            yield from page
            if after is None:
                return

    @tracing.operation("update_memory", tracing.one)
    def patch(self, scope: UserScope, record_id: str, change: RecordChange) -> Record:
        """Change a current record, and return the result. Secrets in the change are masked. New
        content creates a new version, with another id. A repeated change returns that version, as
        long as it is current and has all fields of the change.

        Raises `NotFound` and `Conflict` (`not_current`). Raises `Conflict` (`is_preference`,
        `is_in_graph`) for preferences and parts of the graph, which other routes change.
        """
        return until_committed(lambda: self._patch(scope, record_id, change), clock=self.clock)

    def _patch(self, scope: UserScope, record_id: str, change: RecordChange) -> Record:
        epoch = self.memories.user(scope).epoch
        check_grounds(self.memories, scope, [change.rests_on or ()], field="rests_on")
        stored = self._found(scope, record_id)
        fields = {field.name: getattr(change, field.name) for field in dataclasses.fields(change)}
        changes = {
            name: value for name, value in fields.items() if value is not None and value is not KEPT
        }
        changes = masked_texts(changes)
        changes |= {name: None for name in CLEARED if fields[name] is None}
        if changes.keys() & {"occurs_at", "due_at"}:
            changes["time_unit"] = "day"
        if not stored.version.is_current:
            if change.content is not None and stored.holds(changes):
                return stored.newest
            raise Conflict("Only the current version can be changed.", code="not_current")
        if stored.record.type == "preference":
            raise Conflict(
                "This memory is a preference: set its value instead.", code="is_preference"
            )
        if stored.record.type in GRAPH:
            raise Conflict("This memory is part of the graph: change it there.", code="is_in_graph")
        content = changes.pop("content", stored.record.content)
        if content != stored.record.content:
            return self._supersede(scope, epoch, stored, content, changes)
        record = self._written(scope, replace(stored.record, **changes, index_state="pending"))
        self.memories.commit(scope, MemoryCommit(epoch=epoch, changed=(record,)))
        return replace(record, version=record.version + 1)

    @tracing.operation("update_memory", tracing.one)
    def revert(self, scope: UserScope, record_id: str, *, once: Once | None = None) -> Record:
        """Make the content of this version current again, as a new version, and return that
        version. If the same call is repeated (`once`), return the version that the first call made.

        Raises `NotFound`, `Conflict` (`is_current`, `too_many_preferences`) and `LimitReached`
        (`memory_limit`).
        """
        return until_committed(lambda: self._revert(scope, record_id, once), clock=self.clock)

    def _revert(self, scope: UserScope, record_id: str, once: Once | None) -> Record:
        call = once.stored() if once else None
        if call is not None and call.made:
            return self._found(scope, call.made).record
        epoch = self.memories.user(scope).epoch
        stored = self._found(scope, record_id)
        if stored.version.is_current:
            raise Conflict("This version is current already.", code="is_current")
        content = stored.record.content
        if stored.record.type not in KEYED:
            content = masked(content)  # an older release stored it as it was sent
        return self._supersede(scope, epoch, stored, content, {}, call=call)

    def _supersede(
        self,
        scope: UserScope,
        epoch: int,
        stored: _InTopic,
        content: str,
        changes: Mapping[str, Any],
        *,
        call: KeyedCall | None = None,
    ) -> Record:
        """Store a new current version of the record's topic, and return it. A record without a
        topic gets one of its own.

        The new version is valid from now. If another server's clock was ahead, it is valid from
        just after the newest version.
        """
        topic = topic_of_edits(stored.record)
        pointer = stored.pointer or self.memories.pointers(scope, [topic]).get(topic)
        order = max(pointer.order, stored.record.order) if pointer else stored.record.order
        arrival = max(milliseconds(self.clock.now()), order[0] + 1)
        older, newer = edited(
            stored.record, tenant=scope.tenant, user=scope.user, content=content, now=arrival
        )
        newer = self._written(scope, replace(newer, **changes))
        moved = replace(
            pointer or Pointer(topic, None, order), record=newer.id, order=newer.order, ended=None
        )
        displaced = (
            self.memories.records(scope, [pointer.record]) if pointer and pointer.record else ()
        )
        for record in displaced:
            newer = drawing(newer, record)
        changed = {record.id: replace(record, index_state="pending") for record in displaced}
        if stored.pointer is None:
            changed[older.id] = replace(older, index_state="pending")
        commit = MemoryCommit(
            epoch=epoch,
            new=(newer,),
            changed=tuple(changed.values()),
            pointers=(moved,),
            call=call and replace(call, made=newer.id),
        )
        if stored.pointer is None:  # the record had no topic: it joins its new one
            commit = replace(commit, said=(older,), joined=1)
        most = self.tenants.settings(scope.owner).limits.memories
        if commit.gained > 0:
            Room.of(self.memories, scope, most=most).check(commit.gained)
        gone = (stored.record,) if stored.pointer is None else displaced
        ends = self._ending(
            scope, [Superseded(record, newer.valid_from, newer.content) for record in gone]
        )
        for part in together(
            iter([limited(self.memories, scope, commit)]), ends, self.memories.room
        ):
            self.memories.commit(scope, part)
        return newer

    def _ending(self, scope: UserScope, superseded: Sequence[Superseded]) -> MemoryCommit:
        return Remember(self.memories, self.tenants, self.clock).ending(scope, superseded)

    def _written(self, scope: UserScope, record: Record) -> Record:
        """Return the record with its lifetime counted from now."""
        now = milliseconds(self.clock.now())
        return confirmed(
            record, now=now, lifetime=self.tenants.settings(scope.owner).lifetime(record.type)
        )

    @tracing.operation("delete_memory", tracing.one)
    def delete(self, scope: UserScope, record_id: str, *, whole: bool = False) -> Hidden:
        """Remove a record for good, and every export that may hold it. Return which words were
        hidden.

        If the record is current, its topic then has no current record, and no older version becomes
        current again. With `whole`, all versions of its topic are removed. Relationships that were
        drawn from the record end. The words that the record was made from are hidden from all but
        their own sessions. Old messages do not bring the record back.

        Raises `NotFound` and `Unavailable`. After `Unavailable`, repeating the call removes the
        exports.
        """
        try:
            hidden = until_committed(
                lambda: self._delete(scope, record_id, whole=whole), clock=self.clock
            )
        except NotFound:
            # An earlier try has removed the record, but perhaps not the exports (docs/adr/0067).
            if self.memories.tombstones(scope, [record_id]):
                self.exports(scope)
            raise
        self.exports(scope)
        return hidden

    def _delete(self, scope: UserScope, record_id: str, *, whole: bool) -> Hidden:
        epoch = self.memories.user(scope).epoch
        stored = self._found(scope, record_id)
        places = self._places(scope, stored, whole=whole)
        ended = stored.newest if whole else stored.record
        is_current = stored.version.is_current or whole
        gone = [Superseded(ended, milliseconds(self.clock.now()))] if is_current else []
        commits = transactions(
            [Removal(places, stored.pointer)], epoch=epoch, room=self.memories.room
        )
        buried = burials_of(scope, places, at=milliseconds(self.clock.now()), states=self.states)
        # All that needs the record comes before its removal, so that an interrupted deletion can be
        # repeated.
        bury(self.memories, scope, buried, epoch=epoch)
        hidden = self.hides(scope, places, buried)
        if buried:
            ForgetDrawn(self.memories)(scope, places, epoch=epoch)
        for commit in together(commits, self._ending(scope, gone), self.memories.room):
            self.memories.commit(scope, commit)
        return hidden

    def _places(self, scope: UserScope, topic: _InTopic, *, whole: bool) -> list[Record]:
        """Return the records that a deletion removes. These are the record and, if it is current,
        earlier versions that say the same in other words.
        """
        record = topic.record
        mine = [
            statement for statement in topic.statements if whole or statement.id == record.id
        ] or [record]
        if whole or not topic.version.is_current:
            return mine
        buried = burials_of(scope, mine, at=milliseconds(self.clock.now()), states=self.states)
        same = Buried(scope, buried, self.states)
        gone = {
            statement.id
            for statement in topic.statements
            if statement.id != record.id
            and same.holds(statement.content, topic=statement.topic_key, subject=statement.subject)
        }
        return [*mine, *(statement for statement in topic.statements if statement.id in gone)]

    def matching(self, scope: UserScope, where: MemoryFilter) -> tuple[str, ...]:
        """Return the ids of all current records that match. A job that forgets by this filter would
        remove them.
        """
        # Lists leave out the graph, and forgetting does not (docs/adr/0037).
        wheres = (
            [where] if where.types else [where, replace(where, types=frozenset[MemoryType](GRAPH))]
        )
        return tuple(record.id for filtered in wheres for record in self.every(scope, filtered))


def _no_memory() -> NotFound:
    return NotFound("There is no such memory.", code="memory_not_found")

"""Remembers statements. It reads the records that they concern, decides and commits. If another
writer was faster, it starts again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from palimpsest import tracing
from palimpsest.clock import Clock, milliseconds, seconds
from palimpsest.errors import FieldError, LimitReached, Unprocessable
from palimpsest.idempotency import KeyedCall, Once
from palimpsest.memory.decisions import (
    KnownTopic,
    MemoryState,
    Near,
    Outcome,
    Remembered,
    changed_records,
    is_of_one_message,
    is_same,
    taken_in,
    topic_since,
    with_updates,
)
from palimpsest.memory.drafts import drafts_of, joining
from palimpsest.memory.ended import EndOfTopic, ended_by, ended_records, join_topics
from palimpsest.memory.endings import Endings, Superseded, superseded_by
from palimpsest.memory.ports import Memories, MemoryCommit, Pointer
from palimpsest.memory.record import Record
from palimpsest.memory.resting import check_grounds
from palimpsest.memory.secrets import without_secrets
from palimpsest.memory.statements import AT_ONCE, Statement, event_before
from palimpsest.retry import until_committed
from palimpsest.scope import UserScope
from palimpsest.tenants.ports import Tenants

MAX_STATEMENTS = 30  # most of them then fit one transaction


@dataclass(frozen=True, slots=True)
class Room:
    """The number of a user's current memories, and the most that are allowed (None: any number)."""

    taken: int = 0
    most: int | None = None

    @classmethod
    def of(cls, memories: Memories, scope: UserScope, *, most: int | None) -> Self:
        """Count the memories of the user, who may have `most`. Without a limit (None), they are not
        counted. Raises `Unavailable`.
        """
        return cls(0 if most is None else memories.current(scope), most)

    def check(self, more: int) -> None:
        """Raise `LimitReached` (`memory_limit`) unless `more` further memories may be stored."""
        if self.most is not None and more > 0 and self.taken + more > self.most:
            detail = f"A user of the tenant may have {self.most} memories: forget some."
            raise LimitReached(detail, code="memory_limit", limit="memories", most=self.most)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A decision that is not yet written: the outcome of each statement, and the commit that stores
    them.

    Each statement adds at most four items to the commit: its record, its place in the topic, the
    topic's pointer, and the record that it displaces. Each relationship that ends with that record
    adds four more.
    """

    made: tuple[Remembered, ...]
    commit: MemoryCommit
    room: Room = Room()

    @property
    def changes_anything(self) -> bool:
        return bool(self.commit.new or self.commit.changed or self.commit.said)


@dataclass(frozen=True, slots=True)
class _Decided:
    made: tuple[Remembered, ...]
    commit: MemoryCommit
    topics: Mapping[str, KnownTopic]
    ended: Sequence[Superseded] = ()


Guard = Callable[[MemoryCommit], MemoryCommit]
"""Changes a commit so that it is lost if it would exceed a limit. Raises `Conflict` if the limit is
already exceeded.
"""


@dataclass(frozen=True, slots=True)
class Remember:
    memories: Memories
    tenants: Tenants
    clock: Clock
    near: Near = is_same

    @tracing.operation("upsert_memory", len)
    def __call__(
        self,
        scope: UserScope,
        statements: Sequence[Statement],
        *,
        once: Once | None = None,
        guard: Guard | None = None,
    ) -> tuple[Remembered, ...]:
        """Remember 1 to 30 statements, without their secrets, and return the outcome of each, in
        order. `guard` may change each commit.

        Statements that do not fit one transaction are stored in several, one after the other. If
        the same call is repeated (`once`), it continues where the first call stopped. It then
        returns the outcomes of both calls, without records that were removed since.

        Raises `Unavailable` and `LimitReached` (`memory_limit`). Raises `Unprocessable` for an
        expiry that has passed, and if `rests_on` has an id that is not a memory of the user.
        """
        self._check_expiries(statements)
        statements = list(map(without_secrets, statements))
        grounds = [statement.rests_on for statement in statements]
        check_grounds(self.memories, scope, grounds, field="memories.{}.rests_on")
        if once is not None:
            return self._once(scope, statements, once, guard)
        made: list[Remembered] = []
        while len(made) < len(statements):
            rest = statements[len(made) :]
            made += until_committed(
                partial(self._attempt, scope, rest, guard=guard), clock=self.clock
            )
        return tuple(made)

    def _check_expiries(self, statements: Sequence[Statement]) -> None:
        now = seconds(self.clock.now())
        passed = [
            n
            for n, statement in enumerate(statements)
            if statement.expires_at is not None and statement.expires_at <= now
        ]
        if passed:
            error = FieldError(f"memories.{passed[0]}.expires_at", "must be later than now")
            raise Unprocessable("A memory must expire later than now.", errors=(error,))

    def _once(
        self, scope: UserScope, statements: Sequence[Statement], once: Once, guard: Guard | None
    ) -> tuple[Remembered, ...]:
        def attempt() -> list[tuple[str, Outcome]]:
            """Return the ids and outcomes of the statements that were remembered so far."""
            call = once.stored()
            made = [*(call.made or ())]
            if len(made) < len(statements):
                more = self._attempt(
                    scope, statements[len(made) :], call=replace(call, made=made), guard=guard
                )
                made += [(decision.record.id, decision.outcome) for decision in more]
            return made

        made: list[tuple[str, Outcome]] = []
        while len(made) < len(statements):
            made = until_committed(attempt, clock=self.clock)
        ids = [record_id for record_id, _ in made]
        records = {record.id: record for record in self.memories.records(scope, ids)}
        return tuple(
            Remembered(records[name], outcome) for name, outcome in made if name in records
        )

    def _attempt(
        self,
        scope: UserScope,
        statements: Sequence[Statement],
        *,
        call: KeyedCall | None = None,
        guard: Guard | None = None,
    ) -> tuple[Remembered, ...]:
        """Remember the statements, or as many of the first ones as one transaction holds. Add them
        to `call`, and return their outcomes.
        """
        prepared = self.prepared(scope, statements)
        commit = guard(prepared.commit) if guard else prepared.commit
        prepared.room.check(commit.gained)
        if call is not None:
            made = [
                *call.made,
                *((decision.record.id, decision.outcome) for decision in prepared.made),
            ]
            commit = replace(commit, call=replace(call, made=made))
        if self.memories.room(commit) < 0:
            # The caller comes back for the statements that are left.
            return self._attempt(scope, statements[: len(statements) // 2], call=call, guard=guard)
        if prepared.changes_anything or call is not None:
            self.memories.commit(scope, commit)
        return prepared.made

    def prepared(
        self, scope: UserScope, statements: Sequence[Statement], *, ends: Sequence[EndOfTopic] = ()
    ) -> Prepared:
        """Read the records that the statements concern, and return the decision. Nothing is
        written. `ends` names the topics that have no value from now on. Raises `Unavailable`.

        If the statements displace a record, the relationships that were drawn from it end. The
        returned commit is lost if any of the records that were read changes before it.
        """
        decided = self._decided(scope, statements, ends)
        gone = [*superseded_by(decided.made, decided.topics), *decided.ended]
        ended = Endings(self.memories)(scope, gone, beside=statements)
        # The ends are decided together with the statements, so that one transaction has both
        # (docs/adr/0071).
        if ended:
            decided = self._decided(scope, [*statements, *ended], ends)
        most = self.tenants.settings(scope.owner).limits.memories
        made = decided.made[: len(statements)]
        return Prepared(made, decided.commit, Room.of(self.memories, scope, most=most))

    def decided(self, scope: UserScope, statements: Sequence[Statement]) -> Sequence[Remembered]:
        """Return the outcome of each statement, without the changes that it needs. Nothing is
        written. Raises `Unavailable`.
        """
        return self._decided(scope, statements).made

    def ending(self, scope: UserScope, superseded: Sequence[Superseded]) -> MemoryCommit:
        """Return the commit that ends the relationships drawn from these records. If there are
        none, the commit stores nothing. Raises `Unavailable`.
        """
        ended = Endings(self.memories)(scope, superseded)
        return (
            self._decided(scope, ended).commit
            if ended
            else MemoryCommit(epoch=self.memories.user(scope).epoch)
        )

    def _decided(
        self, scope: UserScope, statements: Sequence[Statement], ends: Sequence[EndOfTopic] = ()
    ) -> _Decided:
        # The epoch is read first. If the user is erased after that, the commit is lost.
        user, settings = self.memories.user(scope), self.tenants.settings(scope.owner)
        lifetime = settings.lifetime
        now = milliseconds(self.clock.now())
        keys = {key for statement in statements if (key := statement.topic_key)}
        topics = sorted(keys | {end.topic_key for end in ends})
        pointers = self._pointers(scope, topics)
        drafts: Sequence[Record] = drafts_of(
            scope, statements, pointers, now=now, lifetime=lifetime
        )
        known, drafts, pointers = self._known(scope, statements, drafts, pointers)
        # A copy, because the decisions change `known`.
        before = dict(known.topics)
        joined = self._joined(scope, statements, ends, known)
        there = dict(known.records)
        made = with_updates(taken_in(drafts, known, near=self.near), statements, known)
        ended = ended_by(ends, known)
        changed = {
            record.id: record
            for record in (
                *joined,
                *ended_records(ended, there),
                *changed_records(made, drafts, there, known.topics, now=now, lifetime=lifetime),
            )
        }
        commit = MemoryCommit(
            epoch=user.epoch,
            new=tuple(known.new),
            changed=tuple(changed.values()),
            said=tuple(known.said),
            pointers=tuple(_moved(before, known.topics, pointers)),
            joined=len(joined),
        )
        return _Decided(made, commit, known.topics, ended)

    def _joined(
        self,
        scope: UserScope,
        statements: Sequence[Statement],
        ends: Sequence[EndOfTopic],
        known: MemoryState,
    ) -> list[Record]:
        """Return the records that had no topic and get one now, because a statement replaces or
        ends them.
        """
        keys = {
            statement.replaces: statement.version_of
            for statement in statements
            if statement.replaces
        }
        keys |= {end.record: end.topic_key for end in ends if end.record}
        if not keys:
            return []
        records = self.memories.records(scope, sorted(key for key in keys if key))
        without = [record for record in records if record.topic_key is None]
        return join_topics([(record, keys[record.id] or "") for record in without], known)

    def check_room(self, scope: UserScope) -> None:
        """Raise `LimitReached` (`memory_limit`) if no more memories of the user may be stored."""
        Room.of(
            self.memories, scope, most=self.tenants.settings(scope.owner).limits.memories
        ).check(1)

    def _pointers(self, scope: UserScope, topics: Sequence[str]) -> Mapping[str, Pointer]:
        return self.memories.pointers(scope, topics) if topics else {}

    def _known(
        self,
        scope: UserScope,
        statements: Sequence[Statement],
        drafts: Sequence[Record],
        pointers: Mapping[str, Pointer],
    ) -> tuple[MemoryState, Sequence[Record], Mapping[str, Pointer]]:
        """Return the stored records and topics that the drafts concern, and the final drafts and
        pointers. A draft without a topic may join a topic that an edit has created.
        """
        drafts = self._sent_again(scope, statements, drafts)
        records = self._records(scope, drafts, pointers)
        joined = [
            topic_since(draft, records.get(draft.id), is_said_now=statement.valid_from is None)
            for statement, draft in zip(statements, drafts, strict=True)
        ]
        if more := sorted({topic for topic in joined if topic is not None}):
            pointers = {**pointers, **self._pointers(scope, more)}
            drafts = [
                draft if topic is None else joining(scope, statement, draft, pointers[topic])
                for statement, draft, topic in zip(statements, drafts, joined, strict=True)
            ]
            records = self._records(scope, drafts, pointers)
        topics = {
            key: self._topic(scope, pointer, drafts, records) for key, pointer in pointers.items()
        }
        return MemoryState(records=records, topics=topics), drafts, pointers

    def _sent_again(
        self, scope: UserScope, statements: Sequence[Statement], drafts: Sequence[Record]
    ) -> Sequence[Record]:
        """Return the drafts. If an event was stored less than a minute ago, but before the present
        minute began, its draft gets the id of the stored event.
        """
        names = {
            name: draft
            for statement, draft in zip(statements, drafts, strict=True)
            if (name := event_before(statement, draft, tenant=scope.tenant, user=scope.user))
            is not None
        }
        if not names:
            return drafts
        there = {names[r.id].id: r for r in self.memories.records(scope, sorted(names))}
        return [
            replace(draft, id=other.id)
            if (other := there.get(draft.id)) is not None
            and draft.valid_from - other.valid_from < AT_ONCE
            else draft
            for draft in drafts
        ]

    def _records(
        self, scope: UserScope, drafts: Sequence[Record], pointers: Mapping[str, Pointer]
    ) -> dict[str, Record]:
        ids = {draft.id for draft in drafts}
        current = {pointer.record for pointer in pointers.values() if pointer.record is not None}
        return {record.id: record for record in self.memories.records(scope, sorted(ids | current))}

    def _topic(
        self,
        scope: UserScope,
        pointer: Pointer,
        drafts: Sequence[Record],
        records: Mapping[str, Record],
    ) -> KnownTopic:
        """Return the topic of the pointer. All its versions are read only if a statement is older
        than the newest version.
        """
        current = records.get(pointer.record or "")
        statements = ((pointer.order, current),) if current else ()
        topic = KnownTopic(
            current, pointer.order, statements, ended=pointer.ended, ended_on=pointer.ended_on
        )
        mine = [draft for draft in drafts if draft.topic_key == pointer.topic_key]
        new = [d for d in mine if not (d.id in records and is_of_one_message(d, records[d.id]))]
        if not any(topic.is_behind(draft.order) for draft in new):
            return topic
        chain = self.memories.versions(scope, pointer.topic_key)
        return replace(topic, statements=tuple((record.order, record) for record in chain))


def _moved(
    before: Mapping[str, KnownTopic],
    after: Mapping[str, KnownTopic],
    pointers: Mapping[str, Pointer],
) -> list[Pointer]:
    """Return the pointers of all changed topics, with the versions at which they were read. If two
    writers write at the same time, these versions make one of them lose its commit and decide
    again, even if the current record stays the same.
    """
    moved = []
    for key, topic in after.items():
        if topic != before.get(key) and topic.order is not None:
            pointer = pointers.get(key) or Pointer(key, None, topic.order)
            current = topic.current.id if topic.current else None
            moved.append(
                replace(
                    pointer,
                    record=current,
                    order=topic.order,
                    ended=topic.ended,
                    ended_on=topic.ended_on,
                )
            )
    return moved

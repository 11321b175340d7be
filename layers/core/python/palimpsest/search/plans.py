"""The planning of an embed step: the documents that it writes and removes, by the state of the
tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from palimpsest.clock import Clock, milliseconds, seconds
from palimpsest.conversations.message import Message, message_key
from palimpsest.conversations.own_tools import answers_own_tool
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Head
from palimpsest.jobs.events import Changed, MessageChanged, RecordChanged
from palimpsest.memory.ports import Memories
from palimpsest.memory.record import GRAPH, Record
from palimpsest.scope import SessionScope, UserScope
from palimpsest.search.documents import (
    Indexable,
    gone,
    message_version,
    of_message,
    of_record,
    said_before,
)
from palimpsest.search.ports import Gone

# how many messages before a message are read; the question that it answers is among them, even if
# tool calls and results are between the two
READ_BEFORE = 6

REACH = range(1, READ_BEFORE + 1)

DISPLACED = 5  # older versions of a topic whose documents are removed at each change of it

PAGE = 100  # keys that one read takes


@dataclass(slots=True)
class Plan:
    """The writes for one owner. `there` holds the documents to write and `gone` the removals.
    `changes` maps each key to the change that caused its write. `settled` are records that need no
    document. `epoch` is the owner's epoch, read before everything else.
    """

    owner: UserScope
    epoch: int
    there: dict[str, Indexable] = field(default_factory=dict)
    gone: dict[str, Gone] = field(default_factory=dict)
    settled: list[Record] = field(default_factory=list)
    changes: dict[str, Changed] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EmbedPlans:
    """Makes plans from strongly consistent reads. Every call raises `Unavailable`."""

    memories: Memories
    sessions: Sessions
    clock: Clock

    def of_records(self, owner: UserScope, changes: Sequence[RecordChanged]) -> Plan:
        plan = Plan(owner, self.memories.user(owner).epoch)
        for start in range(0, len(changes), PAGE):
            self._take_in(plan, changes[start : start + PAGE])
        return plan

    def _take_in(self, plan: Plan, changes: Sequence[RecordChanged]) -> None:
        ids = [change.record_id for change in changes]
        # before the read, so that items which an import restores later are newer
        now = milliseconds(self.clock.now())
        plan.changes |= dict(zip(ids, changes, strict=True))
        records = {record.id: record for record in self.memories.records(plan.owner, ids)}
        missing = [name for name in ids if name not in records]
        marks = self.memories.tombstones(plan.owner, missing) if missing else {}
        for name in missing:  # without a tombstone, use a version above all earlier ones
            plan.gone[name] = gone(name, version=marks[name].version if name in marks else now)
        self._take_in_records(plan, records.values())

    def _take_in_records(self, plan: Plan, records: Iterable[Record]) -> None:
        """Add records to the plan. Current and ended records get documents. A record that was
        replaced by another of its topic loses its document.
        """
        every = tuple(records)
        topics = sorted({record.topic_key for record in every if record.topic_key})
        pointers = self.memories.pointers(plan.owner, topics) if topics else {}
        last = {pointer.last for pointer in pointers.values()}
        now = seconds(self.clock.now())
        for record in every:
            is_last = record.topic_key is None or record.id in last
            is_over = record.expires_at is not None and record.expires_at <= now
            _place(plan, record, is_there=is_last and not is_over and record.type not in GRAPH)
            if record.topic_key is not None and is_last and record.type not in GRAPH:
                self._take_in_displaced(plan, record, record.topic_key)

    def _take_in_displaced(self, plan: Plan, record: Record, topic: str) -> None:
        others = [
            version
            for version in self.memories.versions(plan.owner, topic)
            if version.id != record.id
        ]
        for other in {version.id: version for version in others[-DISPLACED:]}.values():
            if other.id not in plan.changes:
                plan.changes[other.id] = plan.changes[record.id]
                _place(plan, other, is_there=False)

    def of_messages(self, session: SessionScope, changes: Sequence[MessageChanged]) -> Plan | None:
        """Return the plan for changed messages of a session. None if the session's owner is
        unknown, as it is long after a deletion.
        """
        head = self.sessions.open(session).head
        if head is None:
            return None
        owner = session.owner.user(head.user)
        plan = Plan(owner, self.memories.user(owner).epoch)
        is_erased = head.epoch < plan.epoch
        changed = {change.seq: change for change in changes}
        messages = {} if is_erased else self._readable(session, head, tuple(changed))
        behind = {
            seq + n: message
            for seq, message in changed.items()
            if _is_redacted(messages, seq)
            for n in REACH
        }
        if behind:  # documents of later messages contain a part of this one
            changed = {
                **{seq: message for seq, message in behind.items() if seq <= head.seq},
                **changed,
            }
            messages = self._readable(session, head, tuple(changed))
        for seq, change in changed.items():
            key = message_key(session.session, seq)
            plan.changes[key] = change
            item = _indexable(messages, seq, session=session.session, head=head)
            if item is None:
                plan.gone[key] = gone(key, version=message_version(head))
            else:
                plan.there[key] = item
        return plan

    def _readable(
        self, session: SessionScope, head: Head, seqs: Sequence[int]
    ) -> Mapping[int, Message]:
        """Return these messages and some before each, by sequence number. Withdrawn messages are
        left out. If the session is gone, return no message.
        """
        if head.is_gone(seconds(self.clock.now())):
            return {}
        wanted = sorted(
            {near for seq in seqs for near in range(max(1, seq - READ_BEFORE), seq + 1)}
        )
        pages = [wanted[start : start + PAGE] for start in range(0, len(wanted), PAGE)]
        return {
            message.seq: message
            for page in pages
            for message in self.sessions.messages_at(session, page)
            if message.seq > head.base and not head.is_withdrawn(message.seq)
        }


def _place(plan: Plan, record: Record, *, is_there: bool) -> None:
    if is_there:
        plan.there[record.id] = of_record(record)
    else:
        plan.settled.append(record)
        plan.gone[record.id] = gone(record.id, version=record.version)


def _indexable(
    messages: Mapping[int, Message], seq: int, *, session: str, head: Head
) -> Indexable | None:
    message = messages.get(seq)
    if message is None:
        return None
    earlier = [messages[near] for near in range(seq - READ_BEFORE, seq) if near in messages]
    if answers_own_tool(message, earlier):
        return None
    return of_message(message, session=session, head=head, before=said_before(message, earlier))


def _is_redacted(messages: Mapping[int, Message], seq: int) -> bool:
    """Return whether the message or a part of it must no longer be found, although it may be in the
    index.
    """
    if seq not in messages:
        return False
    message = messages[seq]
    return bool(message.redacted_at or message.hidden or message.is_off_record)

"""What the index holds of records and messages: the document of each, and what to write for those that changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import IntEnum
from itertools import islice

from palimpsest.clock import Clock, milliseconds, seconds
from palimpsest.conversations import (
    SPOKEN_ROLES,
    Message,
    answers_own_tool,
    message_key,
    said_at,
    spoken,
    spoken_text,
    text_of,
)
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Head
from palimpsest.jobs.ports import Changed, MessageChanged, RecordChanged
from palimpsest.memory import GRAPH, Record
from palimpsest.memory.conditions import metadata_terms
from palimpsest.memory.filters import folded, record_terms
from palimpsest.memory.ports import Memories
from palimpsest.models import Vector, unit
from palimpsest.scope import SessionScope, UserScope
from palimpsest.search import Document, Gone

MAX_WORDS = 12_000  # characters of a message that are searched by words
MAX_MEANING = 4_000  # characters that make the vector
MAX_BEFORE = 200  # characters of each message that was said before
TURNS_BEFORE = 2  # messages that give one its context
SAID_BEFORE = 0.3  # what the vector of the message right before it counts beside a message's own
SPEAKERS = {"user": "User", "assistant": "Assistant", "tool": "Tool"}


class Stage(IntEnum):
    """What a document's version adds to that of its item: a document with words alone is replaced by one with a vector,
    and both by the removal.
    """

    WORDS, WHOLE, GONE = range(3)


MESSAGES = 10**15
"""Versions of messages count from here: an older index holds lower ones, among them times in milliseconds."""
SESSION_GONE = 2 * MESSAGES
"""The version of a message whose session nobody knows any more."""


@dataclass(frozen=True, slots=True)
class Indexable:
    """A document, and the text that its vector is made of (None: it gets no vector). `record` is the record that it was
    made from; None for a message. `before` is what was said right before a message: its vector leans that way.
    """

    document: Document
    meaning: str | None
    record: Record | None = None
    before: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts whose vectors make its own."""
        return tuple(text for text in (self.meaning, self.before) if text is not None)

    def vector(self, vectors: Mapping[str, Vector]) -> Vector | None:
        """Its vector, made of those of its `texts`; None if there is none of its own text. Without one of what was said
        before, its own text stands alone.
        """
        own, before = vectors.get(self.meaning or ""), vectors.get(self.before or "")
        if own is None or before is None:
            return own
        return unit([mine + SAID_BEFORE * other for mine, other in zip(own, before, strict=True)])

    def with_vector(self, vector: Vector | None, *, is_whole: bool) -> Document:
        """The document with this vector. `is_whole` is false if a vector is missing and will be added later."""
        stage = Stage.WHOLE if is_whole else Stage.WORDS
        return replace(self.document, vector=vector, version=self.document.version + stage)


def gone(key: str, *, version: int) -> Gone:
    """The removal of the item's document, at the item's version."""
    return Gone(key, versioned(version) + Stage.GONE)


def versioned(version: int) -> int:
    return version * len(Stage)


def message_version(head: Head) -> int:
    """The version of a session's messages as they are under this head: whatever changes or removes one raises the
    head's version, and an import that brings the session back goes on from it.
    """
    return MESSAGES + head.version


def of_record(record: Record) -> Indexable:
    """The document of a record. A task belongs to its session and is found by its words alone."""
    document = Document(
        key=record.id,
        kind=record.type,
        text=_lines(_day(record.valid_from), record.subject, record.content, *record.keywords, *record.queries),
        version=versioned(record.version),
        created_at=record.created_at,
        subject=folded(record.subject),
        session=record.source.session,
        agent=record.agent,
        importance=record.importance,
        metadata=record_terms(record),
    )
    return Indexable(document, None if record.type == "task" else record.content[:MAX_MEANING], record)


def of_message(message: Message, *, session: str, head: Head, before: Sequence[str] = ()) -> Indexable | None:
    """The document of a message; None if it has nothing to search.

    `before` is what was said before it: that makes a short answer findable, and weighs half as much as the message's
    own words. The vector is made of the message's own words and, unless it is of a tool, to a part of what was said
    right before it (docs/adr/0048-what-other-sets-showed.md).
    """
    text = spoken_text(message)
    if not text:
        return None
    who = " ".join(filter(None, (SPEAKERS.get(message.role), message.chat.get("name"))))
    own = text[:MAX_WORDS]
    when = milliseconds(said_at(message))
    document = Document(
        key=message_key(session, message.seq),
        kind="message",
        text=_lines(f"{who} {_day(when)}", own, *map(shortened_end, before), own),
        version=versioned(message_version(head)),
        created_at=when,
        session=session,
        agent=head.agent,
        metadata=metadata_terms(message.metadata),
    )
    is_speech = message.role in SPOKEN_ROLES and not message.chat.get("tool_calls")
    return Indexable(document, text[:MAX_MEANING], before=before[-1][:MAX_MEANING] if before and is_speech else None)


def said_before(message: Message, earlier: Sequence[Message]) -> tuple[str, ...]:
    """The last texts that user and assistant said before a message, in their order, `TURNS_BEFORE` at most."""
    before = (each for each in reversed(earlier) if each.role in SPOKEN_ROLES and each.seq < message.seq)
    texts = islice(filter(None, (text_of(spoken(each).chat).strip() for each in before)), TURNS_BEFORE)
    return tuple(texts)[::-1]


def shortened_end(text: str) -> str:
    """The end of a text, where its question usually is, at most `MAX_BEFORE` characters."""
    if len(text) <= MAX_BEFORE:
        return text
    return text[-MAX_BEFORE:].partition(" ")[2] or text[-MAX_BEFORE:]


def _lines(*parts: str | None) -> str:
    return "\n".join(part for part in parts if part)


def _day(moment: int) -> str:
    """A day as it may be asked for: "2026-05-31 Sunday May"."""
    return f"{datetime.fromtimestamp(moment / 1000, UTC):%Y-%m-%d %A %B}"


READ_BEFORE = 6  # messages before one: what it answers is among them, even with tool calls and results between
REACH = range(1, READ_BEFORE + 1)
DISPLACED = 5  # older versions of a topic that are removed again with each change of it
PAGE = 100  # keys that one read takes


@dataclass(slots=True)
class Plan:
    """What to write for one owner: documents in `there`, removals in `gone`, and for each key the change it came from.

    `settled` are records without a document. `epoch` was read before everything else.
    """

    owner: UserScope
    epoch: int
    there: dict[str, Indexable] = field(default_factory=dict)
    gone: dict[str, Gone] = field(default_factory=dict)
    settled: list[Record] = field(default_factory=list)
    changes: dict[str, Changed] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EmbedPlans:
    """Reads strongly. Every call raises `Unavailable`."""

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
        now = milliseconds(self.clock.now())  # before the read: what an import brings back behind it is newer
        plan.changes |= dict(zip(ids, changes, strict=True))
        records = {record.id: record for record in self.memories.records(plan.owner, ids)}
        missing = [name for name in ids if name not in records]
        marks = self.memories.removed(plan.owner, missing) if missing else {}
        for name in missing:  # without a tombstone: higher than any version the record had
            plan.gone[name] = gone(name, version=marks[name].version if name in marks else now)
        self._take_in_records(plan, records.values())

    def _take_in_records(self, plan: Plan, records: Iterable[Record]) -> None:
        """Current records get documents; a record that a current one displaced loses its document."""
        every = tuple(records)
        topics = sorted({record.topic_key for record in every if record.topic_key})
        pointers = self.memories.pointers(plan.owner, topics) if topics else {}
        current = {pointer.record for pointer in pointers.values()}
        now = seconds(self.clock.now())
        for record in every:
            is_current = record.topic_key is None or record.id in current
            is_over = record.expires_at is not None and record.expires_at <= now
            _place(plan, record, is_there=is_current and not is_over and record.type not in GRAPH)
            if record.topic_key is not None and is_current and record.type not in GRAPH:
                self._take_in_displaced(plan, record, record.topic_key)

    def _take_in_displaced(self, plan: Plan, record: Record, topic: str) -> None:
        others = [one for one in self.memories.versions(plan.owner, topic) if one.id != record.id]
        for other in {one.id: one for one in others[-DISPLACED:]}.values():
            if other.id not in plan.changes:
                plan.changes[other.id] = plan.changes[record.id]
                _place(plan, other, is_there=False)

    def of_messages(self, session: SessionScope, changes: Sequence[MessageChanged]) -> Plan | None:
        """The plan; None if the session's owner is unknown, long after its deletion."""
        head = self.sessions.open(session).head
        if head is None:
            return None
        owner = session.owner.user(head.user)
        plan = Plan(owner, self.memories.user(owner).epoch)
        is_erased = head.epoch < plan.epoch
        changed = {change.seq: change for change in changes}
        found = {} if is_erased else self._readable(session, head, tuple(changed))
        behind = {seq + n: each for seq, each in changed.items() if _is_redacted(found, seq) for n in REACH}
        if behind:  # their documents hold the beginning of what was said before
            changed = {**{seq: each for seq, each in behind.items() if seq <= head.seq}, **changed}
            found = self._readable(session, head, tuple(changed))
        for seq, change in changed.items():
            key = message_key(session.session, seq)
            plan.changes[key] = change
            item = _indexable(found, seq, session=session.session, head=head)
            if item is None:
                plan.gone[key] = gone(key, version=message_version(head))
            else:
                plan.there[key] = item
        return plan

    def _readable(self, session: SessionScope, head: Head, seqs: Sequence[int]) -> Mapping[int, Message]:
        """These messages and some before each, by sequence number, without those that are hidden."""
        if head.is_gone(seconds(self.clock.now())):
            return {}
        wanted = sorted({near for seq in seqs for near in range(max(1, seq - READ_BEFORE), seq + 1)})
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


def _indexable(found: Mapping[int, Message], seq: int, *, session: str, head: Head) -> Indexable | None:
    message = found.get(seq)
    if message is None:
        return None
    earlier = [found[near] for near in range(seq - READ_BEFORE, seq) if near in found]
    if answers_own_tool(message, earlier):
        return None
    return of_message(message, session=session, head=head, before=said_before(message, earlier))


def _is_redacted(found: Mapping[int, Message], seq: int) -> bool:
    return seq in found and found[seq].redacted_at is not None

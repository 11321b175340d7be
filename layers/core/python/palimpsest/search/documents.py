"""The search documents of records and messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import IntEnum
from itertools import islice

from palimpsest.clock import milliseconds
from palimpsest.conversations.message import SPOKEN_ROLES, Message, message_key, text_of
from palimpsest.conversations.session import Head
from palimpsest.conversations.spoken import said_at, spoken, spoken_text
from palimpsest.memory.conditions import metadata_terms
from palimpsest.memory.filters import folded, record_terms
from palimpsest.memory.record import Record
from palimpsest.models.ports import Vector
from palimpsest.models.vectors import unit
from palimpsest.search.ports import Document, Gone

MAX_WORDS = 12_000  # characters of a message that are searched by words

MAX_MEANING = 4_000  # characters from which the vector is made

MAX_BEFORE = 200  # characters of each message that was said before

TURNS_BEFORE = 2  # messages right before, which give a message its context

SAID_BEFORE = 0.3  # the weight of the vector of the text right before; the message's own has 1

SPEAKERS = {"user": "User", "assistant": "Assistant", "tool": "Tool"}


class Stage(IntEnum):
    """The part of a document's version that is added to the item's version. With it, a document
    with a vector replaces a document with only words, and a removal replaces both.
    """

    WORDS, WHOLE, GONE = range(3)


MESSAGES = 10**15
"""The lowest version of a message. Older indexes hold lower versions, including times in
milliseconds.
"""

SESSION_GONE = 2 * MESSAGES
"""The version of a message whose session no longer exists."""


@dataclass(frozen=True, slots=True)
class Indexable:
    """A document and the texts that its vector is made from. `meaning` is the document's own text
    for the vector; None if the document gets no vector. `before` is the text right before a
    message, which influences the message's vector. `record` is the record of the document; None for
    a message.
    """

    document: Document
    meaning: str | None
    record: Record | None = None
    before: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts whose vectors are combined into the document's vector."""
        return tuple(text for text in (self.meaning, self.before) if text is not None)

    def vector(self, vectors: Mapping[str, Vector]) -> Vector | None:
        """Return the document's vector, combined from the vectors of its `texts`. None if `meaning`
        has no vector. If `before` has no vector, the vector of `meaning` is used alone.
        """
        own, before = vectors.get(self.meaning or ""), vectors.get(self.before or "")
        if own is None or before is None:
            return own
        return unit([mine + SAID_BEFORE * other for mine, other in zip(own, before, strict=True)])

    def with_vector(self, vector: Vector | None, *, is_whole: bool) -> Document:
        """Return the document with this vector. `is_whole` is false if a vector is missing and will
        be added later.
        """
        stage = Stage.WHOLE if is_whole else Stage.WORDS
        return replace(self.document, vector=vector, version=self.document.version + stage)


def gone(key: str, *, version: int) -> Gone:
    """Return the removal of an item's document. `version` is the version of the item."""
    return Gone(key, versioned(version) + Stage.GONE)


def versioned(version: int) -> int:
    return version * len(Stage)


def message_version(head: Head) -> int:
    """Return the version of a session's messages under this head. Every change or removal of a
    message raises the head's version. An import that restores the session continues from it.
    """
    return MESSAGES + head.version


def of_record(record: Record) -> Indexable:
    """Return the document of a record. A task belongs to its session and gets no vector, so only
    its words are searched.
    """
    document = Document(
        key=record.id,
        kind=record.type,
        text=_lines(
            _day(record.valid_from),
            record.subject,
            record.content,
            *record.keywords,
            *record.queries,
        ),
        version=versioned(record.version),
        created_at=record.created_at,
        subject=folded(record.subject),
        session=record.source.session,
        agent=record.agent,
        importance=record.importance,
        metadata=record_terms(record),
    )
    return Indexable(
        document, None if record.type == "task" else record.content[:MAX_MEANING], record
    )


def of_message(
    message: Message, *, session: str, head: Head, before: Sequence[str] = ()
) -> Indexable | None:
    """Return the document of a message; None if it has no text to search.

    `before` are the texts before the message. With them a short answer can be found, and they weigh
    half as much as the message's own words. The vector is made from the message's own words and,
    unless it is a tool's message, in part from the text right before it
    (docs/adr/0048-what-other-sets-showed.md).
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
    return Indexable(
        document,
        text[:MAX_MEANING],
        before=before[-1][:MAX_MEANING] if before and is_speech else None,
    )


def said_before(message: Message, earlier: Sequence[Message]) -> tuple[str, ...]:
    """Return the last texts that user and assistant said before a message, at most `TURNS_BEFORE`,
    in the order of the conversation.
    """
    before = (
        turn for turn in reversed(earlier) if turn.role in SPOKEN_ROLES and turn.seq < message.seq
    )
    texts = islice(
        filter(None, (text_of(spoken(turn).chat).strip() for turn in before)), TURNS_BEFORE
    )
    return tuple(texts)[::-1]


def shortened_end(text: str) -> str:
    """Return the last part of a text, at most `MAX_BEFORE` characters. A question is usually at the
    end.
    """
    if len(text) <= MAX_BEFORE:
        return text
    return text[-MAX_BEFORE:].partition(" ")[2] or text[-MAX_BEFORE:]


def _lines(*parts: str | None) -> str:
    return "\n".join(part for part in parts if part)


def _day(moment: int) -> str:
    """Return a day in words that a question may use, such as "2026-05-31 Sunday May"."""
    return f"{datetime.fromtimestamp(moment / 1000, UTC):%Y-%m-%d %A %B}"

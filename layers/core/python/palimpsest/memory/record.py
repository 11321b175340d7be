"""The record: one thing that the service remembers about a user, with its source."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from palimpsest.text.folding import normalized

SaidType = Literal["fact", "event", "instruction", "task"]
"""The types of memories that conversations contain and callers save."""

ListedType = Literal[SaidType, "preference"]
"""The types that lists of memories, recall and contexts show."""

GraphType = Literal["entity", "relationship"]

RecordType = Literal[ListedType, GraphType]

GRAPH: frozenset[RecordType] = frozenset(get_args(GraphType))

KEYED: frozenset[RecordType] = GRAPH | {"preference"}
"""Types of records whose topic is an exact key and whose value is their `data`."""

IndexState = Literal["pending", "done"]

Method = Literal["model", "pattern", "given"]

Order = tuple[int, str, int, int, str]
"""The order of a statement in its topic: the time at which the user made it (epoch milliseconds),
its session, its message, its place among the statements of that message, and the record's id. No
two statements have the same order.
"""

MAX_CONTENT = 4_000  # characters of one record

MAX_DATA = 16_384  # bytes of the JSON beside a content

MAX_METADATA_TERMS = 64  # each is a term of the record's search document

MAX_ALSO = 8  # an item must not grow with every repetition

USEFUL, WRONG = "+", "-"
"""The last character of a stored opinion, which says whether a recalled memory was useful or wrong.
"""

MOST_DRAWN = 16  # most relationships that a record lists as drawn from it

_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|[Mm]ine)\b")


@dataclass(frozen=True, slots=True)
class Source:
    """The messages that a record was made from, by id and sequence number, and a `quote` from them
    that supports the record. A caller who stores a record may describe its source in `text`.
    """

    session: str | None = None
    message_ids: tuple[str, ...] = ()
    seqs: tuple[int, ...] = ()
    quote: str | None = None
    text: str | None = None

    @property
    def without_words(self) -> Source:
        """Return the source without its texts. This is the form that is kept after the record is
        removed.
        """
        return replace(self, quote=None, text=None)


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that the service remembers about a user. Times are epoch milliseconds.

    The statement is valid from `valid_from` on. That is the time at which it was made, or an
    earlier time that it names, but never later than the server's time. A record with a `topic_key`
    is one version of that topic.
    """

    id: str
    type: RecordType
    content: str
    created_at: int
    valid_from: int
    subject: str | None = None
    topic_key: str | None = None
    keywords: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    importance: float = 0.5
    confidence: float = 1.0
    source: Source = field(default_factory=Source)
    agent: str | None = None
    expires_at: int | None = None  # epoch seconds
    expiry_given: bool = False  # by the caller, and so not by the retention of its type
    confirmed_at: int | None = None  # when it was last written or confirmed, in epoch seconds
    retention: int | None = (
        None  # days by the session it was extracted from, 0 = for ever; None: by the tenant
    )
    metadata: Mapping[str, Any] = field(default_factory=dict)
    data: Any = None  # JSON of the caller; of a preference, entity or relationship its value
    embedding: str | None = (
        None  # the caller's own vector (`models.packed`), in place of the embedding model's
    )
    method: Method = "given"
    prompt_hash: str | None = None
    rank: int = 0  # place among the statements of the same message or call
    # up to MAX_ALSO other sessions with the same statement, if the record has no topic
    also: tuple[str, ...] = ()
    # topics of relationships that were drawn from it, or from its topic before
    draws: tuple[str, ...] = ()
    # ISO 8601: the first day of the time when it happens; the last day of the time when it is due
    occurs_at: str | None = None
    due_at: str | None = None
    time_unit: str = "day"  # "day", "week", "month" or "year": how exact that time is
    rests_on: tuple[str, ...] = ()  # ids of the records that it rests on
    speaker: str | None = None  # the speaker; None: the user, or the caller who stored it
    opinions: tuple[str, ...] = ()  # what recalls' callers thought of it (memory/opinions.py)
    index_state: IndexState = "pending"
    version: int = (
        1  # of the stored item and its search document: starts at the time, grows with every change
    )

    @property
    def order(self) -> Order:
        return (
            self.valid_from,
            self.source.session or "",
            max(self.source.seqs, default=0),
            self.rank,
            self.id,
        )


def is_quoted(record: Record) -> bool:
    """Return whether the record is in the user's own words."""
    is_text = record.type not in KEYED
    return record.method == "pattern" or (is_text and is_in_first_person(record.content))


def is_in_first_person(text: str) -> bool:
    return bool(_FIRST_PERSON.search(text))


def record_id(
    *,
    tenant: str,
    user: str,
    kind: RecordType,
    content: str,
    topic: str | None = None,
    valid_from: int | None = None,
) -> str:
    """Return the id of a record, a digest of its owner, type, content and topic. The id of an
    event, and of a record with a topic, also depends on `valid_from`, because a user who returns to
    an earlier value makes a new version.
    """
    dated = valid_from if kind == "event" or topic is not None else None
    text = "\x1f".join((tenant, user, kind, normalized(content), topic or "", str(dated or "")))
    return "mem_" + hashlib.sha256(text.encode()).hexdigest()[:32]


def said_again(record: Record, by: Record) -> Record:
    """Return the record with the time and the source of `by`, a later or earlier statement of the
    same content.
    """
    return replace(
        record, valid_from=by.valid_from, source=by.source, rank=by.rank, created_at=by.created_at
    )


@dataclass(frozen=True, slots=True)
class UserState:
    """A user's state. `epoch` counts erasures and is never reset. `version` grows with every
    commit that changes what is remembered. A result that was cached at another version is out of
    date.
    """

    epoch: int = 0
    version: int = 0

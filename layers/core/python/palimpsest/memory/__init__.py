"""Long-term memory: what is known of a user, as records with sources and expiry, topics, and a topic's versions."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Literal, get_args

from palimpsest.conversations import name_of
from palimpsest.text import normalized

SaidType = Literal["fact", "event", "instruction", "task"]
"""What conversations bring, and callers save as memories."""
ListedType = Literal[SaidType, "preference"]
"""What lists of memories, recall and contexts show."""
GraphType = Literal["entity", "relationship"]
RecordType = Literal[ListedType, GraphType]
GRAPH: frozenset[RecordType] = frozenset(get_args(GraphType))
KEYED: frozenset[RecordType] = GRAPH | {"preference"}
"""Types whose topic is a key of their own, exactly as it stands, and whose value is their `data`."""
IndexState = Literal["pending", "done"]
Method = Literal["model", "pattern", "given"]
Order = tuple[int, str, int, int, str]
"""What orders the statements of a topic: the time at which the user made one (epoch milliseconds), its session, its
message, its place among the statements of that message, and the record's id. So no two statements are equal.
"""

MAX_CONTENT = 4_000  # characters of one record
MAX_DATA = 16_384  # bytes of the JSON beside a content
MAX_METADATA_TERMS = 64
MAX_ALSO = 8
MOST_DRAWN = 16  # relationships that a record remembers as drawn from it
_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|[Mm]ine)\b")


@dataclass(frozen=True, slots=True)
class Source:
    """The messages that a record was made from, by id and sequence number, and the words of theirs that support it. A
    caller who stores a record may say in a `text` where it comes from.
    """

    session: str | None = None
    message_ids: tuple[str, ...] = ()
    seqs: tuple[int, ...] = ()
    quote: str | None = None
    text: str | None = None

    @property
    def without_words(self) -> Source:
        """The places alone, as what outlives the record keeps them."""
        return replace(self, quote=None, text=None)


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that the service remembers about a user. Times are epoch milliseconds.

    The statement holds from `valid_from` on: the time at which it was made, or an earlier one that it names, never
    later than the server's time. A record with a `topic_key` is one version of that topic.
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
    retention: int | None = None  # days by the session it was extracted from, 0 = for ever; None: by the tenant
    metadata: Mapping[str, Any] = field(default_factory=dict)
    data: Any = None  # JSON of the caller; of a preference, entity or relationship its value
    embedding: str | None = None  # the caller's own vector (`models.packed`), in place of the model's
    method: Method = "given"
    prompt_hash: str | None = None
    rank: int = 0  # place among the statements of the same message or call
    also: tuple[str, ...] = ()  # up to MAX_ALSO other sessions with the same statement, if the record has no topic
    draws: tuple[str, ...] = ()  # topics of relationships that were drawn from it, or from its topic before
    index_state: IndexState = "pending"
    version: int = 1  # of the stored item and its search document: starts at the time, grows with every change

    @property
    def order(self) -> Order:
        return (self.valid_from, self.source.session or "", max(self.source.seqs, default=0), self.rank, self.id)


def quoted_in(record: Record, *, user: str) -> str | None:
    """The name of the user if the record is in the user's own words; None if it speaks of the user."""
    return name_of("user", user=user) if is_quoted(record) else None


def is_quoted(record: Record) -> bool:
    """Whether the record is in the user's own words."""
    is_text = record.type not in KEYED
    return record.method == "pattern" or (is_text and bool(_FIRST_PERSON.search(record.content)))


def record_id(
    *, tenant: str, user: str, kind: RecordType, content: str, topic: str | None = None, valid_from: int | None = None
) -> str:
    """Return the id of a record: a digest of its owner, type, content and topic. The id of an event, and of a record
    with a topic, also depends on `valid_from`: a user who returns to an earlier value makes a new version.
    """
    dated = valid_from if kind == "event" or topic is not None else None
    text = "\x1f".join((tenant, user, kind, normalized(content), topic or "", str(dated or "")))
    return "mem_" + hashlib.sha256(text.encode()).hexdigest()[:32]


def said_again(record: Record, by: Record) -> Record:
    """Return the record with the time and the source of `by`, a later or earlier statement of the same content."""
    return replace(record, valid_from=by.valid_from, source=by.source, rank=by.rank, created_at=by.created_at)


@dataclass(frozen=True, slots=True)
class Version:
    """One value in the history of its topic. `number` counts from 1; at `valid_to` (epoch milliseconds) the next
    version begins.
    """

    record: Record
    number: int = 1
    is_current: bool = True
    valid_to: int | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    uses: int = 0  # how often recall returned it
    used_at: int | None = None  # when it last did, in epoch seconds


def versions(said: Sequence[Record], *, current: str | None, retracted: int | None = None) -> tuple[Version, ...]:
    """Return the versions of one topic, oldest first. The times of the statements decide their numbers and validity,
    not the order in which the statements arrived.

    `said` holds a record once for each statement of it; statements of the same record in a row are one version.
    `current` is the id of the record that the topic's pointer names. If the pointer names none, the user deleted the
    newest version: `retracted` is the time of its last statement (epoch milliseconds), and the newest version that is
    left ended then.
    """
    chain = _runs(said)
    newer = [*chain[1:], None]
    older = [None, *chain]
    return tuple(
        Version(
            record=record,
            number=number,
            is_current=after is None and record.id == current,
            valid_to=after.valid_from if after else None if current else retracted,
            supersedes=before.id if before else None,
            superseded_by=after.id if after else None,
        )
        for number, (record, before, after) in enumerate(zip(chain, older, newer, strict=False), 1)
    )


def as_of(
    said: Sequence[Record], *, moment: int, known_at: int | None = None, retracted: int | None = None
) -> Record | None:
    """Return the record that held at `moment`, judged by the statements that the service knew at `known_at` (default:
    all); None if none held. Times are epoch milliseconds.
    """
    if retracted is not None and retracted <= moment:
        return None
    known = [record for record in said if known_at is None or record.created_at <= known_at]
    held = [record for record in _runs(known) if record.valid_from <= moment]
    return held[-1] if held else None


def _runs(said: Sequence[Record]) -> list[Record]:
    """Return one record for each series of equal statements: the copy that was written first, valid from the first
    statement of the series.
    """
    in_order = sorted(said, key=lambda record: record.order)
    runs = [list(run) for _, run in groupby(in_order, key=lambda record: record.id)]
    return [replace(min(run, key=lambda record: record.created_at), valid_from=run[0].valid_from) for run in runs]


@dataclass(frozen=True, slots=True)
class Walk:
    """The place that the sweep has reached among a user's records. Times are epoch seconds.

    No record expires before `due_at`; from then on each round visits some of the records, in the order of their ids.
    `noted` is the earliest expiry among the records written since the walk began: the sweep may have passed them.
    """

    epoch: int
    due_at: int
    noted: int | None = None
    number: int = 0  # of the walk, so that no round continues an older one
    after: str | None = None  # id of the last record that was visited
    earliest: int | None = None  # of the visited records that stay

    def begun(self) -> Walk:
        """Return a new walk from the first record on: it visits every record that was written before it."""
        return replace(self, noted=None, number=self.number + 1, after=None, earliest=None)

    def gone_on(self, *, after: str | None, earliest: int | None) -> Walk | None:
        """Return the walk after a round that ended at the record `after`. At the end of the list (`after` is None) the
        walk waits for the next expiry; return None if no record can expire.
        """
        if after is not None:
            return replace(self, after=after, earliest=earliest)
        next_due = first(earliest, self.noted)
        if next_due is None:
            return None
        return replace(self, due_at=next_due, noted=next_due, after=None, earliest=None)


def noting(walk: Walk | None, *, epoch: int, expires_at: int) -> Walk:
    """Return the walk after somebody wrote a record that expires at `expires_at`; a new walk if there was none."""
    if walk is None:
        return Walk(epoch, due_at=expires_at, noted=expires_at)
    noted = expires_at if walk.noted is None else min(walk.noted, expires_at)
    return replace(walk, due_at=min(walk.due_at, expires_at), noted=noted)


def first(*times: int | None) -> int | None:
    """Return the earliest of the times; None if there is none."""
    return min((time for time in times if time is not None), default=None)


def first_expiry(records: Iterable[Record]) -> int | None:
    """Return the earliest expiry of the records, in epoch seconds; None if none of them expires."""
    return first(*(record.expires_at for record in records))


def is_expired(record: Record, *, now: int) -> bool:
    """Say whether the record has expired at `now` (epoch seconds)."""
    return record.expires_at is not None and record.expires_at <= now

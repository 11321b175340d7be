"""A user's long-term memory as plain data: records, topics and their versions, where each came from."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Literal

from palimpsest.conversations.messages import name_of
from palimpsest.text.analyser import words

RecordType = Literal["fact", "event", "instruction", "task"]
IndexState = Literal["pending", "done"]
Method = Literal["model", "pattern", "given"]
Order = tuple[int, str, int, int, str]
"""The order of the statements of a topic: when it was said (epoch milliseconds), session, message, place among the
statements of that message, and the record's id, so that no two are equal.
"""

MAX_CONTENT = 4_000  # characters of one record
MAX_METADATA_TERMS = 64
MAX_ALSO = 8
_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|[Mm]ine)\b")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a record comes from: messages of a session, by id and sequence number, and the words it rests on."""

    session: str | None = None
    message_ids: tuple[str, ...] = ()
    seqs: tuple[int, ...] = ()
    quote: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One thing remembered of a user. Times are epoch milliseconds.

    `valid_from` is when the statement was made or holds from, never later than the server's time. A record with a
    `topic_key` is one version of that topic.
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
    expires_at: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    method: Method = "given"
    prompt_hash: str | None = None
    rank: int = 0  # its place among the statements it was made with
    also: tuple[str, ...] = ()  # of a record without a topic: other sessions that said it, at most MAX_ALSO
    index_state: IndexState = "pending"
    version: int = 1  # of the item: begins with the time, grows with every change; the search document's own

    @property
    def order(self) -> Order:
        return (self.valid_from, self.source.session or "", max(self.source.seqs, default=0), self.rank, self.id)


def quoted_in(record: Record, *, user: str) -> str | None:
    """The name of the user if the record is in the user's own words; None if it speaks of the user."""
    is_quoted = record.method == "pattern" or _FIRST_PERSON.search(record.content)
    return name_of("user", user=user) if is_quoted else None


def normalized(text: str) -> str:
    """The text that equal statements share: compatibility forms, case and spaces folded, without a final full stop."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"\s+", " ", folded).strip().rstrip(".\N{IDEOGRAPHIC FULL STOP}! ")


def topic_key(text: str) -> str | None:
    """A topic's key as it is stored: folded words joined by `_`, at most 80 characters; None if nothing is left."""
    return "_".join(words(text)).casefold()[:80].strip("_") or None


def record_id(
    *, tenant: str, user: str, kind: RecordType, content: str, topic: str | None = None, valid_from: int | None = None
) -> str:
    """A digest of owner, type and content. For an event and for a record with a topic it also covers the time, so that
    a return to an earlier value is a new version.
    """
    dated = valid_from if kind == "event" or topic is not None else None
    text = "\x1f".join((tenant, user, kind, normalized(content), topic or "", str(dated or "")))
    return "mem_" + hashlib.sha256(text.encode()).hexdigest()[:32]


def said_again(record: Record, by: Record) -> Record:
    """The record with the time and source of another statement that says the same."""
    return replace(record, valid_from=by.valid_from, source=by.source, rank=by.rank, created_at=by.created_at)


@dataclass(frozen=True, slots=True)
class Version:
    """One value in the chain of its topic. `number` counts from 1; `valid_to` is when the next version begins."""

    record: Record
    number: int = 1
    is_current: bool = True
    valid_to: int | None = None
    supersedes: str | None = None
    superseded_by: str | None = None


def versions(said: Sequence[Record], *, current: str | None, retracted: int | None = None) -> tuple[Version, ...]:
    """The chain of one topic, oldest first: numbers and validity follow from what was said when, not from arrival.

    `said` holds a record once for each time it was said; what was said again with nothing else between is one version.
    `current` is the record that the topic's pointer names. Where it names none, the newest version was deleted:
    `retracted` is when that one was last said (epoch milliseconds), and when the newest that is left ended.
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
    """The version of a topic that held at `moment`, as far as was known at `known_at` (default: all that is known)."""
    if retracted is not None and retracted <= moment:
        return None
    known = [record for record in said if known_at is None or record.created_at <= known_at]
    held = [record for record in _runs(known) if record.valid_from <= moment]
    return held[-1] if held else None


def _runs(said: Sequence[Record]) -> list[Record]:
    """Each record once for every time that it began to hold: as it was first written, valid from when first said."""
    in_order = sorted(said, key=lambda record: record.order)
    runs = [list(run) for _, run in groupby(in_order, key=lambda record: record.id)]
    return [replace(min(run, key=lambda record: record.created_at), valid_from=run[0].valid_from) for run in runs]

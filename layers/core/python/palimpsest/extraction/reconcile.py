"""Decides which known records statements end or correct, before the statements are stored. Findings
of a model and of rules go through the same decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from palimpsest.conversations.message import Message, text_of
from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.finding import Finding
from palimpsest.memory.ended import EndOfTopic
from palimpsest.memory.meaning.corrections import Correction, corrected, correction_of
from palimpsest.memory.meaning.ends import End, ends_of, is_ended
from palimpsest.memory.meaning.reading import naming
from palimpsest.memory.meaning.slots import MOST_NAMED, says_the_same_of, slot_of
from palimpsest.memory.record import GRAPH, Order, Record, record_id
from palimpsest.memory.statements import Statement, topic_of_edits
from palimpsest.text.sentences import is_question

MOST_ENDED = 4  # most records that one statement ends
MOST_ENDS = 12  # of one step
Known = Callable[[], Sequence[Record]]
"""Reads the current records, newest first."""


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The findings that are stored, each with its statement, and the topics that end."""

    findings: tuple[Finding, ...]
    statements: tuple[Statement, ...]
    ends: tuple[EndOfTopic, ...] = ()


@dataclass
class _Known:
    """The known records before the step, which are read at first need, and the statements of the
    step itself.
    """

    read: Known
    statements: list[tuple[Finding, Statement, int]] = field(default_factory=list)
    ends: dict[str, EndOfTopic] = field(default_factory=dict)

    @cached_property
    def records(self) -> Sequence[Record]:
        return [record for record in self.read() if record.type not in GRAPH]


def reconciled(
    findings: Sequence[Finding], statements: Sequence[Statement], chunk: Chunk, *, known: Known
) -> Reconciled:
    """The statements that are stored, and the topics that they end."""
    state, put_right = _Known(known), set[tuple[tuple[int, ...], str]]()
    for rank, (finding, given) in enumerate(zip(findings, statements, strict=True)):
        statement = _in_its_topic(given)
        quoted = (finding.seqs, finding.quote)
        if quoted in put_right:
            continue
        if finding.depends and _corrects(finding, statement, rank, chunk, state):
            put_right.add(quoted)
            continue
        is_end = _ends(finding, statement, rank, state)
        if finding.depends and is_end:
            put_right.add(quoted)
        if finding.depends or (is_end and statement.topic is None):
            continue
        state.statements.append((finding, _in_known_words(statement, state), rank))
    return Reconciled(
        tuple(finding for finding, _, _ in state.statements),
        tuple(statement for _, statement, _ in state.statements),
        tuple(state.ends.values())[:MOST_ENDS],
    )


def _in_its_topic(statement: Statement) -> Statement:
    """The statement with the topic that its meaning gives it, if a model found it. A statement of
    an end gets no topic, because it is not a value.
    """
    if statement.type != "fact" or statement.method != "model":
        return statement
    slot = slot_of(statement.content)
    if slot is None and ends_of(statement.content):
        return replace(statement, topic=None)
    return replace(statement, topic=slot.topic) if slot else statement


def _in_known_words(statement: Statement, state: _Known) -> Statement:
    """The statement in the words of a memory that says the same. That memory then gets one more
    source.
    """
    if statement.type != "fact" or statement.topic is not None:
        return statement
    if not 0 < len(naming(statement.content)) <= MOST_NAMED:
        return statement
    own: Iterator[Statement | Record] = (other for _, other, _ in state.statements)
    known = next(
        (
            other
            for other in chain(own, state.records)
            if other.type == "fact"
            and other.subject == statement.subject
            and says_the_same_of(other.content, statement.content)
        ),
        None,
    )
    if known is None:
        return statement
    return replace(statement, content=known.content, version_of=known.topic_key)


def _order(statement: Statement, rank: int) -> Order:
    source = statement.source
    return (statement.valid_from or 0, source.session or "", max(source.seqs, default=0), rank, "")


def _ends(finding: Finding, statement: Statement, rank: int, state: _Known) -> bool:
    """Whether the statement says that something ended, and a known record ends by it."""
    found = ends_of(finding.content) if statement.type in ("fact", "event") else ()
    if not found:
        return False
    order = _order(statement, rank)
    own, places = _ended_here(found, statement, state)
    stored = [record for record in state.records if _is_ended(record, found, statement, order)]
    for place in own:
        finding, other, its_rank = state.statements[place]
        key = other.topic_key or f"said_{_draft(other).id}"
        state.statements[place] = (finding, replace(other, version_of=key), its_rank)
        state.ends[key] = EndOfTopic(key, order)
    for record in stored[: MOST_ENDED - places]:
        key = topic_of_edits(record)
        state.ends.setdefault(key, EndOfTopic(key, order, record.id))
    return bool(own or stored)


def _ended_here(found: Sequence[End], statement: Statement, state: _Known) -> tuple[list[int], int]:
    """The places of the step's own statements that end, and their number."""
    places = [
        place
        for place, (_, other, _) in enumerate(state.statements)
        if other.topic_key != (statement.topic_key or "") and is_ended(_draft(other), found)
    ][-MOST_ENDED:]
    return places, len(places)


def _is_ended(record: Record, found: Sequence[End], statement: Statement, order: Order) -> bool:
    is_other_topic = record.topic_key is None or record.topic_key != statement.topic_key
    return is_other_topic and record.order < order and is_ended(record, found)


def _draft(statement: Statement) -> Record:
    """The statement as a record, for comparison with others."""
    key = statement.topic_key
    return Record(
        id=record_id(tenant="", user="", kind=statement.type, content=statement.content, topic=key),
        type=statement.type,
        content=statement.content,
        created_at=0,
        valid_from=statement.valid_from or 0,
        subject=statement.subject,
        topic_key=key,
        source=statement.source,
    )


def _corrects(
    finding: Finding, statement: Statement, rank: int, chunk: Chunk, state: _Known
) -> bool:
    """Whether the statement corrects another one. If so, the other one is corrected."""
    found = correction_of(finding.content)
    seq = max(finding.seqs)
    if found is None or (found.old is None and not found.is_meant and _asked(seq, chunk)):
        return False
    for place in _likely_places(found, seq, chunk, state):
        other_finding, other, its_rank = state.statements[place]
        content = corrected(other.content, found)
        if content is not None:
            better = replace(other_finding, content=content, relations=())
            state.statements[place] = (better, replace(other, content=content), its_rank)
            return True
    for record in _likely_records(found, finding, chunk, state):
        content = corrected(record.content, found)
        if content is not None and record.order < _order(statement, rank):
            right = _version(statement, record, content)
            state.statements.append((replace(finding, content=content), right, rank))
            return True
    return False


def _likely_places(found: Correction, seq: int, chunk: Chunk, state: _Known) -> list[int]:
    """The places of the step's statements that a correction may mean, the last one first."""
    places = list(reversed(range(len(state.statements))))
    if found.old is not None:
        return places
    before = _before(seq, chunk)
    near = {seq} | ({before.seq} if before is not None else set())
    return [place for place in places if near & set(state.statements[place][0].seqs)]


def _likely_records(
    found: Correction, finding: Finding, chunk: Chunk, state: _Known
) -> Sequence[Record]:
    """The stored records that a correction may mean: all with the old value, or else the records of
    the last message.
    """
    in_order = sorted(state.records, key=lambda record: record.order, reverse=True)
    if found.old is not None:
        return in_order
    before = _before(max(finding.seqs), chunk)
    if not in_order:
        return []
    if before is not None:
        return [record for record in in_order if before.seq in record.source.seqs]
    last = in_order[0].order[:3]
    return [record for record in in_order if record.order[:3] == last]


def _heard(chunk: Chunk) -> Mapping[int, Message]:
    return {message.seq: message for message in (*chunk.before, *chunk.messages)}


def _before(seq: int, chunk: Chunk) -> Message | None:
    """The user's message before."""
    heard = _heard(chunk)
    earlier = [one for one in sorted(heard) if one < seq and heard[one].role == "user"]
    return heard[earlier[-1]] if earlier else None


def _asked(seq: int, chunk: Chunk) -> bool:
    """Whether the message right before is a question by the assistant."""
    heard = _heard(chunk)
    earlier = [one for one in sorted(heard) if one < seq]
    if not earlier or heard[earlier[-1]].role == "user":
        return False
    return is_question(text_of(heard[earlier[-1]].chat).rstrip())


def _version(statement: Statement, record: Record, content: str) -> Statement:
    """The statement as the next version of the record, with the corrected content."""
    return replace(
        statement,
        type=record.type,
        content=content,
        subject=record.subject,
        importance=record.importance,
        keywords=record.keywords,
        topic=record.topic_key,
        version_of=topic_of_edits(record),
        replaces=record.id if record.topic_key is None else None,
    )

"""Corrects earlier statements, where a sentence or its message says that they were wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from palimpsest.conversations.message import Message, text_of
from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.finding import Finding
from palimpsest.extraction.reconciling.known import (
    KnownStatements,
    are_of_one_speaker,
    draft_of,
    end_stored,
    next_version,
    order_of,
)
from palimpsest.extraction.reconciling.versions import version_of, with_times
from palimpsest.extraction.relating import READ
from palimpsest.extraction.testimony.speakers import USER
from palimpsest.memory.meaning.admitted import corrects_in, likeness
from palimpsest.memory.meaning.corrections import Correction, corrected, correction_of
from palimpsest.memory.meaning.people import is_of_another
from palimpsest.memory.names import unlabelled
from palimpsest.memory.record import Record
from palimpsest.memory.statements import Statement
from palimpsest.text.sentences import is_question


def corrects(
    finding: Finding, statement: Statement, rank: int, chunk: Chunk, state: KnownStatements
) -> bool:
    """Correct the earlier statement that this one corrects. Return whether there is one."""
    correction = correction_of(unlabelled(finding.content, statement.subject))
    seq = max(finding.seqs)
    # After a question of the assistant, unclear words such as "the 5th" may be its answer.
    if correction is None or (
        correction.old is None and not correction.is_meant and _asked(seq, chunk)
    ):
        return False
    if correction.is_bare and not _follows_its_speaker(seq, chunk):
        return False
    for place in _likely_places(correction, seq, chunk, state):
        other_finding, other, its_rank = state.statements[place]
        if not are_of_one_speaker(statement, other):
            continue
        content = corrected(other.content, correction)
        if content is not None:
            # The relations name the old value.
            seqs = (*other_finding.seqs, seq)  # the right statement rests on both messages
            better = replace(other_finding, content=content, relations=(), seqs=seqs)
            right = with_times(other, content, by=statement)
            right = replace(right, source=replace(right.source, seqs=seqs))
            state.statements[place] = (better, right, its_rank)
            return True
    for record in _likely_records(correction, statement, chunk, state):
        content = corrected(record.content, correction)
        is_known = record.order < order_of(statement, rank)
        is_known &= are_of_one_speaker(statement, record)
        if content and is_known and not is_of_another(finding.content, record.content):
            right = version_of(statement, record, content)
            state.statements.append((replace(finding, content=content), right, rank))
            return True
    return False


def puts_right(
    finding: Finding, statement: Statement, rank: int, chunk: Chunk, state: KnownStatements
) -> bool:
    """Return whether a full statement corrects a known one because its message says so. If so, it
    is stored in place of the likest known one.
    """
    seq = max(finding.seqs)
    message = _heard(chunk).get(seq)
    if statement.type not in READ or finding.depends or message is None:
        return False
    if not corrects_in(text_of(message.chat), finding.quote):
        return False
    own = [
        (place, draft_of(other))
        for place, (its_finding, other, _) in enumerate(state.statements)
        # All statements of one message are true at the same time.
        if seq not in its_finding.seqs
    ]
    wrong_own = _likest(statement, [draft for _, draft in own])
    if wrong_own is not None:
        place = next(place for place, draft in own if draft is wrong_own)
        state.statements[place] = (finding, statement, rank)
        return True
    order = order_of(statement, rank)
    wrong = _likest(statement, [record for record in state.records if record.order < order])
    if wrong is None:
        return False
    if statement.topic_key is not None and statement.topic_key != wrong.topic_key:
        # A version has the topic of the version before, so this statement is stored as usual.
        end_stored(wrong, order, state)
        return False
    state.statements.append((finding, next_version(statement, wrong), rank))
    return True


def _likest(statement: Statement, known: Sequence[Record]) -> Record | None:
    """Return the known statement that is likest to a correction; None if none is like it."""
    content = unlabelled(statement.content, statement.subject)
    alike = [
        (likeness(content, unlabelled(record.content, record.subject)), record.order, record)
        for record in known
        if record.type in READ
        and (record.subject or USER) == (statement.subject or USER)
        and are_of_one_speaker(statement, record)
        and not is_of_another(content, record.content)
    ]
    best = max(alike, key=lambda entry: entry[:2], default=None)
    return best[2] if best is not None and best[0] > 0 else None


def _likely_places(
    correction: Correction, seq: int, chunk: Chunk, state: KnownStatements
) -> list[int]:
    """Return the places of the step's statements that a correction may be about, the last one
    first.
    """
    places = list(reversed(range(len(state.statements))))
    if correction.old is not None:
        return places
    before = _before(seq, chunk)
    near = {seq} | ({before.seq} if before is not None else set())
    return [place for place in places if near & set(state.statements[place][0].seqs)]


def _likely_records(
    correction: Correction, statement: Statement, chunk: Chunk, state: KnownStatements
) -> Sequence[Record]:
    """Return the stored records that a correction may be about. These are all records with the old
    value, or else the records of the last message.
    """
    source = statement.source
    in_order = sorted(state.records, key=lambda record: record.order, reverse=True)
    if correction.old is not None:
        return in_order
    before = _before(max(source.seqs), chunk)
    if not in_order:
        return []
    if before is not None:
        return [
            record
            for record in in_order
            if record.source.session == source.session and before.seq in record.source.seqs
        ]
    # The first three parts of an order are the time, the session and the message.
    last = in_order[0].order[:3]
    return [record for record in in_order if record.order[:3] == last]


def _heard(chunk: Chunk) -> Mapping[int, Message]:
    return {message.seq: message for message in (*chunk.before, *chunk.messages)}


def _before(seq: int, chunk: Chunk) -> Message | None:
    """Return the user's message before this one."""
    earlier = [
        message
        for message in _heard(chunk).values()
        if message.seq < seq and message.role == "user"
    ]
    return max(earlier, key=lambda message: message.seq, default=None)


def _right_before(seq: int, chunk: Chunk) -> Message | None:
    """Return the message before this one, whoever said it."""
    earlier = [message for message in _heard(chunk).values() if message.seq < seq]
    return max(earlier, key=lambda message: message.seq, default=None)


def _asked(seq: int, chunk: Chunk) -> bool:
    """Return whether the message right before is a question by the assistant."""
    before = _right_before(seq, chunk)
    if before is None or before.role == "user":
        return False
    return is_question(text_of(before.chat).rstrip())


def _follows_its_speaker(seq: int, chunk: Chunk) -> bool:
    """Return whether the message right before is the user's too."""
    before = _right_before(seq, chunk)
    return before is not None and before.role == "user"

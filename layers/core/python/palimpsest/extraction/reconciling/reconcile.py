"""Decides which known records are ended or corrected by new statements, before these are stored.
Findings of a model and of rules go through the same decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.finding import Finding
from palimpsest.extraction.reconciling.changing import changes, takes_a_place
from palimpsest.extraction.reconciling.correcting import corrects, puts_right
from palimpsest.extraction.reconciling.ending import ends, finds, only_lifts
from palimpsest.extraction.reconciling.known import Known, KnownStatements
from palimpsest.extraction.reconciling.people import is_of_a_person
from palimpsest.extraction.reconciling.weighing import related_by_weights
from palimpsest.extraction.reconciling.wording import in_known_words
from palimpsest.extraction.testimony.speakers import USER
from palimpsest.memory.ended import EndOfTopic
from palimpsest.memory.meaning.ends import begins_state, ends_of, says_more
from palimpsest.memory.meaning.slots import slot_of
from palimpsest.memory.meaning.transitions import transitions_of
from palimpsest.memory.statements import Statement

MOST_ENDS = 12  # of one step


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The findings that are stored, each with its statement, and the topics that end."""

    findings: tuple[Finding, ...]
    statements: tuple[Statement, ...]
    ends: tuple[EndOfTopic, ...] = ()


def reconciled(
    findings: Sequence[Finding], statements: Sequence[Statement], chunk: Chunk, *, known: Known
) -> Reconciled:
    """Return the statements to store, and the topics that they end."""
    state, put_right = KnownStatements(known), set[tuple[tuple[int, ...], str]]()
    for rank, (finding, finding_statement) in enumerate(zip(findings, statements, strict=True)):
        statement = _in_its_topic(finding_statement)
        # Of a sentence that corrects, an extractor also gives the statement alone, in case that
        # nothing is corrected. If something is, the statement is not stored a second time.
        quoted = (finding.seqs, finding.quote)
        if quoted in put_right:
            continue
        if finding.depends and corrects(finding, statement, rank, chunk, state):
            put_right.add(quoted)
            continue
        if (
            is_of_a_person(finding, statement, rank, state)
            or takes_a_place(finding, statement, rank, state)
            or changes(finding, statement, rank, state)
            or puts_right(finding, statement, rank, chunk, state)
            or only_lifts(statement, rank, state)
        ):
            continue
        finds(statement, rank, state)
        is_end = ends(finding, statement, rank, state)
        stored = statement if is_end else related_by_weights(finding, statement, rank, state)
        if finding.depends and stored is not None:
            put_right.add(quoted)
        # A finding that depends may begin with the sentence before it, which is stored already.
        own = replace(statement, content=finding.quote) if finding.depends else statement
        if is_end and _says_nothing_else(own):
            continue
        if stored is not None:
            state.statements.append((finding, in_known_words(stored, state), rank))
    return Reconciled(
        tuple(finding for finding, _, _ in state.statements),
        tuple(statement for _, statement, _ in state.statements),
        tuple(state.ends.values())[:MOST_ENDS],
    )


def _says_nothing_else(statement: Statement) -> bool:
    """Return whether the statement of an end says nothing that is worth a memory of its own.

    It does if it gives a topic a value, begins another state, allows something ("I can eat nuts
    again"), or names a thing that replaces the ended one. It also does if another clause of it is
    a statement, or if it reports a deed on a day: "I ran the marathon on Sunday".
    """
    content = statement.content
    is_deed = statement.type == "event" and any(end.kind == "done" for end in ends_of(content))
    return statement.topic is None and not (
        is_deed or begins_state(content) or transitions_of(content) or says_more(content)
    )


def _in_its_topic(statement: Statement) -> Statement:
    """Return a model's statement with the topic that its meaning gives it. A statement of an end
    gets no topic, because it has no value.
    """
    is_of_the_user = statement.speaker in (None, USER)
    if statement.type != "fact" or statement.method != "model" or not is_of_the_user:
        return statement
    slot = slot_of(statement.content)
    if slot is None and ends_of(statement.content):
        return replace(statement, topic=None)
    return replace(statement, topic=slot.topic) if slot else statement

"""Changes what is known of the user's people, who may be called by their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from palimpsest.extraction.finding import Finding
from palimpsest.extraction.reconciling.known import (
    MOST_ENDED,
    KnownStatements,
    draft_of,
    end_own,
    end_stored,
    next_version,
    order_of,
)
from palimpsest.extraction.relating import READ
from palimpsest.extraction.testimony.speakers import USER
from palimpsest.memory.meaning.ends import End, ends_of, is_ended
from palimpsest.memory.meaning.people import (
    Person,
    in_own_voice,
    may_begin_with_a_person,
    person_first,
    said_of,
    slot_of_person,
)
from palimpsest.memory.meaning.slots import Slot, slot_of
from palimpsest.memory.names import unlabelled
from palimpsest.memory.record import Record
from palimpsest.memory.statements import Statement

Effect = Literal["replaces", "ends"]


@dataclass(frozen=True, slots=True)
class StatementOfPerson:
    """A statement about a person. `slots` are the topics to which it gives a value, read both as
    the user's and as the person's. `ended` has the ends that it states.
    """

    person: Person
    slots: Sequence[Slot]
    ended: Sequence[End]

    def effect_on(self, record: Record) -> Effect | None:
        """Return what the statement does to a known one about the same person."""
        rest = said_of(self.person, unlabelled(record.content, record.subject))
        if rest is None or record.type not in READ:
            return None
        values = {slot.topic: slot.value for slot in slots_of(self.person, rest)}
        of_one_topic = [slot for slot in self.slots if slot.topic in values]
        if of_one_topic:
            is_new = any(values[slot.topic] != slot.value for slot in of_one_topic)
            return "replaces" if is_new else None
        as_own = replace(record, content=in_own_voice(rest), subject=None, topic_key=None)
        return "ends" if is_ended(as_own, self.ended) else None


def slots_of(person: Person, rest: str) -> Sequence[Slot]:
    """Return the topics to which the words after a person give a value."""
    slots = (slot_of(in_own_voice(rest)), slot_of_person(person, rest))
    return [slot for slot in slots if slot is not None]


def said_of_a_person(content: str, known: Sequence[Record]) -> StatementOfPerson | None:
    """Return what a statement says of one of the user's people, whom it or a known record
    introduces. Return None for a statement about anybody or anything else.
    """
    person = person_first(content, (record.content for record in known))
    rest = said_of(person, content) if person else None
    if person is None or rest is None:
        return None
    return StatementOfPerson(person, slots_of(person, rest), ends_of(in_own_voice(rest)))


def is_of_a_person(
    finding: Finding, statement: Statement, rank: int, state: KnownStatements
) -> bool:
    """Replace or end what is known of one of the user's people, and return whether the statement
    does so: "Anna has moved to Linz", after "My sister Anna lives in Graz". A finding that depends
    on others and is about somebody's name has no other use, so it returns True for that too. If it
    changes nothing, it is stored if somebody of that name is known.
    """
    is_dropped = finding.depends and finding.subject not in (None, USER)
    content = unlabelled(statement.content, statement.subject)
    is_of_the_user = statement.type in READ and statement.speaker in (None, USER)
    if not is_of_the_user or not may_begin_with_a_person(content):
        return is_dropped
    order = order_of(statement, rank)
    own = [draft_of(other) for _, other, _ in state.statements]
    stored = [record for record in state.records if record.order < order]
    of_person = said_of_a_person(content, [*own, *stored])
    if of_person is None:
        return is_dropped
    ended_here = [place for place, record in enumerate(own) if of_person.effect_on(record)]
    changed = [(record, effect) for record in stored if (effect := of_person.effect_on(record))]
    is_change = bool(ended_here or changed)
    if not is_change and not is_dropped:
        return False
    for place in ended_here:
        end_own(place, order, state)
    replaced = next((record for record, effect in changed if effect == "replaces"), None)
    for record, _ in changed[:MOST_ENDED]:
        if record is not replaced:
            end_stored(record, order, state)
    if of_person.slots or not finding.depends or not is_change:
        state.statements.append(
            (replace(finding, depends=False), _version(statement, replaced), rank)
        )
    return True


def _version(statement: Statement, replaced: Record | None) -> Statement:
    """Return the statement as the next version of the record that it replaces, if there is one."""
    if replaced is None:
        return statement
    return next_version(replace(statement, type="fact", topic=None), replaced)

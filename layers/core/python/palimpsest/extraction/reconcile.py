"""Decides which known records are ended or corrected by new statements, before these are stored.
Findings of a model and of rules go through the same decisions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cached_property, partial
from itertools import chain

from palimpsest.conversations.message import Message, text_of
from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.finding import Finding
from palimpsest.extraction.of_people import said_of_a_person
from palimpsest.extraction.relating import READ, Related, related
from palimpsest.extraction.testimony.speakers import USER
from palimpsest.extraction.timing import changes_on_a_day
from palimpsest.memory.ended import EndOfTopic
from palimpsest.memory.ended_on import label_of
from palimpsest.memory.meaning.admitted import corrects_in, likeness
from palimpsest.memory.meaning.corrections import Correction, corrected, correction_of
from palimpsest.memory.meaning.ends import End, begins_state, ends_of, is_ended, says_more
from palimpsest.memory.meaning.frames import (
    contrasted,
    contrasts_of,
    differ_in_value,
    may_move,
    move_of,
    moved,
)
from palimpsest.memory.meaning.people import is_of_another
from palimpsest.memory.meaning.reading import is_meant_by, naming
from palimpsest.memory.meaning.slots import MOST_NAMED, says_the_same_of, singular, slot_of
from palimpsest.memory.meaning.transitions import (
    Transition,
    carried_over,
    is_value_of,
    transitions_of,
)
from palimpsest.memory.names import unlabelled
from palimpsest.memory.record import GRAPH, Order, Record, record_id
from palimpsest.memory.statements import Statement, topic_of_edits
from palimpsest.memory.times import ended_on, is_to_come, moment_of
from palimpsest.text.sentences import is_question

MOST_ENDED = 4  # most records that one statement ends
ALLERGY = "allergy_"
MOST_ENDS = 12  # of one step
LASTING = frozenset({"denial", "plain", "left", "job", "home", "partner"})
"""Kinds of ends of things that last until the day of their end. Such a thing has not ended yet if
that day is still to come.
"""
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
    """The known records before the step, which are read when they are first needed, and the
    statements of the step itself.
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
    """Return the statements to store, and the topics that they end."""
    state, put_right = _Known(known), set[tuple[tuple[int, ...], str]]()
    for rank, (finding, finding_statement) in enumerate(zip(findings, statements, strict=True)):
        statement = _in_its_topic(finding_statement)
        # Of a sentence that corrects, an extractor also gives the statement alone, in case that
        # nothing is corrected. If something is, the statement is not stored a second time.
        quoted = (finding.seqs, finding.quote)
        if quoted in put_right:
            continue
        if finding.depends and _corrects(finding, statement, rank, chunk, state):
            put_right.add(quoted)
            continue
        if (
            _is_of_a_person(finding, statement, rank, state)
            or _changes(finding, statement, rank, state)
            or _puts_right(finding, statement, rank, chunk, state)
        ):
            continue
        is_end = _ends(finding, statement, rank, state)
        stored = statement if is_end else _related(finding, statement, rank, state)
        if finding.depends and stored is not None:
            put_right.add(quoted)
        if is_end and _says_nothing_else(statement):
            continue
        if stored is not None:
            state.statements.append((finding, _in_known_words(stored, state), rank))
    return Reconciled(
        tuple(finding for finding, _, _ in state.statements),
        tuple(statement for _, statement, _ in state.statements),
        tuple(state.ends.values())[:MOST_ENDS],
    )


def _says_nothing_else(statement: Statement) -> bool:
    """Return whether the statement of an end gives no topic a value, begins no other state, allows
    nothing ("I can eat nuts again"), names nothing that takes the place of the ended thing, and has
    no other clause that states something.
    """
    content = statement.content
    return statement.topic is None and not (
        begins_state(content) or transitions_of(content) or says_more(content)
    )


def _related(finding: Finding, statement: Statement, rank: int, state: _Known) -> Statement | None:
    """Relate the statement to a known one by the learned weights, and return it. The new statement
    becomes the next version of the known one, takes over the known words, or ends the known one. A
    finding that depends on others is returned only if it replaces a known statement.
    """
    if statement.speaker not in (None, USER):  # what others say moves no topic of the user
        return None if finding.depends else statement
    own = [
        (place, _draft(own_statement))
        for place, (_, own_statement, _) in enumerate(state.statements)
    ]
    order = _order(statement, rank)
    # `related` wants the newest first, and this step's statements are the newest.
    known = [record for _, record in reversed(own)]
    known += [record for record in state.records if record.order < order]
    may_repeat = _may_repeat(finding, statement)
    relation = related(statement, known, may_repeat=may_repeat, states=not finding.depends)
    if relation is None:
        return None if finding.depends else statement
    record = known[relation.place]
    if relation.kind == "repeats":
        return replace(
            statement, content=record.content, topic=record.topic_key, version_of=record.topic_key
        )
    if _is_not_yet(relation, finding, statement, record):
        return None if finding.depends else statement
    return _changing(relation, statement, record, order, state, is_own=relation.place < len(own))


def _is_not_yet(relation: Related, finding: Finding, statement: Statement, record: Record) -> bool:
    """Return whether the statement announces a change on a later day. The record holds until
    then.
    """
    lasts = relation.kind == "ends" or changes_on_a_day(record.topic_key or "")
    return lasts and is_to_come(finding.content, at=_day(statement))


def _may_repeat(finding: Finding, statement: Statement) -> bool:
    is_short = 0 < len(naming(statement.content)) <= MOST_NAMED + 1
    return statement.type == "fact" and not finding.depends and is_short


def _changing(
    relation: Related,
    statement: Statement,
    record: Record,
    order: Order,
    state: _Known,
    *,
    is_own: bool,
) -> Statement:
    """Let the statement end the known one, and return it. A statement without a topic becomes the
    next version of the known one.
    """
    if is_own:
        # `_related` gave these statements in reversed order.
        _end_own(len(state.statements) - 1 - relation.place, order, state)
        return statement
    if relation.kind == "replaces" and statement.topic_key is None:
        return _next_version(statement, record)
    if record.topic_key is None or record.topic_key != statement.topic_key:
        on = _ended_on(statement.content, statement) if relation.kind == "ends" else None
        _end_stored(record, order, state, on=on)
    return statement


def _next_version(statement: Statement, record: Record) -> Statement:
    """Return the statement as the next version of the record."""
    before = record.id if record.topic_key is None else None
    return replace(statement, version_of=topic_of_edits(record), replaces=before)


def _end_stored(record: Record, order: Order, state: _Known, *, on: str | None = None) -> None:
    """End the topic of a stored record, at the named time `on` if it is known."""
    key = topic_of_edits(record)
    state.ends.setdefault(key, EndOfTopic(key, order, record.id, on))


def _end_own(place: int, order: Order, state: _Known) -> None:
    """End the topic of another statement of this step."""
    finding, other, rank = state.statements[place]
    # Only a topic can end, so a statement without one gets a topic of its own.
    key = other.topic_key or f"said_{_draft(other).id}"
    state.statements[place] = (finding, replace(other, version_of=key), rank)
    state.ends[key] = EndOfTopic(key, order)


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


def _is_of_a_person(finding: Finding, statement: Statement, rank: int, state: _Known) -> bool:
    """Return whether a statement about one of the user's people replaces or ends what is known of
    that person, which it then does: "Anna has moved to Linz", after "My sister Anna lives in Graz".
    Nothing else is done with a finding about somebody of a name that depends on others.
    """
    is_dropped = finding.depends and finding.subject not in (None, USER)
    if statement.type not in READ or statement.speaker not in (None, USER):
        return is_dropped
    order = _order(statement, rank)
    own = [_draft(other) for _, other, _ in state.statements]
    stored = [record for record in state.records if record.order < order]
    of_person = said_of_a_person(unlabelled(statement.content, statement.subject), [*own, *stored])
    if of_person is None:
        return is_dropped
    own_effects = [of_person.effect_on(record) for record in own]
    for place in (place for place, effect in enumerate(own_effects) if effect):
        _end_own(place, order, state)
    changed = [(record, effect) for record in stored if (effect := of_person.effect_on(record))]
    replaced = next((record for record, effect in changed if effect == "replaces"), None)
    for record, _ in changed[:MOST_ENDED]:
        if record is not replaced:
            _end_stored(record, order, state)
    if of_person.slots or not finding.depends:
        plain = replace(statement, type="fact", topic=None) if replaced else statement
        version = _next_version(plain, replaced) if replaced else plain
        state.statements.append((replace(finding, depends=False), version, rank))
    return True


def _in_known_words(statement: Statement, state: _Known) -> Statement:
    """Return the statement in the words of a memory that says the same. That memory then gets one
    more source.
    """
    if statement.type != "fact":
        return statement
    if statement.topic is not None and statement.topic.startswith(ALLERGY):
        return _of_known_allergy(statement, state)
    if statement.topic is not None:
        return _of_known_value(statement, state)
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
            and not differ_in_value(other.content, statement.content)
        ),
        None,
    )
    if known is None:
        return statement
    return replace(statement, content=known.content, version_of=known.topic_key)


def _of_known_value(statement: Statement, state: _Known) -> Statement:
    """Return a statement that gives its topic the same value as before, and says no more than the
    known statement does, in the words of that one. Otherwise "I'm 24" would hide the rest of "I'm
    24 and never learned to swim".
    """
    of_topic = (record for record in state.records if record.topic_key == statement.topic_key)
    known = next(of_topic, None)
    if known is None or differ_in_value(known.content, statement.content):
        return statement
    if ends_of(statement.content) or not _has_the_value_of(statement, known):
        return statement
    ours, theirs = naming(statement.content), naming(known.content)
    says_less = len(ours) < len(theirs) and all(is_meant_by(word, theirs) for word in ours)
    return replace(statement, content=known.content) if says_less else statement


def _has_the_value_of(statement: Statement, known: Record) -> bool:
    ours, theirs = slot_of(statement.content), slot_of(known.content)
    if ours is None or theirs is None:
        return ours is theirs
    return ours.topic == theirs.topic and theirs.value[: len(ours.value)] == ours.value


def _of_known_allergy(statement: Statement, state: _Known) -> Statement:
    """Return the statement in the words of a known allergy to the same thing, in the plural or the
    singular.
    """
    named = _singular_topic(statement.topic_key)
    own: Iterator[Statement | Record] = (other for _, other, _ in state.statements)
    for other in chain(own, state.records):
        is_other = other.topic_key != statement.topic_key and other.subject == statement.subject
        if is_other and _singular_topic(other.topic_key) == named:
            return replace(statement, content=other.content, version_of=other.topic_key)
    return statement


def _singular_topic(topic: str | None) -> tuple[str, ...]:
    return tuple(singular(word) for word in re.findall(r"[^\W_]+", topic or ""))


def _order(statement: Statement, rank: int) -> Order:
    source = statement.source
    return (statement.valid_from or 0, source.session or "", max(source.seqs, default=0), rank, "")


def _ends(finding: Finding, statement: Statement, rank: int, state: _Known) -> bool:
    """Return whether the statement says that something ended, and thereby ends a known record."""
    content = unlabelled(finding.content, statement.subject)
    ended = _newly_ended(finding, content) if statement.type in ("fact", "event") else ()
    if not ended:
        return False
    if _is_planned(ended, content, statement):
        return False
    order = _order(statement, rank)
    own, places = _ended_here(ended, statement, state)
    stored = [record for record in state.records if _is_ended(record, ended, statement, order)]
    for place in own:
        _end_own(place, order, state)
    on = _ended_on(content, statement) if stored else None
    for record in stored[: MOST_ENDED - places]:
        _end_stored(record, order, state, on=on)
    return bool(own or stored)


def _newly_ended(finding: Finding, content: str) -> Sequence[End]:
    """Return the ends that a finding states. If it has the sentence before it too, the ends of
    that sentence are left out, because they are a finding of their own.
    """
    ended = ends_of(content)
    if not finding.depends or not ended:
        return ended
    before = ends_of(content.removesuffix(finding.quote).strip())
    return [end for end in ended if end not in before]


def _is_planned(ended: Sequence[End], content: str, statement: Statement) -> bool:
    """Return whether the statement announces a later end of something that lasts until then.
    Something that happens on a later day is different, because it can be cancelled now: "Friday's
    class is off".
    """
    lasts = all(end.kind in LASTING for end in ended)
    return lasts and is_to_come(content, at=_day(statement))


def _ended_on(content: str, statement: Statement) -> str | None:
    """Return the time that the statement names for an end (`Pointer.ended_on`), or None."""
    moment = ended_on(content, at=_day(statement))
    return None if moment is None else label_of(moment)


def _day(statement: Statement) -> date:
    return datetime.fromtimestamp((statement.valid_from or 0) / 1_000, UTC).date()


def _ended_here(ended: Sequence[End], statement: Statement, state: _Known) -> tuple[list[int], int]:
    """Return the places of the step's own statements that end, and their number."""
    places = [
        place
        for place, (_, other, _) in enumerate(state.statements)
        if other.topic_key != (statement.topic_key or "")
        and is_ended(_draft(other), ended, subject=statement.subject)
    ][-MOST_ENDED:]
    return places, len(places)


def _is_ended(record: Record, ended: Sequence[End], statement: Statement, order: Order) -> bool:
    is_other_topic = record.topic_key is None or record.topic_key != statement.topic_key
    is_later = is_other_topic and record.order < order
    return is_later and is_ended(record, ended, subject=statement.subject)


def _draft(statement: Statement) -> Record:
    """Return the statement as a record, for comparison with others."""
    key = statement.topic_key
    return Record(
        # The id is not stored. It only has to distinguish the statements of this step.
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
        content = corrected(other.content, correction)
        if content is not None:
            # The relations name the old value.
            seqs = (*other_finding.seqs, seq)  # the right statement rests on both messages
            better = replace(other_finding, content=content, relations=(), seqs=seqs)
            right = _with_times(other, content, by=statement)
            right = replace(right, source=replace(right.source, seqs=seqs))
            state.statements[place] = (better, right, its_rank)
            return True
    for record in _likely_records(correction, statement, chunk, state):
        content = corrected(record.content, correction)
        is_known = record.order < _order(statement, rank)
        if content and is_known and not is_of_another(finding.content, record.content):
            right = _version(statement, record, content)
            state.statements.append((replace(finding, content=content), right, rank))
            return True
    return False


def _changes(finding: Finding, statement: Statement, rank: int, state: _Known) -> bool:
    """Return whether a full statement gives another one a new value. If so, the other one
    gets it.
    """
    better = _new_contents(statement)
    if not better:
        return False
    for change in better:
        for place in reversed(range(len(state.statements))):
            other_finding, other, its_rank = state.statements[place]
            content = _changed(change, _draft(other), statement)
            if content is not None:
                says = replace(other_finding, content=content, relations=())
                right = _with_times(other, content, by=statement)
                state.statements[place] = (says, right, its_rank)
                return True
        if (record := _meant_record(change, statement, rank, state)) is not None:
            content = _changed(change, record, statement) or record.content
            right = _version(statement, record, content)
            state.statements.append((replace(finding, content=content), right, rank))
            return True
    return False


def _puts_right(
    finding: Finding, statement: Statement, rank: int, chunk: Chunk, state: _Known
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
        (place, _draft(other))
        for place, (its_finding, other, _) in enumerate(state.statements)
        # All statements of one message are true at the same time.
        if seq not in its_finding.seqs
    ]
    wrong_own = _likest(statement, [draft for _, draft in own])
    if wrong_own is not None:
        place = next(place for place, draft in own if draft is wrong_own)
        state.statements[place] = (finding, statement, rank)
        return True
    order = _order(statement, rank)
    wrong = _likest(statement, [record for record in state.records if record.order < order])
    if wrong is None:
        return False
    if statement.topic_key is not None and statement.topic_key != wrong.topic_key:
        # A version has the topic of the version before, so this statement is stored as usual.
        _end_stored(wrong, order, state)
        return False
    state.statements.append((finding, _next_version(statement, wrong), rank))
    return True


def _likest(statement: Statement, known: Sequence[Record]) -> Record | None:
    """Return the known statement that is likest to a correction; None if none is like it."""
    content = unlabelled(statement.content, statement.subject)
    alike = [
        (likeness(content, unlabelled(record.content, record.subject)), record.order, record)
        for record in known
        if record.type in READ
        and (record.subject or USER) == (statement.subject or USER)
        and not is_of_another(content, record.content)
    ]
    best = max(alike, key=lambda entry: entry[:2], default=None)
    return best[2] if best is not None and best[0] > 0 else None


Change = Callable[[Record], str | None]
"""Replaces a value in the content of a record by the new value of a statement. Returns None if the
record is about something else.
"""


def _new_contents(statement: Statement) -> Sequence[Change]:
    """Return the ways in which a statement may change another one."""
    if statement.type not in ("fact", "event"):
        return ()
    text = unlabelled(statement.content, statement.subject)
    ways: list[Change] = [
        partial(_with_value, change=partial(contrasted, by=contrast))
        for contrast in contrasts_of(text)
    ]
    who = statement.subject or USER
    ways += [partial(_with_new_thing, by=by, who=who) for by in transitions_of(text)]
    move = move_of(text) if may_move(text) else None
    if move is not None:
        ways.append(partial(_with_value, change=partial(moved, by=move)))
    return ways


def _with_value(record: Record, *, change: Callable[[str], str | None]) -> str | None:
    content = unlabelled(record.content, record.subject)
    changed = change(content)
    return None if changed is None else record.content.removesuffix(content) + changed


def _with_new_thing(record: Record, *, by: Transition, who: str) -> str | None:
    """Return the record's content after a transition in the life of a person. If one person takes
    the place of another, it must be the user's: "my boss".
    """
    is_about_them = (record.subject or USER) == who
    is_held = who == USER and not by.is_own and is_value_of(record.content, by)
    return (
        _with_value(record, change=partial(carried_over, by=by))
        if is_about_them or is_held
        else None
    )


def _changed(change: Change, other: Record, statement: Statement) -> str | None:
    if other.type == "instruction" or is_preference(other.topic_key):
        return None
    if other.topic_key is not None and other.topic_key == statement.topic_key:
        return None
    return None if is_of_another(statement.content, other.content) else change(other)


def is_preference(topic: str | None) -> bool:
    return topic is not None and topic.startswith("preference")


def _meant_record(change: Change, statement: Statement, rank: int, state: _Known) -> Record | None:
    """Return the stored record that a change is about. If several name the same things, it is the
    newest one. Return None if they name different things.
    """
    order = _order(statement, rank)
    meant = [
        record
        for record in state.records
        if record.order < order and _changed(change, record, statement) is not None
    ]
    named = {naming(record.content) for record in meant}
    return max(meant, key=lambda record: record.order) if len(named) == 1 else None


def _with_times(wrong: Statement, content: str, *, by: Statement) -> Statement:
    """Return the statement with the right content, and with the times that this names."""
    occurs_at, due_at = _times(wrong, content, by)
    return replace(wrong, content=content, occurs_at=occurs_at, due_at=due_at)


def _times(wrong: Statement | Record, content: str, by: Statement) -> tuple[str | None, str | None]:
    """Return when the corrected content happens or is due. Without a new day, the old day stays."""
    moment = moment_of(content, at=_day(by)) if by.valid_from is not None else None
    has_moved = moment is not None and moment != moment_of(wrong.content, at=_day(by))
    is_new = has_moved or by.occurs_at or by.due_at
    new = (moment.first.isoformat() if is_new and moment else None) or by.occurs_at or by.due_at
    if wrong.due_at is not None:
        return None, new or wrong.due_at
    return new or wrong.occurs_at, None


def _likely_places(correction: Correction, seq: int, chunk: Chunk, state: _Known) -> list[int]:
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
    correction: Correction, statement: Statement, chunk: Chunk, state: _Known
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


def _version(statement: Statement, record: Record, content: str) -> Statement:
    """Return the statement as the next version of the record, with the corrected content."""
    occurs_at, due_at = _times(record, content, statement)
    return replace(
        _next_version(statement, record),
        type=record.type,
        content=content,
        due_at=due_at,
        occurs_at=occurs_at,
        subject=record.subject,
        importance=record.importance,
        keywords=record.keywords,
        topic=record.topic_key,
    )

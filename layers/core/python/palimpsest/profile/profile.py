"""Makes a profile from a user's current records. It is a pure function that needs no model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby

from palimpsest.memory.as_line import NO_LONGER_SURE, unlabelled, with_one_date
from palimpsest.memory.expiry import is_expired
from palimpsest.memory.filters import folded
from palimpsest.memory.record import Record
from palimpsest.profile.kinds import (
    ORDER,
    SECTIONS,
    SectionKind,
    kind_of_topic,
    names_in,
    own_names,
    section_of,
)
from palimpsest.profile.tasks import day_of, end_of_what_lasts, is_open
from palimpsest.text.cutting import harmless

MOST_TOKENS = 400
MOST_CHARACTERS = 160  # of a statement; a longer statement is cut after a word
MOST_SHOWN, MOST_CONSIDERED = 60, 100
"""The most lines of a profile, and the most records that are searched for secrets to get this
number of lines.
"""
MOST_CHECKED = 2_000  # statements of which a process remembers whether they hold a secret
HEAD = 'What is known of the user ("I" is the user, or the one named first):'
NEVER = 2**62  # epoch milliseconds

Count = Callable[[str], int]
"""Counts the tokens of a text."""

Place = tuple[int | float | str, ...]
"""The sort key of a record in its section."""


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """A statement with the id of its memory. `subject` is the person that it is about (None: the
    user). `due_at` is the end of a task's day, or of the last day of something that lasts, in epoch
    milliseconds. `rests_on_changed` is true if the statement rests on one that has changed.
    """

    memory_id: str
    text: str
    topic_key: str | None = None
    subject: str | None = None
    due_at: int | None = None
    rests_on_changed: bool = False

    @property
    def statement(self) -> str:
        """Return the statement, after the name of the person whom it is about."""
        text = f"{self.text} ({NO_LONGER_SURE})" if self.rests_on_changed else self.text
        return f"{harmless(self.subject)}: {text}" if self.subject else text

    def shown(self, *, shows_id: bool) -> str:
        return f"- {self.statement}" + (f" [{self.memory_id}]" if shows_id else "")


@dataclass(frozen=True, slots=True)
class ProfileSection:
    kind: SectionKind
    lines: tuple[ProfileLine, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """A page about a user. `text` has all lines and `tokens` tokens, and is empty if nothing is
    known. `is_complete` is false if the tokens were too few for all lines.
    """

    sections: tuple[ProfileSection, ...] = ()
    text: str = ""
    tokens: int = 0
    is_complete: bool = True


def profile_of(
    records: Iterable[Record],
    *,
    user: str,
    now: int,
    count: Count,
    names: Iterable[str] = (),
    changed: Collection[str] = (),
    most: int = MOST_TOKENS,
    shows_ids: bool = True,
) -> Profile:
    """Return the profile of a user at `now` (epoch milliseconds), made from the user's current
    records. Order and repetition of the records make no difference. The caller leaves out records
    that are not current.

    `names` are names of the user in addition to the names in the records. A fact about anybody else
    is shown under `people`, in one line for each person. These are left out: records that have
    expired, tasks and other things to do whose day is over, texts with a secret, and events.
    `changed` has the ids of records that rest on one that has changed. They come last in their
    section, with a note.

    Lines are taken in rounds. In each round every section gives as many lines as its share, in the
    order of the sections. The first line that does not fit `most` tokens ends the profile. A new
    line therefore displaces only the last lines of this order.
    """
    ranked = selected(records, user=user, now=now, names=names, changed=changed)
    fitting = _fitting(ranked, changed, count=count, most=most, shows_ids=shows_ids)
    while True:
        sections = _sections(fitting)
        text = text_of(sections, shows_ids=shows_ids)
        tokens = count(text) if text else 0
        if tokens <= most:
            return Profile(sections, text, tokens, is_complete=len(fitting) == len(ranked))
        fitting = fitting[:-1]


def selected(
    records: Iterable[Record],
    *,
    user: str,
    now: int,
    names: Iterable[str] = (),
    changed: Collection[str] = (),
) -> list[tuple[SectionKind, Record]]:
    """Return the records that a profile may show, each with its section, in the order in which they
    are kept. The arguments are those of `profile_of`.
    """
    known = {record.id: record for record in records}
    own = own_names(user, (*names, *names_in(known.values())))
    placed = [
        (kind, record)
        for record in known.values()
        if (kind := section_of(record, own)) is not None and _holds(record, kind, now=now)
    ]
    return _without_secrets(_in_rounds(_one_a_person(placed, changed)))


def text_of(sections: Sequence[ProfileSection], *, shows_ids: bool = True) -> str:
    """Return the sections as text, with a line for each statement. If there are no sections, the
    text is empty.
    """
    shown = [HEAD] if sections else []
    for section in sections:
        shown.append(f"{SECTIONS[section.kind].title}:")
        shown += (line.shown(shows_id=shows_ids) for line in section.lines)
    return "\n".join(shown) + "\n" if shown else ""


def _holds(record: Record, kind: SectionKind, *, now: int) -> bool:
    if is_expired(record, now=now // 1000):
        return False
    if kind == "tasks" or record.due_at is not None:
        return is_open(record, now=now)
    end = end_of_what_lasts(record)
    return end is None or now < end


def _place(record: Record, kind: SectionKind) -> Place:
    """Return the sort key of a record. Known topics come in the order of their file, people by
    name, and tasks by day. After that, the more important record comes first. Among equally
    important ones, records with a topic come first, by its key, then records without a topic by the
    time at which they were said.
    """
    topic = record.topic_key or ""
    order = (0, 0) if topic else (record.valid_from, record.rank)
    rank: int = kind_of_topic(topic)[1] if kind == "who" else 0
    if kind == "tasks":
        rank = day_of(record) or NEVER
    return (rank, -record.importance, not topic, topic, *order, record.id)


def _one_a_person(
    placed: Iterable[tuple[SectionKind, Record]], changed: Collection[str]
) -> list[tuple[SectionKind, Record]]:
    """Return the records with only the first record of each person."""

    def place(placing: tuple[SectionKind, Record]) -> Place:
        kind, record = placing
        return ORDER[kind], record.id in changed, *_place(record, kind)

    in_order = sorted(placed, key=place)
    firsts: list[tuple[SectionKind, Record]] = []
    seen: set[str | None] = set()
    for kind, record in in_order:
        person = folded(record.subject)
        if kind == "people" and person in seen:
            continue
        if kind == "people":
            seen.add(person)
        firsts.append((kind, record))
    return firsts


def _in_rounds(placed: Sequence[tuple[SectionKind, Record]]) -> list[tuple[SectionKind, Record]]:
    """Return the records in the order of the rounds. If tokens are too few, the last records are
    left out.
    """
    ranked = []
    for kind, records in groupby(placed, key=lambda placing: placing[0]):
        share = SECTIONS[kind].share
        ranked += [
            ((number // share, ORDER[kind], number), record)
            for number, record in enumerate(records)
        ]
    return [placing for _, placing in sorted(ranked, key=lambda pair: pair[0])]


def _without_secrets(
    ranked: Sequence[tuple[SectionKind, Record]],
) -> list[tuple[SectionKind, Record]]:
    """Return the records whose texts have no secret. Only the first records are checked, because no
    others are shown.
    """
    read, rest = ranked[:MOST_CONSIDERED], ranked[MOST_CONSIDERED:]
    return [pair for pair in read if not _holds_secret(pair[1].content)] + [*rest]


@lru_cache(MOST_CHECKED)
def _holds_secret(content: str) -> bool:
    from palimpsest.privacy.secrets import holds_secret  # its patterns take long

    return holds_secret(content)


def _fitting(
    ranked: Sequence[tuple[SectionKind, Record]],
    changed: Collection[str],
    *,
    count: Count,
    most: int,
    shows_ids: bool,
) -> list[tuple[SectionKind, ProfileLine]]:
    """Return the first lines whose tokens, counted line by line, are at most `most`."""
    left, begun = most - count(HEAD + "\n"), set[SectionKind]()
    kept: list[tuple[SectionKind, ProfileLine]] = []
    for kind, record in ranked[:MOST_SHOWN]:
        line = replace(line_of_record(record, kind), rests_on_changed=record.id in changed)
        title = "" if kind in begun else f"{SECTIONS[kind].title}:\n"
        left -= count(title + line.shown(shows_id=shows_ids) + "\n")
        if left < 0:
            break
        begun.add(kind)
        kept.append((kind, line))
    return kept


def _sections(lines: Iterable[tuple[SectionKind, ProfileLine]]) -> tuple[ProfileSection, ...]:
    """Return the lines by section. Within a section they are in the order in which they were
    taken.
    """
    by_section = groupby(
        sorted(lines, key=lambda kind_and_line: ORDER[kind_and_line[0]]),
        key=lambda kind_and_line: kind_and_line[0],
    )
    return tuple(_section(kind, group) for kind, group in by_section)


def _section(kind: SectionKind, group: Iterable[tuple[SectionKind, ProfileLine]]) -> ProfileSection:
    return ProfileSection(kind, tuple(line for _, line in group))


def line_of_record(record: Record, kind: SectionKind) -> ProfileLine:
    """Return the line that shows the record in this section."""
    line = ProfileLine(record.id, _short(_said(record)), record.topic_key)
    if kind == "people":
        line = replace(line, subject=record.subject)
    if kind == "tasks":
        return _due(line, record)
    return replace(line, due_at=end_of_what_lasts(record))


def _due(line: ProfileLine, task: Record) -> ProfileLine:
    """Return the line of a task with its day."""
    if task.due_at is None:
        return replace(line, due_at=day_of(task))
    day = f"due on {task.due_at[:10]}"
    text = f"{with_one_date(line.text, when=day)} ({day})"
    return replace(line, text=text, due_at=day_of(task))


def _said(record: Record) -> str:
    """Return the statement with its speaker's name, unless the speaker is the user or the person
    whom it is about.
    """
    speaker = record.speaker
    statement = unlabelled(record.content, speaker)
    if speaker is None or folded(speaker) == folded(record.subject):
        return statement
    return f"{speaker} says: {statement}"


def is_cut(record: Record) -> bool:
    """Return whether a line shows only the beginning of the statement."""
    return len(harmless(_said(record))) > MOST_CHARACTERS


def _short(content: str) -> str:
    """Return the statement in one line of at most `MOST_CHARACTERS` characters."""
    text = harmless(content)
    if len(text) <= MOST_CHARACTERS:
        return text
    head = text[: MOST_CHARACTERS - 1]
    return (head.rpartition(" ")[0] or head) + "…"

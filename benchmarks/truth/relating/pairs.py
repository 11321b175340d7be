"""Pairs of a new statement and a known one, each with its label: the statements of our cases, labelled
by their checks, and the pairs that were written for training (`pairs/*.txt`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from itertools import islice
from pathlib import Path
from typing import Literal

from palimpsest.conversations.message import Message
from palimpsest.extraction.chunk import Chunk
from palimpsest.memory.meaning.reading import fields_of, is_meant_by, naming
from palimpsest.memory.meaning.signs import Said
from palimpsest.offline.extractor import PatternExtractor
from palimpsest.text.sentences import sentences_at_the_ends

from benchmarks.truth.form import Case

Label = Literal["leave", "replace", "end", "repeat"]
WRITTEN = Path(__file__).parent / "pairs"
WRITERS = ("first", "second", "third", "fourth", "fifth")
LABELS: dict[str, Label] = {">": "replace", "x": "end", "~": "repeat", "-": "leave"}
KINDS = frozenset(
    f"{kind}{suffix}"
    for kind in ("alone", "correction", "end", "once", "topic", "when")
    for suffix in ("", " now")
)
LONGEST = 16_000
MOST_UNRELATED = 3  # known statements beside each change that leaves them
STEP = 37  # between the places at which they are looked for, so that all are used


@dataclass(frozen=True, slots=True)
class Pair:
    """A new statement and a known one, and what the new one does to the known one (`label`). `of`
    names the set of the case, `source` the case or the group of written pairs.
    """

    of: str
    source: str
    new: Said
    known: Said
    label: Label


def written(writer: str) -> Iterator[Pair]:
    """Yield the pairs of one writer. A line that begins with `=` is a known statement. Each line
    below it is a new statement, and begins with a mark that says what it does to the known one.
    """
    for path in sorted((WRITTEN / writer).glob("*.txt")):
        known = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            mark, text = line[0], line[2:]
            if mark == "=":
                known = text
            else:
                name = f"{path.stem}: {known}"
                yield Pair(f"by {writer}", name, _first_of(text), _first_of(known), LABELS[mark])


def unrelated(pairs: Sequence[Pair]) -> Iterator[Pair]:
    """Yield each new statement that changes something, beside known statements about other
    subjects, which it leaves unchanged.
    """
    known = list(dict.fromkeys(pair.known for pair in pairs))
    changing = {pair.new: pair for pair in pairs if pair.label in ("replace", "end")}
    for number, pair in enumerate(changing.values()):
        own = fields_of(f"{pair.new.text} {pair.known.text}")
        named = naming(pair.new.text)
        start = number * STEP
        others = (known[(start + step) % len(known)] for step in range(len(known)))
        far = (
            other
            for other in others
            if own.isdisjoint(fields_of(other.text))
            and not any(is_meant_by(word, named) for word in naming(other.text))
        )
        for other in islice(far, MOST_UNRELATED):
            yield replace(pair, known=other, label="leave")


def _first_of(text: str) -> Said:
    return stated(text, datetime(2026, 3, 2, 9, tzinfo=UTC))[0]


def of_cases(name: str, cases: Iterable[Case]) -> Iterator[Pair]:
    """Yield the pairs of a set's cases that the checks label."""
    for case in cases:
        if case.kind in KINDS:
            yield from _of_case(name, case)


def _of_case(name: str, case: Case) -> Iterator[Pair]:
    statements = [
        stated(message.content, datetime.combine(session.day, time(9), UTC))
        for session in case.sessions
        for message in session.messages
        if message.role == "user" and message.content
    ]
    checks = _Checks.of(case)
    for place, now in enumerate(statements):
        for new in now:
            for known in (statement for before in statements[:place] for statement in before):
                label = checks.label(
                    new, known, is_last=place == len(statements) - 1, alone=len(now) == 1
                )
                if label is not None:
                    yield Pair(name, case.id, new, known, label)


@dataclass(frozen=True, slots=True)
class _Checks:
    bad: tuple[str, ...]
    good: tuple[str, ...]
    once: tuple[str, ...]

    @classmethod
    def of(cls, case: Case) -> _Checks:
        return cls(
            tuple(word.casefold() for check in case.checks for word in check.not_believed),
            tuple(word.casefold() for check in case.checks for word in check.known),
            tuple(check.once.casefold() for check in case.checks if check.once),
        )

    def label(self, new: Said, known: Said, *, is_last: bool, alone: bool) -> Label | None:
        """Return what the new statement does to the known one; None where the checks don't tell."""
        mine, theirs = new.text.casefold(), known.text.casefold()
        if any(word in mine and word in theirs for word in self.once):
            return "repeat"
        if not any(word in theirs for word in self.bad):
            is_clear = is_last or not (self.bad or self.once)
            return "leave" if is_clear else None
        if not is_last or any(word in mine for word in self.bad):
            return None
        if any(word in mine and word not in theirs for word in self.good):
            return "replace"
        return "end" if alone and not self.good else None


def stated(text: str, at: datetime) -> Sequence[Said]:
    """Return the statements of a message; the whole message if it states nothing by itself."""
    message = Message(
        seq=1, id="1", turn=1, tokens=1, encoding="", created_at=at.isoformat(),
        chat={"role": "user", "content": text},
    )  # fmt: skip
    findings = PatternExtractor().extract(Chunk(1, 1, (message,)), prompt=None).findings
    stated = [
        Said(finding.content, finding.type, finding.topic, finding.subject)
        for finding in findings
        if not finding.depends
    ]
    return stated or [Said(end) for end in sentences_at_the_ends(text, most=LONGEST)]

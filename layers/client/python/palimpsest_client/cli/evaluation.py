"""`palimpsest eval`: measures recall on the caller's own questions, whose answers are known."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress

from palimpsest_client.blocking import Palimpsest
from palimpsest_client.cli import shown
from palimpsest_client.cli.options import AsJson

DEPTHS = (1, 5, 10)
SHOWN = 3
"""How many found memories a report shows for a question that failed."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a user's memory. `expected` has texts that a found memory contains, without
    regard to case, or ids of memories. It is empty if no memory answers the question.
    """

    user: str
    question: str
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The memories that a question found. For each expected memory, it has the place (from 1) at
    which it was found first, or None if it was not found.
    """

    question: Question
    memories: Sequence[Mapping[str, Any]]

    @property
    def places(self) -> list[int | None]:
        return [self._place(text) for text in self.question.expected]

    @property
    def is_right(self) -> bool:
        if not self.question.expected:
            return not self.memories
        return all(place is not None for place in self.places)

    def share(self, depth: int) -> float:
        """Return the share of the expected memories that are among the first `depth`."""
        there = [place is not None and place <= depth for place in self.places]
        return sum(there) / len(there)

    @property
    def reciprocal(self) -> float:
        return max((1 / place for place in self.places if place is not None), default=0.0)

    def _place(self, wanted: str) -> int | None:
        for place, memory in enumerate(self.memories, 1):
            if memory["id"] == wanted or wanted.casefold() in memory["content"].casefold():
                return place
        return None


def eval_(
    file: Annotated[
        Path,
        typer.Argument(
            exists=True, dir_okay=False, help="JSON Lines, with one question in each line."
        ),
    ],
    user: Annotated[
        str | None,
        typer.Option(
            "--user", "-u", envvar="PALIMPSEST_USER", help="The user for lines that name no user."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Write the report to this file, as Markdown.")
    ] = None,
    json_: AsJson = False,
) -> None:
    """Measure recall on your own questions: recall@k, MRR, and how often nothing is returned if
    there is no answer. No model judges. Found memories are compared with the expected ones.
    """
    asked_questions = list(questions(file, user))
    memory = Palimpsest()
    with Progress(console=shown.errors, disable=json_) as progress:
        outcomes = [
            Outcome(
                question,
                memory.user(question.user).recall(question.question, k=max(DEPTHS))["memories"],
            )
            for question in progress.track(asked_questions, description="Asking")
        ]
    measured = figures(outcomes)
    failed = [_shown(outcome) for outcome in outcomes if not outcome.is_right]
    if output is not None:
        output.write_text(report(measured, failed), encoding="utf-8")
    if json_:
        shown.as_json({**measured, "failed": failed})
        return
    shown.facts(measured, json_wanted=False)
    columns = {"user": "user", "question": "question", "expected": "expected", "found": "found"}
    if failed:
        shown.rows(failed, columns, json_wanted=False)


def questions(file: Path, user: str | None) -> Iterator[Question]:
    """Yield the questions of a file. Raises `ValueError`, which names the line."""
    for number, line in enumerate(file.read_text(encoding="utf-8-sig").split("\n"), 1):
        if line.strip():
            yield _question(line, user, f"{file}, line {number}")


def _question(line: str, user: str | None, place: str) -> Question:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ValueError(f"{place} is not JSON: {error}") from error
    text = row.get("question") if isinstance(row, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{place} has no question.")
    who = row.get("user") or user
    if not isinstance(who, str):
        raise ValueError(f"{place} names no user. Name one under `user`, or with --user.")  # noqa: TRY004 - the file is wrong
    expectation = row.get("expected")
    expected = [expectation] if isinstance(expectation, str) else expectation
    if not isinstance(expected, list) or not all(isinstance(e, str) and e for e in expected):
        raise ValueError(f"{place}: `expected` is a text or a list of texts; [] for no answer.")
    return Question(who, text, tuple(expected))


def figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the measures. Those that no question allows are None."""
    answerable = [outcome for outcome in outcomes if outcome.question.expected]
    others = [outcome for outcome in outcomes if not outcome.question.expected]
    measures = {f"recall@{depth}": _recall_at(depth, answerable) for depth in DEPTHS}
    return {
        "questions": len(outcomes),
        **measures,
        "MRR": _mean([outcome.reciprocal for outcome in answerable]),
        "without an answer": len(others),
        "silence": _mean([float(other.is_right) for other in others]),
        "found nothing": sum(not outcome.memories for outcome in answerable),
    }


def _recall_at(depth: int, outcomes: Sequence[Outcome]) -> float | None:
    return _mean([outcome.share(depth) for outcome in outcomes])


def report(measured: Mapping[str, Any], failed: Sequence[Mapping[str, Any]]) -> str:
    """Return the report as Markdown."""
    rows = [f"| {name} | {_text(value)} |" for name, value in measured.items()]
    parts = ["# Recall on your questions", "", "| measure | value |", "|---|--:|", *rows, ""]
    for outcome in failed:
        expected = "; ".join(outcome["expected"]) or "nothing"
        parts += [
            f"## {outcome['question']}",
            "",
            f"User {outcome['user']}. Expected: {expected}.",
            "",
        ]
        parts += [*(f"{n}. {text}" for n, text in enumerate(outcome["found"], 1)), ""]
    return "\n".join(parts)


def _shown(outcome: Outcome) -> dict[str, Any]:
    return {
        "user": outcome.question.user,
        "question": outcome.question.question,
        "expected": list(outcome.question.expected),
        "found": [memory["content"] for memory in outcome.memories[:SHOWN]],
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None


def _text(value: Any) -> str:
    return "-" if value is None else str(value)

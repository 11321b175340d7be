"""Reads a labelled set for the memory benchmark, ours or another in the same form, and refuses a
faulty one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from benchmarks.retrieval.labelled.faults import faults
from benchmarks.retrieval.labelled.form import (
    Conversation,
    Dataset,
    Evidence,
    Message,
    NewStatement,
    OldStatement,
    Question,
    Session,
    Strict,
    Supersession,
)

__all__ = [
    "ASSISTANTS",
    "FRIENDS",
    "HELPERS",
    "LONG_TALKS",
    "MESSAGES",
    "OURS",
    "OUR_SETS",
    "Conversation",
    "Dataset",
    "Evidence",
    "Message",
    "NewStatement",
    "OldStatement",
    "Question",
    "Session",
    "Supersession",
    "UnusableDataset",
    "load",
]

OURS = Path(__file__).parent / "palimpsest-memory-1"
FRIENDS = Path(__file__).parent / "palimpsest-friends-1"
"""A set of another kind, in which pairs of friends write to each other. It shows what holds for
`OURS` alone.
"""
ASSISTANTS = Path(__file__).parent / "palimpsest-assistants-1"
"""Long talks of people with an assistant, in which they state facts inside requests."""
LONG_TALKS = (OURS, FRIENDS, ASSISTANTS)
"""The sets in which wrong changes are counted, and pairs of related statements found."""
MESSAGES = Path(__file__).parent / "palimpsest-messages-1"
"""Short messages between two people, one of six pairs in German."""
HELPERS = Path(__file__).parent / "palimpsest-helpers-1"
"""Long requests to an assistant."""
OUR_SETS = (*LONG_TALKS, MESSAGES, HELPERS)
"""The sets that recall is trained on. The last two are by authors who did not know the code."""
MAX_FAULTS_SHOWN = 20


class UnusableDataset(ValueError):
    """The set can't be scored. The message names each fault and its place."""


@dataclass(frozen=True, slots=True)
class _File(Strict):
    set: str
    conversations: tuple[Conversation, ...] = ()
    questions: tuple[Question, ...] = ()
    supersessions: tuple[Supersession, ...] = ()


def load(path: Path | str = OURS) -> Dataset:
    """Read a set from a JSON file, or from a folder whose JSON files make one set. Raises
    `UnusableDataset`.
    """
    path = Path(path)
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files or not files[0].is_file():
        raise UnusableDataset(f"{path}: neither a JSON file nor a folder with JSON files in it")
    parts = [_read(file) for file in files]
    names = {part.set for part in parts}
    if len(names) > 1:
        raise UnusableDataset(
            f"{path}: the files belong to several sets: {', '.join(sorted(names))}"
        )
    dataset = Dataset(
        name=parts[0].set,
        conversations=tuple(conversation for part in parts for conversation in part.conversations),
        questions=tuple(question for part in parts for question in part.questions),
        supersessions=tuple(supersession for part in parts for supersession in part.supersessions),
    )
    _refuse(faults(dataset))
    return dataset


def _read(file: Path) -> _File:
    try:
        return TypeAdapter(_File).validate_json(file.read_bytes())
    except ValidationError as error:
        places = ((".".join(map(str, fault["loc"])), fault["msg"]) for fault in error.errors())
        _refuse(": ".join(filter(None, (file.name, place, reason))) for place, reason in places)
        raise


def _refuse(faults: Iterable[str]) -> None:
    every = list(faults)
    if every:
        more = (
            [f"… and {len(every) - MAX_FAULTS_SHOWN} more"] if len(every) > MAX_FAULTS_SHOWN else []
        )
        raise UnusableDataset("\n".join(every[:MAX_FAULTS_SHOWN] + more))

"""Another labelled set, given by its path, is stored, asked and scored as ours is."""

import json
from pathlib import Path
from typing import Any

from palimpsest_local.embedded.index import EmbeddedIndex

from benchmarks.__main__ import arguments
from benchmarks.retrieval.labelled.dataset import load
from benchmarks.retrieval.place import Place
from benchmarks.retrieval.scores import scored


def session(name: str, day: int, text: str) -> dict[str, Any]:
    said = {
        "id": f"{name}-1",
        "role": "user",
        "content": text,
        "timestamp": f"2026-01-{day:02}T09:00:00+00:00",
    }
    return {"id": name, "user": "ann", "messages": [said]}


def test_a_set_given_by_its_path_is_stored_and_scored(tmp_path: Path) -> None:
    old, new = "My office is on the second floor.", "My office is on the fifth floor now."
    given = {
        "set": "theirs",
        "conversations": [
            {
                "id": "c",
                "domain": "an office",
                "sessions": [
                    session("s", 5, old),
                    session("t", 9, new),
                    session("w", 9, "The floor is clean."),
                ],
            }
        ],
        "questions": [
            {
                "id": "q",
                "user": "ann",
                "kind": "single-hop",
                "question": "Which office floor?",
                "answer": "the fifth",
                "evidence": [{"message": "t-1", "quote": "fifth floor"}],
            },
            {"id": "r", "user": "ann", "kind": "no-answer", "question": "Who plays tennis?"},
        ],
        "supersessions": [
            {
                "id": "u",
                "user": "ann",
                "kind": "changed",
                "topic": "office",
                "told_in": "messages",
                "question": "Is my office on the second floor?",
                "old": [{"message": "s-1", "text": old, "quote": old, "wrong": "second"}],
                "new": {"message": "t-1", "text": new, "quote": new, "keyword": "fifth"},
            }
        ],
    }
    file = tmp_path / "theirs.json"
    file.write_text(json.dumps(given))
    dataset = load(arguments(["retrieval", "--set", str(file)]).set)
    place = Place(
        dataset, index=EmbeddedIndex(tmp_path / "index.sqlite", space=None), embedder=None
    )
    place.store(settle=lambda: None)
    found = scored(dataset, place.recall)
    assert (found.recall[10], found.mrr, found.new_first_told, found.silent, found.lost) == (
        1,
        1,
        1,
        1,
        0,
    )

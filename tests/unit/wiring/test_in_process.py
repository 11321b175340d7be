"""A service within one process: its work is done in time, and what fails is tried again."""

from __future__ import annotations

import gc
import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from palimpsest import AgentMemory
from palimpsest.errors import ModelUnavailable
from palimpsest.models.ports import Completion, Schema
from palimpsest.models.usage import Usage

from tests.doubles.meanings import Meanings
from tests.unit.talk import memory_after_talk

MARKETING = {
    "type": "fact",
    "content": "Sarah works in the Marketing team.",
    "messages": [1],
    "quote": "I work in Marketing",
    "topic": "team",
    "subject": "Sarah",
    "keywords": ["Marketing"],
    "queries": [],
    "importance": 0.8,
    "confidence": 1.0,
}


@dataclass
class Writes:
    """A model that writes what it is told to; fails as long as `failure` is set."""

    text: str = "Sarah from Marketing asks about remote work."
    failure: Exception | None = None
    asked: list[str] = field(default_factory=list)

    def complete(
        self, *, instructions: str, text: str, max_tokens: int, model: str | None = None
    ) -> Completion:
        self.asked.append(text)
        if self.failure is not None:
            raise self.failure
        return Completion(self.text, "writer", Usage(model_calls=1))

    def complete_json(
        self,
        *,
        instructions: str,
        text: str,
        schema: Schema,
        max_tokens: int,
        model: str | None = None,
    ) -> Completion:
        self.asked.append(text)
        if self.failure is not None:
            raise self.failure
        return Completion(json.dumps({"memories": [MARKETING]}), "writer", Usage(model_calls=1))

    def capacity(self, model: str | None = None) -> int:
        return 8_000


SUMMARIZE = {"max_tokens": 220, "keep_recent_turns": 2, "extract": "manual"}


def test_a_model_writes_the_summary() -> None:
    memory = memory_after_talk(memory=SUMMARIZE, chat=Writes())
    *_, newest = memory.compactions("monday")
    assert (newest["method"], newest["summary"]) == ("model", Writes.text)
    assert Writes.text in memory.context("monday")["messages"][1]["content"]


def test_a_model_says_what_is_remembered() -> None:
    memory = memory_after_talk(chat=Writes())
    memory.append("friday", "Hello!")
    memory.end("monday")
    (shown,) = memory.context("friday")["extracted_facts"]
    assert (shown["content"], shown["source"]["quote"]) == (
        "Sarah works in the Marketing team.",
        "I work in Marketing",
    )


def test_work_that_a_model_failed_at_is_done_by_a_later_call() -> None:
    model = Writes(failure=ModelUnavailable("down"))
    memory = memory_after_talk(memory=SUMMARIZE, chat=model)
    context = memory.context("monday")
    assert (context["tokens"]["summary"], context["compaction"]) == (0, "pending")
    assert context["tokens"]["context"] <= 220
    model.failure = None
    memory.append("monday", "Are you back?")
    assert memory.context("monday")["compaction"] == "none"


def test_work_that_failed_four_times_has_failed() -> None:
    model = Writes(failure=ModelUnavailable("down"))
    memory = memory_after_talk(memory=SUMMARIZE, chat=model)
    for _ in range(4):
        memory.remember("Sarah waits.")
    assert memory.context("monday")["compaction"] == "failed"
    asked = len(model.asked)
    memory.remember("Sarah waits on.")
    assert len(model.asked) == asked == 4


def test_what_could_not_be_embedded_is_found_by_its_meaning_later() -> None:
    embedder = Meanings()
    memory = AgentMemory(embedder=embedder)
    embedder.failure = ModelUnavailable("down")
    memory.append("monday", "My automobile is parked at the harbour.")
    embedder.failure = None
    memory.append("friday", "Hello!")
    assert [
        match["content"] for match in memory.context("friday", "Which car?")["vector_matches"]
    ] == ["My automobile is parked at the harbour."]


def test_the_index_goes_with_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    memory = AgentMemory()
    memory.append("s", "Hello!")
    assert len(list(tmp_path.glob("palimpsest-*/index.sqlite"))) == 1
    del memory
    gc.collect()  # the memory, and then what its client held
    gc.collect()
    assert list(tmp_path.iterdir()) == []

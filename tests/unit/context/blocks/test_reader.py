"""The blocks of a context: read at the same time, and none of them in the way."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from palimpsest.context.blocks import reader
from palimpsest.context.blocks.extractive import ExtractiveMemory
from palimpsest.context.blocks.reader import BlockReader
from palimpsest.context.blocks.static import StaticMemory
from palimpsest.context.blocks.vectors import VectorMemory
from palimpsest.errors import ModelUnavailable, Unavailable
from palimpsest.tenants.ports import StaticFact

from tests.unit.context.blocks.remembered import ACME, Remembered, conversation
from tests.unit.context.blocks.test_vector import Resembles

ALL: dict[str, Any] = {"blocks": [{"type": "static"}, {"type": "extractive"}, {"type": "vector"}]}


def service() -> Remembered:
    made = Remembered()
    made.facts.put(ACME, StaticFact("p", "A policy", "2026-01-01T00:00:00.000Z"), version=0)
    made.learn("Likes tea")
    return made


def blocks(made: Remembered, resembles: Any = None) -> BlockReader:
    return BlockReader(
        static=StaticMemory(made.facts),
        extractive=ExtractiveMemory(made.memories, made.clock),
        vector=VectorMemory(resembles or Resembles()),
    )


def test_each_block_that_is_configured_brings_what_it_has() -> None:
    reading = blocks(service()).begin(conversation(**ALL), newest="Hello", asks=True)
    found = {
        result.block: [item.text for item in result.items] for result in reading.results("ignored")
    }
    assert found == {"static": ["A policy"], "extractive": ["Likes tea"], "vector": ["said"] * 2}
    assert reading.failures == {}


def test_only_what_is_configured_is_read() -> None:
    made = service()
    reading = blocks(made).begin(
        conversation(blocks=[{"type": "static"}]), newest="Hello", asks=True
    )
    assert [result.block for result in reading.results(None)] == ["static"]
    assert made.memories.calls == {}


def test_without_a_message_only_tables_are_asked() -> None:
    resembles = Resembles()
    reading = blocks(service(), resembles).begin(conversation(**ALL), newest=None, asks=False)
    assert [result.block for result in reading.results("the newest of the user")] == [
        "static",
        "extractive",
    ]
    assert resembles.asked == []


@pytest.mark.parametrize(
    ("failing", "error", "code"),
    [
        ("static", Unavailable("down"), "unavailable"),
        ("extractive", Unavailable("down"), "unavailable"),
        ("vector", ModelUnavailable("down"), "model_unavailable"),
        ("vector", ValueError("a vector of another space"), "ValueError"),
    ],
)
def test_a_block_that_fails_is_named_and_the_others_answer(
    failing: str, error: Exception, code: str
) -> None:
    made, resembles = service(), Resembles()
    made.facts.failing = {"version": error} if failing == "static" else {}
    made.memories.failing = {"user": error} if failing == "extractive" else {}
    resembles.failure = error if failing == "vector" else None
    reading = blocks(made, resembles).begin(conversation(**ALL), newest="Hello", asks=True)
    found = reading.results(None)
    assert [name for each in found for name in each.degraded] == [failing]
    assert [each.block for each in found if each.items] == [
        name for name in blocks_of(ALL) if name != failing
    ]
    assert reading.failures == {failing: code}


def blocks_of(memory: dict[str, Any]) -> list[str]:
    return [block["type"] for block in memory["blocks"]]


def test_a_block_that_is_not_there_counts_as_one_that_failed() -> None:
    reading = BlockReader().begin(conversation(**ALL), newest="Hello", asks=True)
    assert [result.degraded for result in reading.results(None)] == [
        ("static",),
        ("extractive",),
        ("vector",),
    ]


def test_a_block_that_nobody_named_and_nobody_can_read_here_is_left_out() -> None:
    reading = BlockReader(static=StaticMemory(service().facts)).begin(
        conversation(), newest="Hello", asks=True
    )
    assert [(result.block, result.degraded) for result in reading.results(None)] == [("static", ())]


def test_a_block_that_does_not_answer_is_not_waited_for_longer_than_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reader, "PATIENCE", 3.0)
    released = threading.Event()

    def never(*_asked: object, **_more: object) -> list[Any]:
        released.wait()
        return []

    try:
        reading = blocks(service(), never).begin(conversation(**ALL), newest="Hello", asks=True)
        found = reading.results(None)
        assert [name for each in found for name in each.degraded] == ["vector"]
        assert reading.failures == {"vector": "TimeoutError"}
    finally:
        released.set()


def test_the_blocks_are_read_at_the_same_time() -> None:
    together = threading.Barrier(3, timeout=30)

    class Meets:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def __getattr__(self, name: str) -> Any:
            return getattr(self.inner, name)

        def version(self, scope: Any) -> int:
            together.wait()
            return int(self.inner.version(scope))

        def user(self, scope: Any) -> Any:
            together.wait()
            return self.inner.user(scope)

    def meets(*_asked: object, **_more: object) -> list[Any]:
        together.wait()
        return []

    made = service()
    made.facts, made.memories = Meets(made.facts), Meets(made.memories)
    reading = blocks(made, meets).begin(conversation(**ALL), newest="Hello", asks=True)
    assert [result.degraded for result in reading.results(None)] == [(), (), ()]

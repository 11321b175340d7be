"""Where a prompt cache is told to hold a context, and what it can serve of the next one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from palimpsest.context.cache import (
    LONGEST_MARK,
    CacheUse,
    cache_key,
    mark_of,
    parts_of,
    points_of,
    use_of,
    written_with_points,
)
from palimpsest.context.session_context import SessionContext
from palimpsest.conversations.weight import weigh
from palimpsest.errors import BadRequest
from palimpsest.scope import Scope

from tests.doubles.tokens import LetterCounter
from tests.unit.context.service import ContextService
from tests.unit.context.test_split import ask, talking


def weights(context: SessionContext) -> list[int]:
    def count(text: str) -> int:
        return LetterCounter().count(text, "letters")

    return [weigh(chat, count) for chat in context.messages]


def test_each_message_belongs_to_one_part() -> None:
    service = talking()
    service.learn("Sarah plays the cello")
    parts = parts_of(ask(service, "Do I play the cello?"))
    assert parts == ["system", "memory", *["window"] * 20, "recalled", "window"]
    assert parts_of(service.context("And now?"))[-1] == "message"


@pytest.mark.parametrize("memory_as", ["user", "tool_call"])
def test_memory_in_one_place_is_a_part_too(memory_as: str) -> None:
    parts = parts_of(talking(memory_as=memory_as).context())
    assert parts[1] == "memory"
    assert set(parts[1:]) == {"memory", "window"}


def test_the_next_context_says_how_much_of_it_a_cache_can_serve() -> None:
    service = talking()
    service.learn("Sarah plays the cello")
    before = ask(service, "Do I play the cello?")
    after = ask(service, "And now?")
    use = use_of(after, weights(after), after=mark_of(before))
    same = len(before.messages) - 2
    assert use == CacheUse(sum(weights(after)[:same]), same, "recalled")


def test_a_context_that_only_grew_broke_nowhere() -> None:
    service = talking()
    before, after = ask(service, "And now?"), ask(service, "And then?")
    assert use_of(after, weights(after), after=mark_of(before)) == CacheUse(sum(weights(before)))


def test_a_deletion_breaks_the_memory_and_a_compaction_the_window() -> None:
    service = talking()
    before = service.context()
    for record in service.records():
        service.app.manage_memories.delete(Scope("acme").user("sarah"), record.id)
    after = service.context()
    assert use_of(after, weights(after), after=mark_of(before)).why == "memory"
    service = talking(strategy="trim", max_tokens=4_000, max_memory_tokens=600)
    before = service.context()
    service.talk(8, letters=500)
    after = service.context()
    assert use_of(after, weights(after), after=mark_of(before)).why == "window"


@pytest.mark.parametrize("mark", ["?", "a", "____", "é", "AAAA" * 3 + "A"])
def test_what_is_no_mark_is_refused(mark: str) -> None:
    service = talking()
    with pytest.raises(BadRequest):
        use_of(service.context(), [], after=mark)


def test_a_mark_is_short() -> None:
    service = talking()
    assert len(mark_of(service.context())) < LONGEST_MARK


def marked(blocks: list[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    return [block for block in blocks if name in block]


def test_anthropics_messages_have_cache_points_after_the_stable_part_and_the_window() -> None:
    service = talking()
    service.learn("Sarah plays the cello")
    context = ask(service, "Do I play the cello?")
    written = written_with_points(context, "anthropic")
    blocks = [block for message in written.messages for block in message["content"]]
    first, second = marked(blocks, "cache_control")
    assert first["text"] == context.memory.stable
    assert second["text"] == "a" * 500
    assert second["cache_control"] == {"type": "ephemeral"}
    assert written.system == "You help."


def test_converses_messages_have_cache_points_of_their_own() -> None:
    service = talking()
    written = written_with_points(ask(service, "And now?"), "converse")
    blocks = [block for message in written.messages for block in message["content"]]
    assert len(marked(blocks, "cachePoint")) == 2
    assert blocks[-1] == {"cachePoint": {"type": "default"}}


def test_a_short_context_without_memory_has_no_cache_points() -> None:
    service = ContextService(blocks=[])
    service.say("Hello")
    assert points_of(service.context()) == ()
    assert "cache_control" not in json.dumps(
        written_with_points(service.context(), "anthropic").messages
    )


def test_a_cache_key_is_one_a_session_and_names_nobody() -> None:
    key = cache_key(Scope("acme").session("s"))
    assert key == cache_key(Scope("acme").session("s")) != cache_key(Scope("acme").session("t"))
    assert len(key) <= 64
    assert "monday" not in cache_key(Scope("acme").session("monday"))

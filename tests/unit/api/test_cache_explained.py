"""The trace of a context says what a prompt cache can serve of it."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from palimpsest.context.cache import Part
from palimpsest.context.explain import WHY_BROKEN

from tests.unit.api.gateway import Client


@pytest.fixture
def sarah(call: Client) -> Client:
    facts = [{"type": "fact", "content": f"Sarah keeps book {number}."} for number in range(9)]
    call("POST", "/v1/users/sarah/memories", {"memories": facts})
    call.append("s", "Hello, " + "many words " * 700)
    return call


def traced(call: Client, **asked: Any) -> tuple[Any, Any]:
    """The cache that a trace explains, and that of the answer."""
    found = call("GET", "/v1/sessions/s/context", query={"explain": True, **asked}).json
    assert len(found["trace"]["cache"]["parts"]) == len(found["messages"])
    return found["trace"]["cache"], found["cache"]


def test_without_an_earlier_context_the_trace_has_parts_and_points(sarah: Client) -> None:
    cache, _ = traced(sarah)
    assert (cache["common_tokens"], cache["broke_at"], cache["part"]) == (None, None, None)
    assert cache["parts"][0] == "memory"
    assert cache["points"]
    assert cache["why"] == "no `after`"


def test_with_one_it_says_what_both_begin_with(sarah: Client) -> None:
    _, first = traced(sarah)
    sarah.append("s", "Noted.", role="assistant")
    cache, answer = traced(sarah, after=first["mark"])
    assert cache["common_tokens"] == answer["common_tokens"] > 700
    assert (cache["broke_at"], cache["part"]) == (None, None)
    assert cache["why"] == "it begins with the whole earlier context"


def test_it_says_where_and_why_a_beginning_broke(sarah: Client) -> None:
    _, first = traced(sarah)
    sarah("PATCH", "/v1/sessions/s", {"system": "Be brief."})
    sarah("PATCH", "/v1/sessions/s", {"memory": {"memory_as": "none"}})
    cache, answer = traced(sarah, after=first["mark"])
    assert (
        (cache["broke_at"], cache["part"]) == (answer["broke_at"], answer["why"]) == (0, "memory")
    )
    assert cache["why"] == WHY_BROKEN["memory"]
    assert cache["common_tokens"] == 0


def test_every_part_has_a_reason() -> None:
    assert set(WHY_BROKEN) == set(get_args(Part))

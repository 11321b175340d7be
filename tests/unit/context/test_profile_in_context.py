"""A context begins with the user's profile: the lines of the page, in its order and within its
tokens.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

USER = "/v1/users/sarah"
KNOWN: list[dict[str, Any]] = [
    {"type": "fact", "content": "I live in Kiel.", "topic_key": "residence"},
    {"type": "fact", "content": "I work at Acme.", "topic_key": "employer"},
    {"type": "fact", "content": "I like jazz.", "topic_key": "likes_jazz", "importance": 0.4},
    {"type": "fact", "content": "Likes tea.", "subject": "Bob"},
    {"type": "instruction", "content": "Answer in German."},
    {"type": "task", "content": "Send the report.", "due_at": "2026-03-01"},
    {"type": "event", "content": "Ran a marathon."},
]


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def call(service: Service) -> Client:
    return service.client()


def stable(call: Client, session: str = "new", budget: int = 8_000) -> str:
    body = {"user_id": "sarah", "messages": [{"role": "user", "content": "Hello."}]}
    call("POST", f"/v1/sessions/{session}/messages", body)
    context = call("GET", f"/v1/sessions/{session}/context", query={"max_tokens": budget}).json
    first: str = context["messages"][0]["content"]
    return first


def page(call: Client) -> str:
    text: str = call("GET", f"{USER}/profile", query={"ids": "false"}).json["text"]
    return text


def test_a_context_begins_with_the_page_and_then_has_what_no_page_shows(call: Client) -> None:
    call.save(*KNOWN)
    shown = page(call)
    assert "Open tasks:\n- Send the report. (due on 2026-03-01)\n" in shown
    memory = f"<extractive_memory>\n{shown}- Ran a marathon. (2026-01-01)\n</extractive_memory>"
    assert memory in stable(call)


def test_the_profile_has_the_same_tokens_in_every_context(call: Client) -> None:
    facts = [{"type": "fact", "content": f"I own the boat number {n} of 60."} for n in range(60)]
    call.save(*facts[:30])
    call.save(*facts[30:])
    shown = page(call)
    assert 20 < shown.count("\n") < 60
    assert shown in stable(call, "small", budget=16_000)
    assert shown in stable(call, "large", budget=64_000)


def test_a_context_with_less_room_has_the_first_lines(call: Client) -> None:
    facts = [{"type": "fact", "content": f"I own the boat number {n} of 20."} for n in range(20)]
    call.save(*facts)
    memory = stable(call, budget=320).partition("<extractive_memory>\n")[2].partition("</")[0]
    assert 3 < memory.count("\n") < page(call).count("\n")
    assert page(call).startswith(memory)


def test_a_statement_that_the_page_would_cut_is_whole_below_it(call: Client) -> None:
    long = "Answer every question about the weather with the temperature in Kelvin, " * 4
    call.save({"type": "instruction", "content": long.strip(" ,") + "."}, *KNOWN[:1])
    assert "…" in page(call)
    assert long.strip(" ,") in stable(call)


def test_what_is_known_is_shown_also_where_the_headings_have_no_room(call: Client) -> None:
    call.save(*KNOWN[:1])
    said = {"role": "user", "content": "word " * 522}
    call("POST", "/v1/sessions/new/messages", {"user_id": "sarah", "messages": [said]})
    context = call("GET", "/v1/sessions/new/context", query={"max_tokens": 700}).json
    assert 30 < 700 - context["tokens"]["window"] < 45
    first = context["messages"][0]["content"]
    assert (
        "<extractive_memory>\n- Sarah, 2026-01-01: I live in Kiel.\n</extractive_memory>" in first
    )

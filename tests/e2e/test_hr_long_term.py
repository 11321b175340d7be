"""Sarah's window is flushed into her memory; a later conversation knows her. Without a model: in
her own words.
"""

from dataclasses import dataclass
from typing import Any

import pytest

from examples.demo.conversation import FLUSHED, KEPT_TURNS, POLICY, SYSTEM, TURNS
from tests.e2e.stack import Client, Stack, eventually

pytestmark = [pytest.mark.e2e, pytest.mark.searches]
FIRST, LATER = "/v1/sessions/first", "/v1/sessions/later"
ELIGIBLE = (
    "Then you are eligible, Sarah: 2 years is well over the 6 months, and your review counts."
)
SHE_HAS = "I joined 2 years ago"


@dataclass(frozen=True, slots=True)
class Talk:
    """The conversation as it went: what was said, and the jobs that made room."""

    call: Client
    said: list[dict[str, str]]
    contexts: list[Any]
    flushes: list[Any]


@pytest.fixture(scope="module")
def talk(running: Stack) -> Talk:
    running.use_model(wanted=False)
    call = running.client()
    assert call("PUT", "/v1/static-facts/remote-work", {"content": POLICY}).status == 201
    call(
        "POST",
        "/v1/sessions",
        {"session_id": "first", "user_id": "sarah", "system": SYSTEM, "memory": FLUSHED},
    )
    said, contexts, flushes = [], [], []
    for turn in TURNS:
        for role, text in zip(("user", "assistant"), turn, strict=True):
            said.append({"role": role, "content": text})
            answer = call("POST", f"{FIRST}/messages", {"messages": said[-1:], "context": {}})
            assert answer.status == 201, answer.text
            contexts.append(answer.json["context"])
            if answer.json["overflow"]:
                flushes.append(call.job(answer.json["overflow"]["job_id"]))
    call("POST", f"{FIRST}/end")
    eventually(lambda: is_all_indexed(call, said))
    return Talk(call, said, contexts, flushes)


def is_all_indexed(call: Client, said: list[dict[str, str]]) -> bool:
    """Whether the last that was said, and all that was extracted, is found by meaning."""
    jobs = call("GET", "/v1/jobs", query={"user_id": "sarah"}).json["jobs"]
    asked = {"query": said[-1]["content"], "mode": "vector", "k": 100}
    found = call("POST", "/v1/users/sarah/memories/search", asked)
    total = call("GET", "/v1/users/sarah").json["memories"]["total"] + len(said)
    return {job["state"] for job in jobs} == {"done"} and len(
        found.json.get("memories", ())
    ) == total


def recall(talk: Talk, query: str, **more: Any) -> Any:
    asked = {"query": query, **more}
    return talk.call.whole(
        "/v1/users/sarah/recall", asked, but=["reranker"]
    )  # it may not read all in its 400 ms


def later(talk: Talk, message: str) -> Any:
    memory = {"strategy": "trim", "blocks": FLUSHED["blocks"], "auto_recall": True}
    talk.call("POST", "/v1/sessions", {"session_id": "later", "user_id": "sarah", "memory": memory})
    return talk.call.whole(f"{LATER}/context", {"message": message})


def test_every_context_fits_while_the_window_is_flushed_behind_it(talk: Talk) -> None:
    assert [(job["kind"], job["state"]) for job in talk.flushes] == [("flush", "done")] * 2
    for message, context in zip(talk.said, talk.contexts, strict=True):
        assert context["tokens"]["context"] <= FLUSHED["max_tokens"]
        assert context["messages"][-1] == message
        assert set(context["degraded"]) <= {
            "vector"
        }  # whose model and index may need longer on a busy machine


def test_after_the_flush_the_context_holds_the_recent_turns_and_memory_who_she_is(
    talk: Talk,
) -> None:
    context = talk.call.whole(f"{FIRST}/context", {"message": "So am I eligible?"})
    system, stable, *recent, recalled, _ = context["messages"]
    assert system["content"] == SYSTEM
    assert (stable["role"], recalled["role"]) == ("user", "user")
    assert stable["content"].startswith(f"<memory><static_memory>\n- {POLICY}\n")
    assert ELIGIBLE in recalled["content"]
    assert recent == talk.said[-len(recent) :]
    assert 2 * KEPT_TURNS <= len(recent) < len(talk.said)
    memory = context["memory_prompt"]
    assert memory.startswith(
        f"<memory><static_memory>\n- {POLICY}\n</static_memory><extractive_memory>\n"
    )
    assert "Sarah" in memory
    assert "Marketing" in memory
    assert SHE_HAS in memory
    assert ELIGIBLE in memory  # as the assistant said it: only a model makes a fact of it
    assert context["tokens"]["context"] <= FLUSHED["max_tokens"]


def test_what_left_the_window_is_not_lost(talk: Talk) -> None:
    assert [row["content"] for row in talk.call.history("first")] == [
        each["content"] for each in talk.said
    ]
    flushed = talk.call("GET", f"{FIRST}/compactions").json["compactions"]
    assert [(each["method"], each["summary"]) for each in flushed] == [("flush", None)] * len(
        talk.flushes
    )


def test_a_new_conversation_of_hers_knows_her_and_the_policy(talk: Talk) -> None:
    context = later(talk, "Hello again! So am I eligible?")
    memory = context["memory_prompt"]
    for known in (POLICY, "Marketing", SHE_HAS, ELIGIBLE):
        assert known in memory
    assert [tool["function"]["name"] for tool in context["tools"]] == ["search_memory_tool"]
    tables = talk.call("GET", f"{LATER}/context").json["memory_prompt"]
    assert all(known in tables for known in (POLICY, "Marketing", SHE_HAS))


BESIDE = "What happens if my manager says no?"
"""The built-in model finds five messages nearer to it than its answer: the block has her question,
not that.
"""


@pytest.mark.parametrize(
    ("question", "known"),
    [
        ("Which form do I need to fill in?", "HR-101"),
        ("How much money is there for a chair?", "$300"),
        ("May I work from abroad?", "2 weeks a year"),
        ("How early must I ask to work in another country?", "30 days"),
        (BESIDE, "apply again after 3 months"),
        ("How many days a week may I work remotely?", "3 days a week"),
        ("How long have I been with the company?", SHE_HAS),
    ],
)
def test_what_she_was_told_is_recalled_weeks_later(talk: Talk, question: str, known: str) -> None:
    found = recall(talk, question, answer=True)
    assert known in " ".join(row["content"] for row in found["memories"])
    asked = {"arguments": {"query": question}, "tool_call_id": "call_1"}
    tool = "/v1/users/sarah/tools/search_memory_tool"
    eventually(lambda: known in talk.call("POST", tool, asked).json["content"])
    if question != BESIDE:
        assert known in later(talk, question)["memory_prompt"]


def test_somebody_else_sees_the_policy_and_nothing_of_hers(talk: Talk) -> None:
    memory = {"blocks": FLUSHED["blocks"]}
    talk.call(
        "POST", "/v1/sessions", {"session_id": "davids", "user_id": "david", "memory": memory}
    )
    context = talk.call.whole(
        "/v1/sessions/davids/context", {"message": "Which form do I need to apply?"}
    )
    assert [fact["content"] for fact in context["static_facts"]] == [POLICY]
    assert context["extracted_facts"] == context["vector_matches"] == []
    assert talk.call("POST", "/v1/users/david/recall", {"query": "Sarah"}).json["memories"] == []

"""With a key for a model: it extracts and answers, in its own words; what it does wrong is tried
again, not lost.
"""

import json
import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any

import pytest

from examples.demo.conversation import FLUSHED, SYSTEM, TURNS
from tests.doubles.openai_api import OpenAIApi, Step
from tests.e2e.stack import DEAD_LETTERS, Client, Stack, eventually

pytestmark = pytest.mark.e2e
PROSE = Step(content="Of course! Sarah seems to be a nice person.")
DOWN = Step(status=500, retry_after="1")
RECEIVES = 4
KNOWN = (
    ("I work in Marketing", "The user's name is Sarah and she works in Marketing.", "department"),
    (
        "you are eligible, Sarah",
        "Sarah is eligible for remote work: she has 2 years with the company.",
        "eligibility",
    ),
    ("form HR-101 with the weekdays", "Sarah applies for remote work with form HR-101.", None),
)
"""What the double knows to remember: where these words are said, this memory under this topic."""


def remember(data: str) -> str:
    """The memories of what a prompt holds to extract from, as a model gives them."""
    conversation = data.rpartition("<conversation>")[2]
    said = re.findall(r'<message number="(\d+)"[^>]*>(.*?)</message>', conversation, re.DOTALL)
    told = [
        {
            "type": "fact",
            "content": content,
            "messages": [int(number)],
            "quote": words,
            "topic": topic,
            "subject": "user",
            "keywords": [],
            "queries": [],
            "importance": 0.9,
            "confidence": 1.0,
        }
        for number, text in said
        for words, content, topic in KNOWN
        if words in unescape(text)
    ]
    return json.dumps({"memories": told})


def cite(data: str) -> str:
    """An answer that rests on the first memory that speaks of HR-101; none if there is none."""
    found = re.search(r'<memory id="(m\d+)"[^>]*>[^<]*HR-101', data)
    said = (
        {"answer": "With form HR-101.", "citations": [found.group(1)]}
        if found
        else {"answer": "", "citations": []}
    )
    return json.dumps(said)


def model(request: dict[str, Any]) -> str:
    data = str(request["messages"][-1]["content"])
    return cite(data) if "<question>" in data else remember(data)


@pytest.fixture
def stack(running: Stack, openai_api: OpenAIApi) -> Iterator[Stack]:
    """The stack with a key, and the model that remembers."""
    running.use_model(wanted=True)
    openai_api.requests.clear()
    before: Callable[[dict[str, Any]], Any] = openai_api.answer
    openai_api.answer = model
    yield running
    openai_api.answer = before


def ingested(call: Client) -> str:
    messages = [
        {"role": role, "content": text}
        for turn in TURNS[:4]
        for role, text in zip(("user", "assistant"), turn, strict=True)
    ]
    answer = call("POST", "/v1/users/sarah/ingest", {"session_id": "first", "messages": messages})
    assert answer.status in (200, 202), answer.text
    job_id: str = answer.json["job_id"]
    return job_id


def contents(call: Client) -> set[str]:
    return {row["content"] for row in call("GET", "/v1/users/sarah/memories").json["memories"]}


def test_the_models_memories_are_verified_counted_and_told_by_their_source(call: Client) -> None:
    job = call.job(ingested(call))
    assert (job["state"], job["usage"]["model_calls"]) == ("done", 1)
    assert job["usage"]["cost_usd"] > 0
    ledger = job["ledger"]
    assert ledger["received"] == 8 == ledger["extracted"] + ledger["skipped"] + ledger["parked"]
    assert contents(call) == {content for _, content, _ in KNOWN}
    for row in call("GET", "/v1/users/sarah/memories").json["memories"]:
        said = {each["seq"]: each["content"] for each in call.history("first")}
        assert (row["method"], row["source"]["quote"] in said[row["source"]["seqs"][0]]) == (
            "model",
            True,
        )


def test_an_answer_is_the_models_and_cites_what_it_rests_on(call: Client) -> None:
    call.job(ingested(call))
    asked = {"query": "How does Sarah apply for remote work?", "answer": True}
    answer = call("POST", "/v1/users/sarah/recall", asked).json
    assert (answer["answer"], answer["method"]) == ("With form HR-101.", "model")
    (cited,) = answer["citations"]
    assert "HR-101" in next(row["content"] for row in answer["memories"] if row["id"] == cited)


def test_prose_is_asked_for_again_then_tried_again_then_parked_and_at_ones_word_extracted_after_all(
    call: Client, stack: Stack, openai_api: OpenAIApi
) -> None:
    openai_api.script(PROSE, PROSE, *[DOWN] * (RECEIVES - 1))
    failed = call.job(ingested(call))
    assert (failed["state"], failed["error"]) == ("failed", "model_unavailable")
    assert len(openai_api.requests) == 2 + RECEIVES - 1
    assert failed["ledger"] | {"reasons": {}} == {
        "received": 8, "extracted": 0, "skipped": 0, "parked": 8, "reasons": {}, "dropped": {},
        "withheld": {},
    }  # fmt: skip
    assert contents(call) == set()
    assert len(call.history("first")) == 8
    (listed,) = call("GET", "/v1/jobs", query={"user_id": "sarah", "state": "failed"}).json["jobs"]
    assert listed["job_id"] == failed["job_id"]
    eventually(
        lambda: stack.take(DEAD_LETTERS)
    )  # whose alarm rang: nobody after us is to find it there

    again = call("POST", f"/v1/jobs/{failed['job_id']}/retry")
    assert again.status == 202
    done = call.job(again.json["job_id"])
    assert (done["state"], done["ledger"]["received"], done["ledger"]["parked"]) == ("done", 8, 0)
    assert contents(call) == {content for _, content, _ in KNOWN}
    refused = call("POST", f"/v1/jobs/{done['job_id']}/retry")
    assert (refused.status, refused.json["code"]) == (409, "job_not_failed")


def test_after_a_flush_memory_names_her_her_department_and_that_she_is_eligible(
    call: Client,
) -> None:
    first = {"session_id": "first", "user_id": "sarah", "system": SYSTEM, "memory": FLUSHED}
    assert call("POST", "/v1/sessions", first).status == 201
    flushes = []
    for turn in TURNS:
        said = [
            {"role": role, "content": text}
            for role, text in zip(("user", "assistant"), turn, strict=True)
        ]
        answer = call("POST", "/v1/sessions/first/messages", {"messages": said}).json
        if answer["overflow"]:
            flushes.append(call.job(answer["overflow"]["job_id"]))
    assert flushes
    assert {job["state"] for job in flushes} == {"done"}
    later = {"session_id": "later", "user_id": "sarah", "memory": {"blocks": FLUSHED["blocks"]}}
    assert call("POST", "/v1/sessions", later).status == 201
    for session in ("first", "later"):
        context = call("GET", f"/v1/sessions/{session}/context").json
        assert {content for _, content, _ in KNOWN} <= {
            row["content"] for row in context["extracted_facts"]
        }
        assert "Sarah is eligible for remote work" in context["memory_prompt"]

"""With a key for a model: it writes the summaries, and what it does wrong harms neither appends nor
contexts.
"""

import threading
import time
from typing import Any

import pytest

from tests.doubles.openai_api import OpenAIApi, Step
from tests.e2e.conftest import SUMMARY
from tests.e2e.stack import DEAD_LETTERS, MODEL, Client, Stack, eventually

pytestmark = pytest.mark.e2e
RECEIVES = 4


@pytest.fixture
def stack(running: Stack, openai_api: OpenAIApi) -> Stack:
    """The stack with a key, and a model that was asked nothing yet."""
    running.use_model(wanted=True)
    openai_api.requests.clear()
    return running


def compactions(call: Client) -> list[Any]:
    found: list[Any] = call("GET", "/v1/sessions/s/compactions").json["compactions"]
    return found


def test_the_model_is_asked_once_and_its_summary_is_what_the_next_one_sees(
    call: Client, openai_api: OpenAIApi
) -> None:
    job = call.job(call.overflow("s", about="<b>chairs</b>"))
    assert (job["state"], job["usage"]["model_calls"]) == ("done", 1)
    (asked,) = openai_api.requests
    assert asked.headers["authorization"] == "Bearer sk-test"
    assert asked.body["model"] == MODEL
    instructions, conversation = asked.body["messages"]
    assert "chairs" not in instructions["content"]
    assert "&lt;b&gt;chairs&lt;/b&gt;" in conversation["content"]
    (compaction,) = compactions(call)
    assert (compaction["method"], compaction["model"], compaction["summary"]) == (
        "model",
        MODEL,
        SUMMARY,
    )
    context = call("GET", "/v1/sessions/s/context").json
    assert context["messages"][0]["content"] == f"CONVERSATION SUMMARY: {SUMMARY}"


def test_a_model_that_is_busy_is_asked_again_when_it_said_and_not_before(
    call: Client, openai_api: OpenAIApi
) -> None:
    openai_api.script(Step(status=429, retry_after="2"), Step(status=500, retry_after="1"))
    begun = time.monotonic()
    job = call.job(call.overflow("s"))
    assert job["state"] == "done"
    assert time.monotonic() - begun >= 3
    assert len(openai_api.requests) == 3
    assert len(compactions(call)) == 1


def test_an_answer_that_is_none_is_repaired_once(call: Client, openai_api: OpenAIApi) -> None:
    openai_api.script(Step(body=b"<html>"))
    job = call.job(call.overflow("s"))
    assert (job["state"], job["usage"]["model_calls"]) == ("done", 2)
    assert compactions(call)[0]["summary"] == SUMMARY


def test_a_job_shows_what_the_model_was_sent_and_said_where_the_tenant_wants_it(
    call: Client, openai_api: OpenAIApi
) -> None:
    job = call.overflow("s", about="chairs")
    call.job(job)
    path = f"/v1/jobs/{job}/calls"
    assert call("GET", path).json == {"kept": False, "calls": [], "next_cursor": None}
    assert call("PUT", "/v1/settings", {"keep_model_calls": True}).status == 200
    assert call("GET", path).json["calls"] == []
    openai_api.script(Step(body=b"<html>"))
    job = call.overflow("t", about="chairs")
    call.job(job)
    failed, answered = call("GET", f"/v1/jobs/{job}/calls").json["calls"]
    assert (failed["answer"], failed["error"]) == (None, "model_output_invalid")
    assert "chairs" in failed["text"]
    assert (answered["answer"], answered["model"]) == (SUMMARY, MODEL)
    assert call("DELETE", "/v1/sessions/t", query={"wait": 20}).status in (200, 202)
    assert call("GET", f"/v1/jobs/{job}/calls").json["calls"] == []


def test_a_model_that_stays_away_fails_the_job_and_nothing_else_until_it_is_driven_again(
    call: Client, stack: Stack, openai_api: OpenAIApi
) -> None:
    seen = threading.Event()
    openai_api.script(*[Step(status=500, retry_after="1", held=seen)] * RECEIVES)
    job_id = call.overflow("s")
    appended = call.say("s", 2, first=100)
    context = call("GET", "/v1/sessions/s/context").json
    assert (context["compaction"], context["tokens"]["context"] <= 400) == ("pending", True)
    seen.set()

    assert (job := call.job(job_id))["state"] == "failed"
    assert job["error"] == "model_unavailable"
    assert len(openai_api.requests) == RECEIVES
    assert call.session("s")["compaction"] == "failed"
    appended += call.say("s", 3, first=200)
    assert all(
        answer["overflow"] is None for answer in appended
    )  # one job an attempt, not one an append
    context = call("GET", "/v1/sessions/s/context").json
    assert (context["compaction"], context["tokens"]["context"] <= 400) == ("failed", True)
    assert compactions(call) == []

    eventually(lambda: stack.waiting(DEAD_LETTERS) == 1)
    assert "dead letters: 1 sent again" in stack.run("infra.operate.redrive")
    eventually(lambda: call.session("s")["compaction"] == "none" and compactions(call))
    assert not call.session("s")["window"]["is_full"]
    assert len(call.history("s")) == call.session("s")["totals"]["messages"]


def test_the_key_of_the_model_is_in_no_log(call: Client, stack: Stack) -> None:
    begun = time.time()
    call.job(call.overflow("s"))
    eventually(
        lambda: any(f'"{call.tenant}"' in line for line in stack.logs("Summarize", since=begun))
    )
    lines = stack.logs("Summarize", since=begun)
    assert not any("sk-test" in line or SUMMARY in line for line in lines)

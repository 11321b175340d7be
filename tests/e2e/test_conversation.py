"""Sarah from Marketing asks about remote work: a conversation goes all the way round, without a
model.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest

from examples.demo.conversation import BUDGET, KEPT_TURNS, LAST_QUESTION, MEMORY, SYSTEM, TURNS
from tests.e2e.stack import Client, Stack, eventually

pytestmark = pytest.mark.e2e
SESSION = "remote-work"
PATH = f"/v1/sessions/{SESSION}"
PREFIX = "CONVERSATION SUMMARY: "
DATE = re.compile(r" \(\d{4}(?:-\d\d-\d\d)?\)")  # a summary says it after "today" and "2 years ago"


@dataclass(frozen=True, slots=True)
class Talk:
    """The conversation as it went: what was said, and what every append was answered."""

    call: Client
    said: list[dict[str, str]]
    answers: list[Any]
    jobs: list[Any]

    @property
    def context(self) -> Any:
        return self.call("POST", f"{PATH}/context", {"message": LAST_QUESTION}).json

    @property
    def compactions(self) -> list[Any]:
        found: list[Any] = self.call("GET", f"{PATH}/compactions").json["compactions"]
        return found


@pytest.fixture(scope="module")
def talk(running: Stack) -> Talk:
    running.use_model(wanted=False)
    call = running.client()
    call(
        "POST",
        "/v1/sessions",
        {"session_id": SESSION, "user_id": "sarah", "system": SYSTEM, "memory": MEMORY},
    )
    said = [
        {"role": role, "content": text}
        for turn in TURNS
        for role, text in zip(("user", "assistant"), turn, strict=True)
    ]
    answers, jobs = [], []
    for message in said:
        answer = call("POST", f"{PATH}/messages", {"messages": [message], "context": {}})
        assert answer.status == 201, answer.text
        answers.append(answer.json)
        if answer.json["overflow"]:
            jobs.append(call.job(answer.json["overflow"]["job_id"]))
    return Talk(call, said, answers, jobs)


def test_every_context_on_the_way_fits_and_ends_with_what_was_just_said(talk: Talk) -> None:
    for message, answer in zip(talk.said, talk.answers, strict=True):
        context = answer["context"]
        assert context["tokens"]["context"] <= BUDGET
        assert context["messages"][0] == {"role": "system", "content": SYSTEM}
        assert context["messages"][-1] == message


def test_an_overflow_is_announced_and_nobody_waits_for_it(talk: Talk) -> None:
    overflows = [answer for answer in talk.answers if answer["overflow"]]
    assert len(overflows) >= 2
    for answer in overflows:
        assert (answer["overflow"]["strategy"], answer["overflow"]["state"]) == (
            "summarize",
            "pending",
        )
        assert answer["window"]["is_full"]


def test_its_job_is_done_by_the_worker_behind_stream_and_queue(talk: Talk, running: Stack) -> None:
    assert [(job["kind"], job["state"], job["usage"]["model_calls"]) for job in talk.jobs] == [
        ("summarize", "done", 0)
    ] * len(talk.jobs)
    assert any('"stream record done"' in line for line in running.logs("Dispatch"))

    def steps() -> list[tuple[str, int]]:
        lines = [
            json.loads(line) for line in running.logs("Summarize") if '"job step done"' in line
        ]
        return sorted(
            (line["job_id"], line["receives"])
            for line in lines
            if line["tenant"] == talk.call.tenant
        )

    eventually(
        lambda: len(steps()) >= len(talk.jobs)
    )  # a job is done before its line is in the log
    assert steps() == sorted(
        (job["job_id"], 1) for job in talk.jobs
    )  # started once each, however its item changed


def test_the_context_ends_up_as_one_summary_and_the_recent_turns(talk: Talk) -> None:
    system, summary, *recent, question = talk.context["messages"]
    assert system == {"role": "system", "content": SYSTEM}
    assert summary["role"] == "user"
    assert summary["content"].startswith(PREFIX)
    assert recent == talk.said[-len(recent) :]
    assert len(recent) >= 2 * KEPT_TURNS
    assert question == {"role": "user", "content": LAST_QUESTION}
    assert sum(PREFIX in message["content"] for message in talk.context["messages"]) == 1


def test_it_still_knows_who_sarah_is(talk: Talk) -> None:
    assert all(
        name not in message["content"]
        for name in ("Marketing",)
        for message in talk.context["messages"][2:]
    )
    assert "I'm Sarah and I work in Marketing" in talk.context["messages"][1]["content"]


def test_without_a_key_a_summary_is_the_conversations_own_sentences_and_says_so(talk: Talk) -> None:
    spoken = " ".join(message["content"] for message in talk.said)
    for compaction in talk.compactions:
        assert (compaction["method"], compaction["model"]) == ("extractive", None)
        for line in compaction["summary"].splitlines():
            speaker, _, text = line.partition(": ")
            assert speaker in ("User", "Assistant")
            for sentence in re.split(r"(?<=[.?!]) ", text):
                assert DATE.sub("", sentence) in spoken
    assert re.search(r"I joined 2 years ago \(\d{4}\)", talk.compactions[-1]["summary"])


def test_what_was_folded_unfolds_word_for_word(talk: Talk) -> None:
    unfolded: list[Any] = []
    for compaction in talk.compactions:
        rows = talk.call("GET", f"{PATH}/compactions/{compaction['n']}/messages").json["messages"]
        assert (rows[0]["seq"], rows[-1]["seq"]) == (compaction["from"], compaction["to"])
        unfolded += rows
    assert [(row["role"], row["content"]) for row in unfolded] == [
        (message["role"], message["content"]) for message in talk.said[: len(unfolded)]
    ]
    window = talk.call.session(SESSION)["window"]
    assert len(unfolded) + window["messages"] == len(talk.said)


def test_a_model_with_less_room_gets_a_context_that_fits_it(talk: Talk) -> None:
    for budget in (130, 160, 200, 300):
        context = talk.call("GET", f"{PATH}/context", query={"max_tokens": budget}).json
        assert context["tokens"]["context"] <= budget
        assert context["messages"][0]["content"] == SYSTEM
    refused = talk.call("GET", f"{PATH}/context", query={"max_tokens": 60})
    assert (refused.status, refused.json["code"]) == (422, "budget_too_small")
    assert (
        talk.call("GET", f"{PATH}/context", query={"max_tokens": refused.json["minimum"]}).status
        == 200
    )

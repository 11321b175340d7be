"""An agent's loop with the `openai` client: what the service gives is sent, what comes back is
appended, as it is.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from infra import paths
from tests.doubles.openai_api import OpenAIApi
from tests.e2e.stack import PATIENCE, Client

pytestmark = pytest.mark.e2e
PATH = "/v1/sessions/loop"
LOOKUP = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "policy", "arguments": '{"topic": "remote"}'},
}
TOOLS: Any = [
    {"type": "function", "function": {"name": "policy", "parameters": {"type": "object"}}}
]


def assistant(request: dict[str, Any]) -> str | dict[str, Any]:
    """Looks the policy up when remote work comes up, and knows only what it is sent."""
    last = request["messages"][-1]
    if last["role"] == "tool":
        return f"The policy says: {last['content']}"
    if "remote" in last["content"]:
        return {"content": None, "tool_calls": [LOOKUP]}
    known = (
        "Sarah"
        if any("Sarah" in str(message.get("content")) for message in request["messages"])
        else "nobody"
    )
    return f"You are {known}, and you said: {last['content']}"


@pytest.fixture
def model() -> Iterator[OpenAIApi]:
    with OpenAIApi(answer=assistant) as running:
        yield running


@pytest.fixture
def client(model: OpenAIApi) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=model.base_url, api_key="test", max_retries=0) as client:
        yield client


def test_the_loop_of_the_openai_client_works_as_it_is(
    call: Client, model: OpenAIApi, client: openai.OpenAI
) -> None:
    call.begin("loop", max_tokens=400, keep_recent_turns=2)

    def append(message: Any) -> list[Any]:
        answer = call(
            "POST", f"{PATH}/messages", {"messages": [message], "context": {"compact": "sync"}}
        )
        assert answer.status == 201, answer.text
        assert answer.json["context"]["tokens"]["context"] <= 400
        messages: list[Any] = answer.json["context"]["messages"]
        return messages

    def turn(text: str) -> str:
        messages = append({"role": "user", "content": text})
        while True:
            asked = client.chat.completions.create(
                model="gpt-4.1-nano", messages=messages, tools=TOOLS
            )
            reply = asked.choices[0].message
            messages = append(reply.model_dump())
            for wanted in reply.tool_calls or ():
                messages = append(
                    {"role": "tool", "tool_call_id": wanted.id, "content": "three days a week"}
                )
            if not reply.tool_calls:
                return reply.content or ""

    turn("Hi, I'm Sarah and I work in Marketing.")
    assert turn("May I work remote?") == "The policy says: three days a week"
    for number in range(8):
        turn(
            f"Thank you. My question number {number} is about the equipment that I can have at "
            f"home, and who pays it."
        )
    assert turn("Who am I?").startswith("You are Sarah")

    sent = [each["content"] for each in model.requests[-1].body["messages"]]
    assert next(text for text in sent if not text.startswith("<memory>")).startswith(
        "CONVERSATION SUMMARY: "
    )
    rows = call.history("loop")
    assert [row["role"] for row in rows[:6]] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert rows[3]["tool_calls"] == [LOOKUP]
    assert len(rows) == 24


def remembering(request: dict[str, Any]) -> str | dict[str, Any]:
    """Searches its memory once when it is asked who somebody is; else says what it was last
    told.
    """
    last = request["messages"][-1]
    if last["role"] == "user" and "Which team" in last["content"]:
        search = {
            "name": request["tools"][0]["function"]["name"],
            "arguments": '{"query": "Which team am I in?"}',
        }
        return {
            "content": None,
            "tool_calls": [{"id": "call_2", "type": "function", "function": search}],
        }
    return f"I heard: {last['content']}"


def test_the_agent_over_https_knows_in_its_second_session_what_it_was_told_in_its_first(
    call: Client, tmp_path: Path
) -> None:
    (program,) = re.findall(
        r"^```python\n(.*?)^```$",
        (paths.PROJECT / "docs" / "https.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
    assert len(program.splitlines()) <= 30
    (tmp_path / ".local").mkdir()
    (tmp_path / ".local" / "endpoint.json").write_text(
        json.dumps({"url": call.url, "api_key": call.key})
    )

    def run(session: str, said: str) -> str:
        with OpenAIApi(answer=remembering) as model:
            environment = os.environ | {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": model.base_url}
            done = subprocess.run(
                [sys.executable, "-c", program, "sarah", session],
                input=said,
                cwd=tmp_path,
                env=environment,
                check=False,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
            )
            assert done.returncode == 0, done.stderr
            sent.extend(request.body["messages"] for request in model.requests)
        return done.stdout

    sent: list[Any] = []
    run("monday", "I work in Marketing, in the team of Ms Brown.\n")
    for job in call("GET", "/v1/jobs", query={"user_id": "sarah"}).json["jobs"]:
        assert call.job(job["job_id"])["state"] == "done"
    sent.clear()
    answer = run("friday", "Which team am I in?\n")
    first, second = sent
    assert [message["content"] for message in first if "Marketing" in str(message["content"])]
    assert first[-1] == {"role": "user", "content": "Which team am I in?\n"}
    assert (second[-1]["role"], "Ms Brown" in second[-1]["content"]) == ("tool", True)
    assert "Ms Brown" in answer

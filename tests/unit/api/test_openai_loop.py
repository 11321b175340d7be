"""An agent's loop with the `openai` client: what the service gives is sent, what comes back is
appended, as it is.
"""

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.doubles.openai_api import OpenAIApi
from tests.unit.api.gateway import Client

PATH = "/v1/sessions/s/messages"
LOOKUP = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "policy", "arguments": '{"topic": "remote"}'},
}


def assistant(request: dict[str, Any]) -> str | dict[str, Any]:
    """Looks the policy up before it answers the first question."""
    last = request["messages"][-1]
    if last["role"] == "tool":
        return f"The policy says: {last['content']}"
    if "remote" in last["content"]:
        return {"role": "assistant", "content": None, "tool_calls": [LOOKUP]}
    return f"You said: {last['content']}"


@pytest.fixture
def api() -> Iterator[OpenAIApi]:
    with OpenAIApi(answer=assistant) as running:
        yield running


@pytest.fixture
def client(api: OpenAIApi) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=api.base_url, api_key="test", max_retries=0) as client:
        yield client


def test_a_loop_of_the_openai_client_works_as_it_is(
    call: Client, api: OpenAIApi, client: openai.OpenAI
) -> None:
    def append(message: Any) -> list[Any]:
        answer = call("POST", PATH, {"user_id": "sarah", "messages": [message], "context": {}})
        assert answer.status == 201, answer.text
        messages: list[Any] = answer.json["context"]["messages"]
        return messages

    def turn(text: str) -> str:
        messages = append({"role": "user", "content": text})
        while True:
            reply = (
                client.chat.completions.create(model="gpt-4.1-nano", messages=messages)
                .choices[0]
                .message
            )
            messages = append(reply.model_dump())
            for asked in reply.tool_calls or ():
                messages = append(
                    {"role": "tool", "tool_call_id": asked.id, "content": "three days a week"}
                )
            if not reply.tool_calls:
                return reply.content or ""

    assert turn("May I work remote?") == "The policy says: three days a week"
    assert turn("Thanks, I am Sarah.") == "You said: Thanks, I am Sarah."
    rows = call("GET", PATH).json["messages"]
    assert [row["role"] for row in rows] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
    ]
    assert rows[1]["tool_calls"] == [LOOKUP]
    sent = api.requests[-1].body["messages"]
    assert [message["role"] for message in sent] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert not any(None in message.values() for message in sent)

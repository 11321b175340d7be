"""An agent's loop with the `openai` client: what the service gives is sent, what comes back is appended, as it is."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.doubles.openai_api import OpenAIApi
from tests.e2e.stack import Client

pytestmark = pytest.mark.e2e
PATH = "/v1/sessions/loop"
LOOKUP = {"id": "call_1", "type": "function", "function": {"name": "policy", "arguments": '{"topic": "remote"}'}}
TOOLS: Any = [{"type": "function", "function": {"name": "policy", "parameters": {"type": "object"}}}]


def assistant(request: dict[str, Any]) -> str | dict[str, Any]:
    """Looks the policy up when remote work comes up, and knows only what it is sent."""
    last = request["messages"][-1]
    if last["role"] == "tool":
        return f"The policy says: {last['content']}"
    if "remote" in last["content"]:
        return {"content": None, "tool_calls": [LOOKUP]}
    known = "Sarah" if any("Sarah" in str(message.get("content")) for message in request["messages"]) else "nobody"
    return f"You are {known}, and you said: {last['content']}"


@pytest.fixture
def model() -> Iterator[OpenAIApi]:
    with OpenAIApi(answer=assistant) as running:
        yield running


def test_the_loop_of_the_openai_client_works_as_it_is(call: Client, model: OpenAIApi) -> None:
    client = openai.OpenAI(base_url=model.base_url, api_key="test", max_retries=0)
    call.begin("loop", max_tokens=400, keep_recent_turns=2)

    def append(message: Any) -> list[Any]:
        answer = call("POST", f"{PATH}/messages", {"messages": [message], "context": {"compact": "sync"}})
        assert answer.status == 201, answer.text
        assert answer.json["context"]["tokens"]["context"] <= 400
        messages: list[Any] = answer.json["context"]["messages"]
        return messages

    def turn(text: str) -> str:
        messages = append({"role": "user", "content": text})
        while True:
            asked = client.chat.completions.create(model="gpt-4.1-nano", messages=messages, tools=TOOLS)
            reply = asked.choices[0].message
            messages = append(reply.model_dump())
            for wanted in reply.tool_calls or ():
                messages = append({"role": "tool", "tool_call_id": wanted.id, "content": "three days a week"})
            if not reply.tool_calls:
                return reply.content or ""

    turn("Hi, I'm Sarah and I work in Marketing.")
    assert turn("May I work remote?") == "The policy says: three days a week"
    for number in range(8):
        turn(f"Thank you. My question number {number} is about the equipment that I can have at home, and who pays it.")
    assert turn("Who am I?").startswith("You are Sarah")

    sent = [each["content"] for each in model.requests[-1].body["messages"]]
    assert next(text for text in sent if not text.startswith("<memory>")).startswith("CONVERSATION SUMMARY: ")
    rows = call.history("loop")
    assert [row["role"] for row in rows[:6]] == ["user", "assistant", "user", "assistant", "tool", "assistant"]
    assert rows[3]["tool_calls"] == [LOOKUP]
    assert len(rows) == 24

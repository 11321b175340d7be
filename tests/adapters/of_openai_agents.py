"""The OpenAI Agents SDK keeps its conversations here: run by test_adapters in an environment of its
own.
"""

import asyncio
import json
import uuid
from typing import Any

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.items import ModelResponse
from agents.memory import Session
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
)
from openai.types.responses.response_usage import InputTokensDetails
from palimpsest_client import AsyncPalimpsest, Palimpsest
from palimpsest_client.integrations.openai_agents import PalimpsestSession

set_tracing_disabled(True)


def session(name: str | None = None, memory: AsyncPalimpsest | None = None) -> PalimpsestSession:
    return PalimpsestSession(name or f"agents-{uuid.uuid4().hex}", user="sarah", memory=memory)


@function_tool
def weather(city: str) -> str:
    """The weather."""
    return f"sunny in {city}"


def said(text: str) -> ResponseOutputMessage:
    content: list[Any] = [ResponseOutputText(text=text, type="output_text", annotations=[])]
    return ResponseOutputMessage(
        id="m", type="message", role="assistant", status="completed", content=content
    )


class TwoCalls(Model):
    """Reasons, asks for the weather of two cities at once, then answers with what it heard."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    async def get_response(
        self,
        system_instructions: Any,
        input: Any,  # noqa: A002
        *_: Any,
        **__: Any,
    ) -> ModelResponse:  # noqa: A002, RUF100
        self.seen.append(input)
        heard = [
            item["output"]
            for item in input
            if isinstance(item, dict) and item.get("type") == "function_call_output"
        ]
        if "weather" in json.dumps(input[-1]) and not heard:
            calls = [
                ResponseFunctionToolCall(
                    type="function_call",
                    call_id=f"call_{city}",
                    name="weather",
                    arguments=json.dumps({"city": city}),
                )
                for city in ("Rome", "Bonn")
            ]
            return self._response(
                [ResponseReasoningItem(id="r1", type="reasoning", summary=[]), *calls]
            )
        return self._response([said(f"I heard {len(input)} items: {heard}")])

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    def _response(self, output: list[Any]) -> ModelResponse:
        return ModelResponse(output=output, usage=Usage(), response_id=None)


def test_it_is_a_session_of_the_sdk() -> None:
    assert isinstance(session(), Session)


def test_items_come_back_as_they_were_given_and_the_newest_can_be_asked_for() -> None:
    items: list[Any] = [
        {"role": "user", "content": "hello"},
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"},
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "hi", "annotations": []}],
        },
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "x"},
                {"type": "input_image", "image_url": "x"},
            ],
        },
    ]

    async def go() -> None:
        kept = session()
        assert await kept.get_items() == []
        await kept.add_items(items)
        assert await kept.get_items() == items
        assert await kept.get_items(2) == items[-2:]
        assert await session(kept.session_id).get_items() == items

    asyncio.run(go())


def test_items_are_popped_one_by_one_also_from_parallel_calls_and_cleared() -> None:
    calls = [
        {"type": "function_call", "call_id": f"c{n}", "name": "f", "arguments": "{}"}
        for n in (1, 2)
    ]

    async def go() -> None:
        kept = session()
        assert await kept.pop_item() is None
        await kept.clear_session()
        await kept.add_items([{"role": "user", "content": "hello"}, *calls])
        assert await kept.pop_item() == calls[1]
        assert await kept.get_items() == [{"role": "user", "content": "hello"}, calls[0]]
        assert await kept.pop_item() == calls[0]
        await kept.add_items([{"role": "user", "content": "again"}])
        await kept.clear_session()
        assert await kept.get_items() == []
        await kept.add_items([{"role": "user", "content": "anew"}])
        assert len(await kept.get_items()) == 1

    asyncio.run(go())


def test_two_who_pop_at_once_get_different_items() -> None:
    async def go() -> None:
        kept = session()
        await kept.add_items([{"role": "user", "content": f"{n}"} for n in range(6)])
        popped = await asyncio.gather(*(kept.pop_item() for _ in range(4)))
        assert sorted(item["content"] for item in popped if item) == ["2", "3", "4", "5"]
        assert [item["content"] for item in await kept.get_items()] == ["0", "1"]

    asyncio.run(go())


def test_a_runner_goes_on_from_what_was_kept_with_parallel_calls_and_reasoning() -> None:
    async def go() -> None:
        model, kept = TwoCalls(), session()
        agent = Agent(name="a", model=model, tools=[weather])
        ran = await Runner.run(agent, "What is the weather?", session=kept)
        assert "['sunny in Rome', 'sunny in Bonn']" in ran.final_output
        items = await kept.get_items()
        assert [item.get("type", "message") for item in items] == [
            "message",
            "reasoning",
            "function_call",
            "function_call",
            "function_call_output",
            "function_call_output",
            "message",
        ]
        await Runner.run(agent, "Thank you.", session=session(kept.session_id))
        assert len(model.seen[-1]) == len(items) + 1
        context = Palimpsest().session(kept.session_id).context()["messages"]
        assert [message["role"] for message in context][:5] == [
            "user",
            "assistant",
            "tool",
            "tool",
            "assistant",
        ]

    asyncio.run(go())


def test_an_agent_that_was_stopped_between_a_call_and_its_result_goes_on() -> None:
    async def go() -> None:
        user = f"u-{uuid.uuid4().hex}"
        stopped = PalimpsestSession(f"s-{user}", user=user, whole=False)
        calls = [
            {"type": "function_call", "call_id": f"c{n}", "name": "weather", "arguments": "{}"}
            for n in (1, 2)
        ]
        await stopped.add_items([{"role": "user", "content": "What is the weather?"}])
        await stopped.add_items(calls)
        await stopped.add_items(
            [{"type": "function_call_output", "call_id": "c1", "output": "sunny"}]
        )
        assert (await stopped.get_items())[-1]["call_id"] == "c1"
        model = TwoCalls()
        begun_again = PalimpsestSession(f"s-{user}", user=user, whole=False)
        for said_next in ("Go on.", "Thank you."):
            await Runner.run(Agent(name="a", model=model), said_next, session=begun_again)
        kinds = [(item.get("type", "message"), item.get("call_id")) for item in model.seen[-1]]
        for call in ("c1", "c2"):
            assert kinds.index(("function_call", call)) < kinds.index(
                ("function_call_output", call)
            )

    asyncio.run(go())


def test_what_a_runner_heard_is_remembered_in_another_session() -> None:
    user = f"u-{uuid.uuid4().hex}"

    async def go() -> str:
        kept = PalimpsestSession(f"s-{user}", user=user)
        await Runner.run(Agent(name="a", model=TwoCalls()), "I live in Hamburg.", session=kept)
        return kept.session_id

    Palimpsest().session(asyncio.run(go())).end().wait()
    assert "Hamburg" in Palimpsest().session(f"t-{user}", user=user).say("Where do I live?").memory


def test_a_runner_that_is_given_contexts_knows_its_user_at_once_and_never_passes_the_budget() -> (
    None
):
    user = f"u-{uuid.uuid4().hex}"

    def fitted(name: str) -> PalimpsestSession:
        return PalimpsestSession(f"{name}-{user}", user=user, whole=False)

    async def go() -> None:
        model = TwoCalls()
        agent = Agent(name="a", model=model, tools=[weather])
        await Runner.run(agent, "I live in Hamburg.", session=fitted("monday"))
        await (await AsyncPalimpsest().session(f"monday-{user}").end()).wait()
        await (
            AsyncPalimpsest()
            .session(f"friday-{user}", user=user, memory={"max_tokens": 700})
            .begin()
        )
        friday = fitted("friday")
        for number in range(20):
            await friday.add_items(
                [{"role": "user", "content": f"Number {number}: " + "word " * 60}]
            )
        await Runner.run(agent, "What is the weather?", session=friday)
        context, *_, newest = model.seen[-2]  # the question was asked, no tool was called yet
        assert "Hamburg" in context["content"]
        assert newest["content"] == "What is the weather?"
        assert "Number 0" not in json.dumps(model.seen[-2])
        kinds = [item.get("type", "message") for item in (await friday.get_items())[-6:]]
        calls = ["function_call", "function_call", "function_call_output", "function_call_output"]
        assert kinds == ["reasoning", *calls, "message"]

    asyncio.run(go())
    assert "Hamburg" in json.dumps(asyncio.run(fitted("tuesday").get_items()))


class Counts(Model):
    """Answers, and says what each answer used."""

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        details = InputTokensDetails(cached_tokens=4_096, cache_write_tokens=0)
        usage = Usage(
            requests=1,
            input_tokens=5_000,
            output_tokens=20,
            total_tokens=5_020,
            input_tokens_details=details,
        )
        return ModelResponse(output=[said("Yes.")], usage=usage, response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    model = "gpt-4.1-mini"


def test_what_a_runs_model_calls_used_is_counted_with_what_a_cache_served() -> None:
    user = f"u-{uuid.uuid4().hex}"
    kept = PalimpsestSession(f"s-{user}", user=user)
    agent = Agent(name="A", model=Counts())

    async def go() -> None:
        await Runner.run(agent, "Hello.", session=kept, hooks=kept.hooks)
        await Runner.run(agent, "And again.", session=kept, hooks=kept.hooks)

    asyncio.run(go())
    (row,) = Palimpsest().usage(by="user", user_id=user)
    counted = (row["chat_tokens_in"], row["chat_tokens_cached"], row["chat_tokens_out"])
    assert counted == (10_000, 8_192, 40)
    cost = 2 * (904 * 0.4 + 4_096 * 0.1 + 20 * 1.6) / 1_000_000
    assert abs(row["chat_cost_usd"] - cost) < 1e-9

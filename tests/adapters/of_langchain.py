"""Agents of LangChain's `create_agent` with memory: run by test_adapters in an environment of its
own.
"""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRetryMiddleware
from langchain.tools import tool
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration
from langgraph.checkpoint.memory import InMemorySaver
from palimpsest_client import Palimpsest
from palimpsest_client.integrations.langchain import PalimpsestMiddleware
from pydantic import Field


class Model(FakeMessagesListChatModel):
    """Says what is given, in turn, and keeps what it was sent."""

    seen: list[list[BaseMessage]] = Field(default_factory=list)
    tools: list[str] = Field(default_factory=list)
    failures: int = 0

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> "Model":
        self.tools = [tool.name for tool in tools]
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> Any:
        self.seen.append(messages)
        if self.failures:
            self.failures -= 1
            raise ConnectionError
        result = super()._generate(messages, *args, **options)
        reply = result.generations[0].message.model_copy(update={"id": uuid.uuid4().hex})
        return result.model_copy(update={"generations": [ChatGeneration(message=reply)]})


def model(*replies: str | AIMessage, failures: int = 0) -> Model:
    messages = [AIMessage(reply) if isinstance(reply, str) else reply for reply in replies]
    return Model(responses=messages, failures=failures)


def calls(name: str, **arguments: Any) -> AIMessage:
    call = {"name": name, "args": arguments, "id": f"call_{uuid.uuid4().hex[:8]}"}
    return AIMessage("", tool_calls=[call])


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"Rain in {city}."


@pytest.fixture
def user() -> str:
    return f"u{uuid.uuid4().hex}"


def named(session: str) -> Any:
    return {"configurable": {"thread_id": session}}


def asked(text: str) -> Any:
    return {"messages": [HumanMessage(text)]}


def test_two_sessions_and_a_tool_call(user: str) -> None:
    first = model("Noted.", calls("weather", city="Kiel"), "It rains in Kiel.")
    agent = create_agent(
        first, [weather], system_prompt="Be kind.", checkpointer=InMemorySaver(),
        middleware=[PalimpsestMiddleware(user=user)],
    )  # fmt: skip
    monday = f"{user}-monday"
    agent.invoke(asked("I live in Kiel."), named(monday))
    agent.invoke(asked("How is the weather?"), named(monday))
    chat = Palimpsest().session(monday)
    rows = [(row["role"], row["content"]) for row in chat.messages() if row["role"] != "system"]
    assert rows == [
        ("user", "I live in Kiel."), ("assistant", "Noted."), ("user", "How is the weather?"),
        ("assistant", ""), ("tool", "Rain in Kiel."), ("assistant", "It rains in Kiel."),
    ]  # fmt: skip
    sent = first.seen[-1]
    assert isinstance(sent[0], SystemMessage)
    assert sent[0].text.startswith("Be kind.")
    assert [type(message) for message in sent[-3:]] == [HumanMessage, AIMessage, ToolMessage]
    chat.end().wait()

    second = model("In Kiel.")
    agent = create_agent(second, [], middleware=[PalimpsestMiddleware(user=user)])
    agent.invoke(asked("Where do I live?"), named(f"{user}-friday"))
    (sent,) = second.seen
    assert any("I live in Kiel." in message.text for message in sent)
    assert sent[-1].text == "Where do I live?"


def test_the_agent_searches_the_users_memory_with_a_tool(user: str) -> None:
    Palimpsest().user(user).remember("Has a cat called Mia.")
    llm = model(calls("search_memory_tool", query="Is there a cat?"), "A cat.")
    agent = create_agent(llm, [], middleware=[PalimpsestMiddleware(user=user)])
    state = agent.invoke(asked("Hello"), named(user))
    assert llm.tools == ["search_memory_tool"]
    (result,) = (message for message in state["messages"] if isinstance(message, ToolMessage))
    assert "Mia" in result.text
    silent = create_agent(
        model("Hi."), [], middleware=[PalimpsestMiddleware(user=user, search=False)]
    )
    silent.invoke(asked("Hello"), named(f"{user}-2"))


def test_a_call_of_the_model_that_is_repeated_stores_the_message_once(user: str) -> None:
    for order in (1, -1):
        llm = model("Hi.", failures=2)
        middleware = [ModelRetryMiddleware(initial_delay=0), PalimpsestMiddleware(user=user)]
        agent = create_agent(llm, [], middleware=middleware[::order])
        session = f"{user}{order}"
        agent.invoke(asked("Hello"), named(session))
        rows = [row["content"] for row in Palimpsest().session(session).messages()]
        assert rows == ["Hello", "Hi."]


def test_an_agent_without_a_checkpointer_sends_its_transcript_and_a_new_process_goes_on(
    user: str,
) -> None:
    messages: list[Any] = []
    for number in range(3):
        agent = create_agent(
            model(f"Answer {number}"), [], middleware=[PalimpsestMiddleware(user=user)]
        )
        messages = agent.invoke(
            {"messages": [*messages, HumanMessage(f"Question {number}")]}, named(user)
        )["messages"]
    rows = [row["content"] for row in Palimpsest().session(user).messages()]
    assert rows == [f"{speaker} {n}" for n in range(3) for speaker in ("Question", "Answer")]


def test_asynchronous_agents_and_streams_remember_too(user: str) -> None:
    agent = create_agent(model("Noted."), [], middleware=[PalimpsestMiddleware(user=user)])

    async def run() -> None:
        await agent.ainvoke(asked("Hello"), named(f"{user}-a"))
        async for _ in agent.astream(asked("Hello"), named(f"{user}-b"), stream_mode="messages"):
            pass

    asyncio.run(run())
    for _ in agent.stream(asked("Hello"), named(f"{user}-c"), stream_mode="messages"):
        pass
    for name in "abc":
        rows = [row["content"] for row in Palimpsest().session(f"{user}-{name}").messages()]
        assert rows == ["Hello", "Noted."]


@dataclass
class Caller:
    name: str


def test_user_and_session_come_from_the_run(user: str) -> None:
    agent = create_agent(
        model("Hi."), [], context_schema=Caller,
        middleware=[PalimpsestMiddleware(
            user=lambda runtime: runtime.context.name,
            session=lambda runtime: f"of-{runtime.context.name}")],
    )  # fmt: skip
    agent.invoke(asked("Hello"), context=Caller(user))
    assert Palimpsest().session(f"of-{user}").read()["user_id"] == user


def test_a_run_that_names_no_conversation_is_refused(user: str) -> None:
    agent = create_agent(model("Hi."), [], middleware=[PalimpsestMiddleware(user=user)])
    with pytest.raises(ValueError, match="thread_id"):
        agent.invoke(asked("Hello"))
    assert list(Palimpsest().user(user).sessions()) == []


def test_a_long_conversation_stays_within_the_sessions_budget(user: str) -> None:
    memory = Palimpsest()
    memory.session(user, user=user, memory={"strategy": "trim", "max_tokens": 900}).begin()
    llm = model("Noted. " * 20)
    agent = create_agent(
        llm, [], checkpointer=InMemorySaver(), middleware=[PalimpsestMiddleware(user=user)]
    )
    for number in range(12):
        agent.invoke(asked(f"{number} " + "word " * 60), named(user))
    assert len(llm.seen[-1]) < 12
    assert llm.seen[-1][-1].text.startswith("11 ")
    assert len(list(memory.session(user).messages())) == 24


def test_what_the_models_calls_used_is_counted(user: str) -> None:
    spent = {"input_tokens": 40, "output_tokens": 4, "total_tokens": 44}
    reply = AIMessage("Hi.", usage_metadata=spent, response_metadata={"model_name": "gpt-4.1-nano"})
    agent = create_agent(model(reply), [], middleware=[PalimpsestMiddleware(user=user)])
    agent.invoke(asked("Hello"), named(user))
    (row,) = Palimpsest().usage(by="user", user_id=user)
    assert (row["chat_tokens_in"], row["chat_tokens_out"]) == (40, 4)

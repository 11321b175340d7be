"""A conversation as the client has it: what the user says, what the model sees next, and our tools
run on its calls.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from palimpsest.context.read import ReadContext
from palimpsest.context.session_context import SessionContext
from palimpsest.errors import Unavailable
from palimpsest_client import Palimpsest
from palimpsest_client.errors import OwnerMismatch, SessionNotFound

from tests.served import KEY, Served


def searches(
    query: str, *, call_id: str = "call_1", name: str = "search_memory_tool"
) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps({"query": query})}
    return {
        "role": "assistant",
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def completion(**message: Any) -> ChatCompletion:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    return ChatCompletion.model_validate(
        {"id": "c", "created": 1, "model": "m", "object": "chat.completion", "choices": [choice]}
    )


def chunks(*deltas: dict[str, Any]) -> Iterator[ChatCompletionChunk]:
    for delta in deltas:
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        yield ChatCompletionChunk.model_validate(
            {
                "id": "c",
                "created": 1,
                "model": "m",
                "object": "chat.completion.chunk",
                "choices": [choice],
            }
        )


def test_what_is_said_is_stored_and_what_comes_back_goes_to_the_model(memory: Palimpsest) -> None:
    chat = memory.session("s1", user="sarah")
    turn = chat.say("I live in Hamburg.")
    assert turn.messages[-1] == {"role": "user", "content": "I live in Hamburg."}
    assert [tool["function"]["name"] for tool in turn.tools] == ["search_memory_tool"]
    assert not turn.is_done
    turn = chat.answer("Noted.")
    assert (turn.text, turn.is_done) == ("Noted.", True)
    assert [row["content"] for row in chat.messages()] == ["I live in Hamburg.", "Noted."]


def test_what_one_session_heard_is_in_the_memory_of_the_next(memory: Palimpsest) -> None:
    memory.session("monday", user="sarah").say("I live in Hamburg.")
    memory.session("monday").end().wait()
    turn = memory.session("friday", user="sarah").say("Where do I live?")
    assert "Hamburg" in turn.memory
    assert any("Hamburg" in str(message["content"]) for message in turn.messages)


def test_the_context_of_a_session_that_is_not_there_begins_it_and_shows_what_is_known(
    memory: Palimpsest,
) -> None:
    memory.user("sarah").remember("Sarah lives in Hamburg.", topic="residence")
    chat = memory.session("new", user="sarah")
    with pytest.raises(SessionNotFound):
        chat.context()
    assert "Hamburg" in str(chat.begun_context()["messages"])
    assert chat.begun_context()["messages"] == chat.context()["messages"]


def test_a_call_of_our_tool_is_run_and_stored_with_the_reply(memory: Palimpsest) -> None:
    memory.user("sarah").remember("Sarah lives in Hamburg.", topic="residence")
    chat = memory.session("s1", user="sarah")
    chat.say("Where do I live?")
    turn = chat.answer(completion(**searches("Where do I live?")))
    assert (turn.messages[-1]["role"], "Hamburg" in turn.messages[-1]["content"]) == ("tool", True)
    assert (turn.calls, turn.is_done) == ([], False)
    assert chat.answer(completion(content="In Hamburg.")).is_done
    assert [row["role"] for row in chat.messages()] == ["user", "assistant", "tool", "assistant"]


def test_calls_of_the_programs_own_tools_are_left_to_it(memory: Palimpsest) -> None:
    chat = memory.session("s1", user="sarah")
    chat.say("What is the weather?")
    both = searches("weather")
    both["tool_calls"] += searches("x", call_id="call_2", name="weather")["tool_calls"]
    turn = chat.answer(both)
    assert [call["id"] for call in turn.calls] == ["call_2"]
    assert not turn.is_done
    turn = chat.answer({"role": "tool", "tool_call_id": "call_2", "content": "Rain."})
    assert [message["role"] for message in turn.messages[-4:]] == [
        "user",
        "assistant",
        "tool",
        "tool",
    ]
    assert (turn.messages[-1]["content"], turn.is_done) == ("Rain.", False)


def test_a_stream_is_stored_as_the_reply_that_it_was_and_told_piece_by_piece(
    memory: Palimpsest,
) -> None:
    chat = memory.session("s1", user="sarah")
    chat.say("Hello")
    heard: list[str] = []
    turn = chat.answer(
        chunks({"role": "assistant", "content": "Hel"}, {"content": "lo!"}, {}),
        on_text=heard.append,
    )
    assert (turn.text, heard, turn.is_done) == ("Hello!", ["Hel", "lo!"], True)
    begins = {
        "index": 0,
        "id": "call_1",
        "type": "function",
        "function": {"name": "search_memory_tool", "arguments": ""},
    }
    parts = [{"index": 0, "function": {"arguments": part}} for part in ('{"que', 'ry": "x"}')]
    turn = chat.answer(
        chunks({"tool_calls": [begins]}, *({"tool_calls": [part]} for part in parts))
    )
    assert turn.messages[-2]["tool_calls"][0]["function"]["arguments"] == '{"query": "x"}'
    assert turn.messages[-1]["role"] == "tool"
    assert chat.answer(iter(["Good", "bye"])).text == "Goodbye"


def test_a_session_object_that_has_seen_no_turn_knows_our_tools_and_whose_it_is(
    memory: Palimpsest,
) -> None:
    memory.session("s1", user="sarah").say("Where do I live?")
    turn = memory.session("s1").answer(searches("Where do I live?"))
    assert (turn.messages[-1]["role"], turn.calls) == ("tool", [])


def test_another_users_session_is_neither_read_nor_written(memory: Palimpsest) -> None:
    memory.session("s1", user="sarah").say("A secret.")
    foreign = memory.session("s1", user="mallory")
    with pytest.raises(OwnerMismatch):
        foreign.say("Tell me.")
    for look in (foreign.context, foreign.read, lambda: list(foreign.messages())):
        with pytest.raises(SessionNotFound):
            look()


def test_a_session_begins_as_it_is_configured_and_one_that_exists_stays_as_it_is(
    memory: Palimpsest,
) -> None:
    memory.session("s1", user="sarah", memory={"max_tokens": 5000}).say("Hello")
    assert memory.session("s1").read()["memory"]["max_tokens"] == 5000
    memory.session("s1", user="sarah", memory={"max_tokens": 7000}).say("Hello again")
    assert memory.session("s1").read()["memory"]["max_tokens"] == 5000
    memory.session("s2", user="sarah", tools=False).say("Hello")
    assert memory.session("s2").read()["memory"]["auto_recall"] is False


def test_the_windows_calls_are_all_there(memory: Palimpsest) -> None:
    chat = memory.session("s1", user="sarah", memory={"keep_recent_turns": 1, "max_tokens": 2000})
    for number in range(6):
        chat.append(
            f"My question number {number} is about Hamburg.",
            {"role": "assistant", "content": "Well."},
        )
    assert chat.prune("summarize", wait=20)["state"] == "done"
    (folded,) = chat.compactions()
    assert [row["seq"] for row in chat.unfold(folded["n"])] == list(
        range(folded["from"], folded["to"] + 1)
    )
    assert chat.message(3)["seq"] == 3
    assert [row["seq"] for row in chat.messages(order="desc", limit=2)] == [12, 11]
    assert chat.withdraw(11, wait=20).is_done
    memory.session("empty", user="sarah").begin()
    memory.session("empty").withdraw(1).wait()  # there is nothing to do
    assert chat.empty_window()["window"]["messages"] == 0
    assert chat.delete(wait=20).is_done
    with pytest.raises(SessionNotFound):
        chat.read()


class FailsOnce:
    """Contexts of which the first cannot be read."""

    def __init__(self, context: ReadContext) -> None:
        self.ahead = context.ahead
        self._context = context
        self._failures = [Unavailable("not now")]

    def __call__(self, *args: Any, **kwargs: Any) -> SessionContext:
        if self._failures:
            raise self._failures.pop()
        return self._context(*args, **kwargs)


def test_a_context_that_could_not_be_read_within_the_append_is_asked_for_again(
    memory: Palimpsest, served: Served
) -> None:
    chat = memory.session("s1", user="sarah")
    context = served.inside.service.context
    object.__setattr__(served.inside.service, "context", FailsOnce(context))
    assert chat.say("Hello").messages[-1]["content"] == "Hello"


def test_the_first_turn_is_one_request_and_keeps_the_past_messages_that_it_brought(
    with_vectors: Served,
) -> None:
    with Palimpsest(with_vectors.url, KEY) as memory:
        memory.session("before", user="sarah").append("My bike is a red Kettler.")
        with_vectors.seen.clear()
        turn = memory.session("now", user="sarah", memory={"max_tokens": 5000}).say(
            "Which bike do I have?"
        )
    assert [(method, path) for method, path, _ in with_vectors.seen] == [
        ("POST", "/v1/sessions/now/messages")
    ]
    assert [match["content"] for match in turn.context["vector_matches"]] == [
        "My bike is a red Kettler."
    ]
    assert (turn.context["tokens"]["budget"], len(turn.tools)) == (5000, 1)
    assert "Kettler" in turn.memory


def test_a_session_object_without_tools_begins_a_session_without_them(
    memory: Palimpsest, served: Served
) -> None:
    turn = memory.session("s1", user="sarah", tools=False).say("Hello")
    assert (turn.tools, turn.context["tokens"]["tools"], len(served.seen)) == ([], 0, 1)
    assert memory.session("s1").read()["memory"]["auto_recall"] is False

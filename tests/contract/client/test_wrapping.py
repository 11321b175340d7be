"""A loop over the real SDKs of OpenAI and Anthropic remembers once its client is wrapped; their
servers are fakes.
"""

import json
from collections.abc import Callable
from typing import Any

import anthropic
import anyio
import httpx2
import openai
import pytest
from palimpsest_client import AsyncPalimpsest, Palimpsest, wrap_anthropic, wrap_openai
from palimpsest_client.anthropic_messages import pointed
from palimpsest_client.calls import TRIES
from palimpsest_client.errors import ConnectionLost

from tests.served import KEY, Served, lost

Reply = dict[str, Any]
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


class Model:
    """Answers as the SDK's server would. `asked` holds what it was sent, `replies` what it says
    next, `fails` how often it fails first.
    """

    def __init__(
        self, written: Callable[[Reply], Any], events: Callable[[Reply], list[Any]]
    ) -> None:
        self._written, self._events = written, events
        self.asked: list[dict[str, Any]] = []
        self.replies: list[Reply] = []
        self.fails = 0

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        self.asked.append(body)
        if self.fails:
            self.fails -= 1
            return httpx2.Response(500)
        reply = self.replies.pop(0) if self.replies else {"content": f"reply {len(self.asked)}"}
        if not body.get("stream"):
            return httpx2.Response(200, json=self._written(reply))
        lines = [
            f"event: {event.get('type', 'x')}\ndata: {json.dumps(event)}\n\n"
            for event in self._events(reply)
        ]
        return httpx2.Response(
            200, headers={"content-type": "text/event-stream"}, text="".join(lines)
        )

    async def asynchronous(self, request: httpx2.Request) -> httpx2.Response:
        return self(request)


def of_openai() -> Model:
    def head(kind: str, **choice: Any) -> Any:
        return {
            "id": "c",
            "created": 1,
            "model": "m",
            "object": kind,
            "choices": [{"index": 0, **choice}],
        }

    def events(reply: Reply) -> list[Any]:
        halves = [
            {"role": "assistant", "content": reply["content"][:3]},
            {"content": reply["content"][3:]},
        ]
        return [head("chat.completion.chunk", delta=half, finish_reason=None) for half in halves]

    def written(reply: Reply) -> Any:
        return head("chat.completion", finish_reason="stop", message={"role": "assistant", **reply})

    return Model(written, events)


def of_anthropic() -> Model:
    def blocks(reply: Reply) -> list[Any]:
        said = reply["content"]
        return [{"type": "text", "text": said}] if isinstance(said, str) else said

    def head(reply: Reply) -> Any:
        usage = {"input_tokens": 1, "output_tokens": 1}
        return {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": blocks(reply),
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": usage,
        }

    def events(reply: Reply) -> list[Any]:
        told: list[Any] = [{"type": "message_start", "message": {**head(reply), "content": []}}]
        for index, block in enumerate(blocks(reply)):
            empty = {**block, **({"text": ""} if block["type"] == "text" else {"input": {}})}
            delta = (
                {"type": "text_delta", "text": block["text"]} if block["type"] == "text"
                else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            )  # fmt: skip
            told += [
                {"type": "content_block_start", "index": index, "content_block": empty},
                {"type": "content_block_delta", "index": index, "delta": delta},
                {"type": "content_block_stop", "index": index},
            ]
        return [*told, {"type": "message_stop"}]

    return Model(head, events)


@pytest.fixture
def model() -> Model:
    return of_openai()


@pytest.fixture
def claude() -> Model:
    return of_anthropic()


def openai_client(model: Model) -> openai.OpenAI:
    return openai.OpenAI(
        api_key="k", http_client=httpx2.Client(transport=httpx2.MockTransport(model))
    )


def anthropic_client(model: Model) -> anthropic.Anthropic:
    return anthropic.Anthropic(
        api_key="k", http_client=httpx2.Client(transport=httpx2.MockTransport(model))
    )


def stored(memory: Palimpsest, session: str) -> list[tuple[str, Any]]:
    return [(row["role"], row.get("content")) for row in memory.session(session).messages()]


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def test_an_openai_loop_that_sends_its_transcript_remembers_it_once(
    memory: Palimpsest, model: Model
) -> None:
    plain = openai_client(model)
    client = wrap_openai(plain, user="sarah", session="monday", memory=memory)
    messages: list[Any] = [{"role": "system", "content": "Be kind."}]
    for text in ("I live in Hamburg.", "yes", "yes"):
        messages.append(user(text))
        reply = client.chat.completions.create(model="m", messages=messages)
        messages.append(reply.choices[0].message)
    assert stored(memory, "monday") == [
        ("system", "Be kind."), ("user", "I live in Hamburg."), ("assistant", "reply 1"),
        ("user", "yes"), ("assistant", "reply 2"), ("user", "yes"), ("assistant", "reply 3"),
    ]  # fmt: skip
    assert isinstance(client, openai.OpenAI)
    plain.chat.completions.create(model="m", messages=[user("not remembered")])
    assert len(stored(memory, "monday")) == 7

    memory.session("monday").end().wait()
    friday = wrap_openai(plain, user="sarah", memory=memory)
    friday.chat.completions.create(model="m", messages=[user("Where do I live?")])
    assert "Hamburg" in json.dumps(model.asked[-1]["messages"][:-1])
    assert model.asked[-1]["messages"][-1] == user("Where do I live?")


def test_a_loop_that_sends_only_what_is_new_is_sent_the_whole_context(
    memory: Palimpsest, model: Model
) -> None:
    client = wrap_openai(openai_client(model), user="sarah", session="s", memory=memory)
    for text in ("one", "two", "two"):
        client.chat.completions.create(model="m", messages=[user(text)])
    assert [text for _, text in stored(memory, "s")] == [
        "one",
        "reply 1",
        "two",
        "reply 2",
        "two",
        "reply 3",
    ]
    assert [message["content"] for message in model.asked[-1]["messages"]][-5:] == [
        "one",
        "reply 1",
        "two",
        "reply 2",
        "two",
    ]


def test_a_loop_that_begins_again_with_its_transcript_stores_nothing_twice(
    memory: Palimpsest, model: Model
) -> None:
    told = [user("one"), {"role": "assistant", "content": "reply 1"}]
    wrap_openai(
        openai_client(model), user="sarah", session="s", memory=memory
    ).chat.completions.create(model="m", messages=told[:1])
    again = wrap_openai(openai_client(model), user="sarah", session="s", memory=memory)
    again.chat.completions.create(model="m", messages=[*told, user("two")])
    assert [text for _, text in stored(memory, "s")] == ["one", "reply 1", "two", "reply 2"]


def test_a_call_that_fails_and_is_made_again_says_nothing_twice(
    memory: Palimpsest, model: Model
) -> None:
    client = wrap_openai(
        openai_client(model).with_options(max_retries=0), user="sarah", session="s", memory=memory
    )
    model.fails = 1
    with pytest.raises(openai.InternalServerError):
        client.chat.completions.create(model="m", messages=[user("one")])
    assert stored(memory, "s") == [("user", "one")]
    client.chat.completions.create(model="m", messages=[user("one")])
    assert stored(memory, "s") == [("user", "one"), ("assistant", "reply 2")]


def test_a_loops_first_call_takes_one_request_to_say_and_is_sent_what_was_said_before(
    with_vectors: Served, model: Model
) -> None:
    with Palimpsest(with_vectors.url, KEY) as memory:
        memory.session("before", user="sarah").append("My bike is a red Kettler.")
        client = wrap_openai(
            openai_client(model).with_options(max_retries=0),
            user="sarah",
            session="s",
            memory=memory,
        )
        with_vectors.seen.clear()
        model.fails = 1
        with pytest.raises(openai.InternalServerError):
            client.chat.completions.create(model="m", messages=[user("Which bike do I have?")])
        assert [method for method, path, _ in with_vectors.seen if "order=desc" not in path] == [
            "POST"
        ]
        client.chat.completions.create(model="m", messages=[user("Which bike do I have?")])
        assert len(stored(memory, "s")) == 2
    first, again = (json.dumps(each["messages"]) for each in model.asked)
    assert "Kettler" in first
    assert again == first


def test_what_a_loop_says_again_after_a_lost_answer_is_stored_once(
    memory: Palimpsest, served: Served, model: Model
) -> None:
    client = wrap_openai(openai_client(model), user="sarah", session="s", memory=memory)
    client.chat.completions.create(model="m", messages=[user("one")])
    served.after = [lost] * TRIES
    with pytest.raises(ConnectionLost):
        client.chat.completions.create(model="m", messages=[user("two")])
    client.chat.completions.create(model="m", messages=[user("two")])
    assert [text for _, text in stored(memory, "s")] == ["one", "reply 1", "two", "reply 2"]


def test_calls_of_the_loops_own_tools_are_stored_with_their_results(
    memory: Palimpsest, model: Model
) -> None:
    client = wrap_openai(openai_client(model), user="sarah", session="s", memory=memory)
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    model.replies = [{"tool_calls": [call]}]
    messages = [user("Is it raining?")]
    reply = client.chat.completions.create(model="m", messages=messages)
    messages += [
        reply.choices[0].message,
        {"role": "tool", "tool_call_id": "call_1", "content": "Rain."},
    ]
    client.chat.completions.create(model="m", messages=messages)
    assert [role for role, _ in stored(memory, "s")] == ["user", "assistant", "tool", "assistant"]
    assert [message["role"] for message in model.asked[-1]["messages"]] == [
        "user",
        "assistant",
        "tool",
    ]


def test_a_streamed_reply_is_stored_when_it_ends_or_is_left(
    memory: Palimpsest, model: Model
) -> None:
    client = wrap_openai(openai_client(model), user="sarah", session="s", memory=memory)
    stream = client.chat.completions.create(model="m", messages=[user("one")], stream=True)
    assert [part.choices[0].delta.content for part in stream] == ["rep", "ly 1"]
    with client.chat.completions.create(model="m", messages=[user("two")], stream=True) as stream:
        next(iter(stream))
    assert [text for _, text in stored(memory, "s")] == ["one", "reply 1", "two", "rep"]


def test_a_call_of_a_tool_that_is_left_half_written_is_not_stored(
    memory: Palimpsest, claude: Model
) -> None:
    client = wrap_anthropic(anthropic_client(claude), user="sarah", session="s", memory=memory)
    use = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Hamburg"}}
    claude.replies = [{"content": [{"type": "text", "text": "One moment."}, use]}]
    with client.messages.create(
        model="m", max_tokens=9, messages=[user("Rain?")], stream=True
    ) as stream:
        for event in stream:
            if event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                event.delta.partial_json = event.delta.partial_json[:-4]
                break
    (row,) = memory.session("s").messages(order="desc", limit=1)
    assert (row["content"], row.get("tool_calls")) == ("One moment.", None)


def test_a_parsed_reply_is_stored_as_the_text_that_it_was(memory: Palimpsest, model: Model) -> None:
    import pydantic

    class City(pydantic.BaseModel):
        name: str

    client = wrap_openai(openai_client(model), user="sarah", session="s", memory=memory)
    model.replies = [{"content": '{"name": "Hamburg"}'}]
    reply = client.chat.completions.parse(
        model="m", messages=[user("Where?")], response_format=City
    )
    assert reply.choices[0].message.parsed == City(name="Hamburg")
    (row,) = memory.session("s").messages(order="desc", limit=1)
    assert (row["content"], "parsed" in row) == ('{"name": "Hamburg"}', False)


def test_an_anthropic_loop_remembers(memory: Palimpsest, claude: Model) -> None:
    client = wrap_anthropic(anthropic_client(claude), user="sarah", session="s", memory=memory)
    messages: list[Any] = [user("I live in Hamburg.")]
    reply = client.messages.create(model="m", max_tokens=9, system="Be kind.", messages=messages)
    messages += [{"role": "assistant", "content": reply.content}, user("Is it raining?")]
    use = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Hamburg"}}
    claude.replies = [{"content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, use]}]
    reply = client.messages.create(model="m", max_tokens=9, system="Be kind.", messages=messages)
    result = {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": [{"type": "text", "text": "Rain."}],
    }
    messages += [
        {"role": "assistant", "content": reply.content},
        {"role": "user", "content": [result]},
    ]
    client.messages.create(model="m", max_tokens=9, system="Be kind.", messages=messages)
    assert stored(memory, "s") == [
        ("system", "Be kind."),
        ("user", "I live in Hamburg."),
        ("assistant", "reply 1"),
        ("user", "Is it raining?"),
        ("assistant", None),
        ("tool", "Rain."),
        ("assistant", "reply 3"),
    ]
    sent = claude.asked[-1]
    assert sent["system"] == "Be kind."
    assert [message["role"] for message in sent["messages"]] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert [block["type"] for block in sent["messages"][-2]["content"]] == ["thinking", "tool_use"]


def test_what_an_anthropic_loop_streams_and_shows_is_stored(
    memory: Palimpsest, claude: Model
) -> None:
    client = wrap_anthropic(anthropic_client(claude), user="sarah", session="s", memory=memory)
    use = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Hamburg"}}
    claude.replies = [{"content": [{"type": "text", "text": "I look."}, use]}]
    given: Any = [{"role": "user", "content": [IMAGE, {"type": "text", "text": "Where is that?"}]}]
    for _ in client.messages.create(model="m", max_tokens=9, messages=given, stream=True):
        pass
    shown, reply = memory.session("s").messages()
    assert shown["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "text", "text": "Where is that?"},
    ]
    assert reply["content"] == "I look."
    calls = reply["tool_calls"] or []
    assert [json.loads(call["function"]["arguments"]) for call in calls] == [{"city": "Hamburg"}]
    assert claude.asked[-1]["messages"] == given


def test_asynchronous_clients_remember_too(
    served: Served, memory: Palimpsest, model: Model, claude: Model
) -> None:
    def http(fake: Model) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=httpx2.MockTransport(fake.asynchronous))

    async def loops() -> None:
        async with AsyncPalimpsest(served.url, KEY) as there:
            client = wrap_openai(
                openai.AsyncOpenAI(api_key="k", http_client=http(model)),
                user="sarah",
                session="a",
                memory=there,
            )
            await client.chat.completions.create(model="m", messages=[user("one")])
            stream = await client.chat.completions.create(
                model="m", messages=[user("two")], stream=True
            )
            assert len([part async for part in stream]) == 2
            other = wrap_anthropic(
                anthropic.AsyncAnthropic(api_key="k", http_client=http(claude)),
                user="sarah", session="b", memory=there,
            )  # fmt: skip
            await other.messages.create(model="m", max_tokens=9, messages=[user("one")])
            with pytest.raises(TypeError, match="AsyncPalimpsest"):
                wrap_openai(openai.AsyncOpenAI(api_key="k"), user="sarah", memory=memory)

    anyio.run(loops)
    assert [text for _, text in stored(memory, "a")] == ["one", "reply 1", "two", "reply 2"]
    assert [text for _, text in stored(memory, "b")] == ["one", "reply 1"]


def test_a_long_transcript_of_before_is_stored_whole(memory: Palimpsest, model: Model) -> None:
    client = wrap_openai(openai_client(model), user="sarah", session="s", memory=memory)
    told = [user(f"message {number}") for number in range(120)]
    client.chat.completions.create(model="m", messages=told)
    assert len(stored(memory, "s")) == 121


def test_an_openai_loop_sends_the_key_of_its_sessions_cache_to_whoever_takes_it(
    memory: Palimpsest, model: Model
) -> None:
    def keys(base_url: str | None, **asked: Any) -> Any:
        plain = openai_client(model).with_options(base_url=base_url)
        client = wrap_openai(plain, user="sarah", session="s", memory=memory)
        client.chat.completions.create(model="m", messages=[user("Hello")], **asked)
        return model.asked[-1].get("prompt_cache_key")

    own = keys(None)
    assert len(own) == 32
    assert keys("http://127.0.0.1:11434/v1") == own
    assert keys("https://api.mistral.ai/v1") is None
    assert keys(None, extra_body={"prompt_cache_key": "mine"}) == "mine"


def test_an_anthropic_loop_sends_the_cache_points_of_the_context(
    memory: Palimpsest, claude: Model
) -> None:
    memory.user("sarah").remember("Sarah lives in Hamburg.")
    client = wrap_anthropic(anthropic_client(claude), user="sarah", session="s", memory=memory)
    client.messages.create(model="m", max_tokens=10, messages=[user("Hello")])
    sent = claude.asked[-1]["messages"]
    blocks = [block for each in sent for block in each["content"]]
    first, last = [block for block in blocks if "cache_control" in block]
    assert "Hamburg" in first["text"]
    assert last["text"] == "Hello"


def test_a_message_that_the_loop_gave_keeps_its_own_blocks_and_gets_the_point() -> None:
    own = {"role": "user", "content": [IMAGE, {"type": "text", "text": "Hello"}]}
    point = {"cache_control": {"type": "ephemeral"}}
    shown = {"role": "user", "content": [{"type": "text", "text": "Hello", **point}]}
    assert pointed(own, shown)["content"] == [IMAGE, {"type": "text", "text": "Hello", **point}]
    assert pointed(own, {"role": "user", "content": "Hello"}) is own
    thought = {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}]}
    assert pointed(thought, shown) is thought


def say_usage(model: Model) -> None:
    """The server says what it has used: in an answer, and in a stream's last chunk if asked."""
    usage = {
        "prompt_tokens": 5_000,
        "completion_tokens": 20,
        "total_tokens": 5_020,
        "prompt_tokens_details": {"cached_tokens": 4_096},
    }
    written, events = model._written, model._events
    told = {"model": "gpt-4.1-mini", "usage": usage}
    model._written = lambda reply: {**written(reply), **told}

    def with_usage(reply: Reply) -> list[Any]:
        chunks = [{**chunk, "model": "gpt-4.1-mini"} for chunk in events(reply)]
        is_asked = (model.asked[-1].get("stream_options") or {}).get("include_usage")
        return [*chunks, {**chunks[-1], "choices": [], **told}] if is_asked else chunks

    model._events = with_usage


def chat_usage(memory: Palimpsest) -> tuple[Any, ...]:
    (row,) = memory.usage(by="user")
    names = ("chat_calls", "chat_tokens_in", "chat_tokens_cached", "chat_tokens_out")
    counts: dict[str, Any] = {**row}
    return (*(counts[name] for name in names), counts["chat_cost_usd"])


COST = (904 * 0.4 + 4_096 * 0.1 + 20 * 1.6) / 1_000_000


@pytest.mark.parametrize("stream", [False, True])
def test_what_an_openai_loop_used_is_counted_with_what_its_cache_served(
    memory: Palimpsest, model: Model, *, stream: bool
) -> None:
    say_usage(model)
    client = wrap_openai(openai_client(model), user="sarah", memory=memory)
    asked: Any = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
    reply: Any = client.chat.completions.create(**asked, stream=stream)
    if stream:
        chunks = list(reply)
        assert all(chunk.choices for chunk in chunks)  # as a loop that has not asked expects it
    assert chat_usage(memory) == (1, 5_000, 4_096, 20, pytest.approx(COST))


def test_a_loop_that_asks_for_its_streams_usage_gets_it(memory: Palimpsest, model: Model) -> None:
    say_usage(model)
    client = wrap_openai(openai_client(model), user="sarah", memory=memory)
    *_, last = client.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": "Hello"}],
        stream=True,
        stream_options={"include_usage": True},
    )
    assert last.usage is not None
    assert last.usage.prompt_tokens == 5_000
    assert chat_usage(memory)[:3] == (1, 5_000, 4_096)


@pytest.mark.parametrize("stream", [False, True])
def test_what_an_anthropic_loop_used_is_counted_with_what_its_cache_served(
    memory: Palimpsest, claude: Model, *, stream: bool
) -> None:
    usage = {
        "input_tokens": 100,
        "cache_read_input_tokens": 4_000,
        "cache_creation_input_tokens": 900,
        "output_tokens": 1,
    }
    written, events = claude._written, claude._events
    told = {"model": "claude-haiku-4-5-20251001", "usage": usage}
    claude._written = lambda reply: {
        **written(reply),
        **told,
        "usage": {**usage, "output_tokens": 20},
    }

    def with_usage(reply: Reply) -> list[Any]:
        begin, *more, end = events(reply)
        delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
        return [
            {**begin, "message": {**begin["message"], **told}},
            *more,
            {**delta, "usage": {"output_tokens": 20}},
            end,
        ]

    claude._events = with_usage
    client = wrap_anthropic(anthropic_client(claude), user="sarah", memory=memory)
    asked: Any = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "Hi"}]}
    reply: Any = client.messages.create(**asked, stream=stream)
    if stream:
        list(reply)
    cost = (100 * 1 + 4_000 * 0.1 + 900 * 1.25 + 20 * 5) / 1_000_000
    assert chat_usage(memory) == (1, 5_000, 4_000, 20, pytest.approx(cost))

"""Two lines that give a loop memory. They wrap a client of OpenAI's or Anthropic's SDK, so that it
sends contexts instead of transcripts.

client = wrap_openai(openai.OpenAI(), user="sarah")
"""

from __future__ import annotations

import json
import uuid
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Any, Self, TypeVar, cast
from urllib.parse import urlsplit

from palimpsest_client.anthropic_messages import (
    chats_of,
    marks_of,
    pointed,
    reply_of,
    reply_of_events,
)
from palimpsest_client.awaited import AsyncPalimpsest, AsyncSession
from palimpsest_client.blocking import Palimpsest
from palimpsest_client.calls import Steps
from palimpsest_client.errors import SessionNotFound
from palimpsest_client.said import Message, Reply, message_of, parts
from palimpsest_client.sessions import SessionCalls, Turn
from palimpsest_client.used import (
    Used,
    used_of_anthropic,
    used_of_chunks,
    used_of_events,
    used_of_openai,
)

Client = TypeVar("Client")
Mark = str
"""The parts that distinguish one message from another: role, text and calls."""
LOOKED_BACK, MOST_AT_ONCE = 50, 50
KEYED_HOSTS, LOOPBACK = (".openai.com", ".azure.com"), ("127.0.0.1", "localhost", "::1")
"""The hosts that accept or ignore the key of a prompt cache."""


def wrap_openai(
    client: Client,
    *,
    user: str,
    session: str | None = None,
    memory: Palimpsest | AsyncPalimpsest | None = None,
) -> Client:
    """Return a copy of an `OpenAI` or `AsyncOpenAI` client whose `chat.completions.create` (also
    with `stream=True`) and `parse` remember. New messages in `messages` are stored, the model gets
    the session's context, and its reply is stored. Everything else of the client is unchanged,
    including `responses`.

    The copy has one conversation, which is `session` or a new one. `client.palimpsest` is its
    session.
    """
    wrapped = _copy(client, user=user, session=session, memory=memory)
    completions = cast("Any", wrapped).chat.completions
    heard = _heard(wrapped)
    for name in ("create", "parse"):
        _remember(wrapped, completions, name, _OpenAI, heard)
    return wrapped


def wrap_anthropic(
    client: Client,
    *,
    user: str,
    session: str | None = None,
    memory: Palimpsest | AsyncPalimpsest | None = None,
) -> Client:
    """Return a copy of an `Anthropic` or `AsyncAnthropic` client whose `messages.create` remembers
    (also with `stream=True`). It works as `wrap_openai` does.
    """
    wrapped = _copy(client, user=user, session=session, memory=memory)
    heard = _heard(wrapped)
    _remember(wrapped, cast("Any", wrapped).messages, "create", _Anthropic, heard)
    return wrapped


class _OpenAI:
    """The requests and answers of OpenAI's chat API."""

    @staticmethod
    def messages(arguments: Mapping[str, Any]) -> list[Message]:
        return [message_of(message) for message in arguments["messages"]]

    @staticmethod
    def with_context(turn: Turn, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the model's input: the context, with the loop's own messages unchanged."""
        own = {mark_of(message_of(message)): message for message in arguments["messages"]}
        messages = [own.get(mark_of(message), message) for message in turn.messages]
        return {**arguments, "messages": messages}

    @staticmethod
    def keyed(turn: Turn, arguments: Mapping[str, Any], *, host: str) -> dict[str, Any]:
        """Return the model's input with the key of the session's prompt cache. The key is sent only
        to hosts that are known to accept or ignore it, because some compatible servers refuse
        unknown fields.
        """
        key = turn.context.get("prompt_cache_key")
        body = arguments.get("extra_body") or {}
        is_given = "prompt_cache_key" in arguments or "prompt_cache_key" in body
        if not key or is_given or not _takes_keys(host):
            return dict(arguments)
        return {**arguments, "extra_body": {**body, "prompt_cache_key": key}}

    @staticmethod
    def stored(reply: Any) -> Message:
        return {name: value for name, value in message_of(reply).items() if name != "parsed"}

    @staticmethod
    def used(reply: Any) -> Used | None:
        return used_of_openai(_said_of_usage(reply))

    @staticmethod
    def streamed(parts: Sequence[Any]) -> Message:
        reply = Reply()
        for part in parts:
            reply.add(part)
        return reply.message

    @staticmethod
    def used_by_stream(parts: Sequence[Any]) -> Used | None:
        return used_of_chunks(part.model_dump(exclude_none=True) for part in parts)

    @staticmethod
    def counted(arguments: Mapping[str, Any], *, host: str) -> dict[str, Any]:
        """Return the model's input with a request for the usage at the end of a stream, which the
        loop has not made. Some compatible servers refuse options that they do not know.
        """
        options = arguments.get("stream_options")
        if not arguments.get("stream") or options is not None or not _takes_keys(host):
            return dict(arguments)
        return {**arguments, "stream_options": {"include_usage": True}}

    @staticmethod
    def is_for_us(part: Any) -> bool:
        """Return whether a chunk holds nothing but the usage. A loop that did not ask for the usage
        expects no such chunk.
        """
        return not part.choices and part.usage is not None

    form = "openai"


class _Anthropic:
    """The requests and answers of Anthropic's Messages API."""

    @staticmethod
    def messages(arguments: Mapping[str, Any]) -> list[Message]:
        return chats_of(arguments["messages"], system=arguments.get("system"))

    @staticmethod
    def with_context(turn: Turn, arguments: Mapping[str, Any]) -> dict[str, Any]:
        own = {marks_of(message): message for message in arguments["messages"]}
        system = turn.context.get("system")
        without = {name: value for name, value in arguments.items() if name != "system"}
        messages = [
            pointed(own[marks_of(message)], message) if marks_of(message) in own else message
            for message in turn.messages
        ]
        return {**without, "messages": messages, **({"system": system} if system else {})}

    @staticmethod
    def keyed(turn: Turn, arguments: Mapping[str, Any], *, host: str) -> dict[str, Any]:  # noqa: ARG004 - as OpenAI's
        """Return the model's input. Anthropic's API has cache points and needs no key."""
        return dict(arguments)

    @staticmethod
    def stored(reply: Any) -> Message:
        return reply_of(reply.model_dump(exclude_none=True))

    @staticmethod
    def used(reply: Any) -> Used | None:
        return used_of_anthropic(_said_of_usage(reply))

    @staticmethod
    def streamed(parts: Sequence[Any]) -> Message:
        return reply_of_events(part.model_dump(exclude_none=True) for part in parts)

    @staticmethod
    def used_by_stream(parts: Sequence[Any]) -> Used | None:
        return used_of_events(part.model_dump(exclude_none=True) for part in parts)

    @staticmethod
    def counted(arguments: Mapping[str, Any], *, host: str) -> dict[str, Any]:  # noqa: ARG004 - as OpenAI's
        """Return the model's input unchanged, because every stream of Anthropic's states
        its usage.
        """
        return dict(arguments)

    @staticmethod
    def is_for_us(part: Any) -> bool:  # noqa: ARG004 - as OpenAI's
        return False

    form = "anthropic"


def _said_of_usage(reply: Any) -> dict[str, Any]:
    fields: dict[str, Any] = reply.model_dump(include={"model", "usage"}, exclude_none=True)
    return fields


def _takes_keys(host: str) -> bool:
    return host in LOOPBACK or host.endswith(KEYED_HOSTS)


Api = type[_OpenAI] | type[_Anthropic]


class Heard:
    """The messages of a loop that the session already has. New messages in the next call are
    recognized by them.
    """

    def __init__(self, calls: SessionCalls) -> None:
        self._calls = calls
        self._has_looked = False
        self._last: Mark | None = None
        self._system: str | None = None
        self._unanswered: tuple[Sequence[Message], str] | None = (
            None  # what was said last, and the key of its append
        )

    def turn(self, messages: Sequence[Message], form: str) -> Steps[Turn]:
        """Store the messages that are new, and return the model's next input."""
        if not self._has_looked:
            yield from self._look_back()
        new = self._new(messages)
        *earlier, newest = parts(new, most=MOST_AT_ONCE) or [[]]
        for part in earlier:
            yield from self._calls.append(*part)
            self._learn(part)
        if newest and (self._unanswered is None or list(newest) != list(self._unanswered[0])):
            self._unanswered = newest, uuid.uuid4().hex
        if self._unanswered is not None:
            # a loop that repeats itself uses the same key, so it is stored once
            unanswered, key = self._unanswered
            turn = yield from self._calls.say(*unanswered, key=key, format=form)
            self._learn(unanswered)
            return turn
        context = yield from self._calls.context(format=form)
        return Turn(list(context["messages"]), [], context["memory_prompt"], context)

    def store(self, reply: Message, used: Used | None = None) -> Steps[None]:
        """Remember the model's reply, and count the usage of the call."""
        if len(reply) > 1:
            yield from self._calls.append(reply, usage=used)
            self._learn([reply])
            self._unanswered = None

    def _look_back(self) -> Steps[None]:
        """Read the last messages of the session, if it exists."""
        self._has_looked = True
        try:
            stored, _ = yield from self._calls.messages(order="desc", limit=LOOKED_BACK).page(
                None, 0
            )
            system = (yield from self._calls.read())["system"]
        except SessionNotFound:
            return
        self._learn([cast("Message", row) for row in reversed(stored)])
        self._system = None if system is None else mark_of(message_of(system, role="system"))

    def _new(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages after the last known message. If a loop sends no history, return the
        messages after the last reply.
        """
        chats = [chat for chat in messages if not _is_system(chat)]
        systems = [chat for chat in messages if _is_system(chat)]
        begins = 0
        if self._last is not None:
            places = [at for at, chat in enumerate(chats, 1) if mark_of(chat) == self._last]
            replies = [at for at, chat in enumerate(chats, 1) if chat["role"] == "assistant"]
            begins = (places or replies or [0])[-1]
        is_other = bool(systems) and mark_of(systems[-1]) != self._system
        return [*(systems[-1:] if is_other else ()), *chats[begins:]]

    def _learn(self, stored: Sequence[Message]) -> None:
        for message in stored:
            if _is_system(message):
                self._system = mark_of(message)
            else:
                self._last = mark_of(message)


def mark_of(message: Mapping[str, Any]) -> Mark:
    content = message.get("content") or ""
    text = content if isinstance(content, str) else json.dumps(content, sort_keys=True)
    calls = [call["id"] for call in message.get("tool_calls") or ()]
    return json.dumps(
        [message["role"].replace("developer", "system"), text, calls, message.get("tool_call_id")]
    )


def _is_system(message: Mapping[str, Any]) -> bool:
    return message["role"] in ("system", "developer")


def _copy(
    client: Client, *, user: str, session: str | None, memory: Palimpsest | AsyncPalimpsest | None
) -> Client:
    """Return a copy of the client over the same connections, with the session as its attribute
    `palimpsest`.
    """
    is_async = type(client).__name__.startswith("Async")
    service = memory or (AsyncPalimpsest() if is_async else Palimpsest())
    if isinstance(service, AsyncPalimpsest) != is_async:
        raise TypeError("An asynchronous client needs an AsyncPalimpsest, any other a Palimpsest.")
    wrapped = cast("Any", client).with_options()
    wrapped.palimpsest = service.session(
        session or f"loop-{uuid.uuid4().hex}", user=user, tools=False
    )
    return cast("Client", wrapped)


def _heard(wrapped: Any) -> Heard:
    return Heard(wrapped.palimpsest._calls)  # noqa: SLF001 - our own


def _remember(wrapped: Any, resource: Any, name: str, api: Api, heard: Heard) -> None:
    """Replace the resource's method by a method that remembers."""
    original: Callable[..., Any] = getattr(resource, name)
    connection = wrapped.palimpsest._connection  # noqa: SLF001 - our own
    host = urlsplit(str(getattr(wrapped, "base_url", ""))).hostname or ""

    def sent(turn: Turn, arguments: Mapping[str, Any]) -> dict[str, Any]:
        keyed = api.keyed(turn, api.with_context(turn, arguments), host=host)
        return api.counted(keyed, host=host)

    def hides(arguments: Mapping[str, Any]) -> Callable[[Any], bool]:
        return api.is_for_us if arguments.get("stream_options") is None else _nothing

    def ask(**arguments: Any) -> Any:
        turn = connection.run(heard.turn(api.messages(arguments), api.form))
        reply = original(**sent(turn, arguments))
        if arguments.get("stream"):
            return Streamed(reply, lambda parts: connection.run(streamed(parts)), hides(arguments))
        connection.run(heard.store(api.stored(reply), api.used(reply)))
        return reply

    async def ask_async(**arguments: Any) -> Any:
        turn = await connection.run(heard.turn(api.messages(arguments), api.form))
        reply = await original(**sent(turn, arguments))
        if arguments.get("stream"):
            return AsyncStreamed(
                reply, lambda parts: connection.run(streamed(parts)), hides(arguments)
            )
        await connection.run(heard.store(api.stored(reply), api.used(reply)))
        return reply

    def streamed(parts: Sequence[Any]) -> Steps[None]:
        return heard.store(api.streamed(parts), api.used_by_stream(parts))

    is_async = isinstance(wrapped.palimpsest, AsyncSession)
    setattr(resource, name, ask_async if is_async else ask)


def _nothing(_: Any) -> bool:
    """Return False, because no part of the stream is hidden."""
    return False


class Streamed:
    """The SDK's stream. It stores the reply when the stream ends or is closed. It does not show
    parts that it `hides`.
    """

    def __init__(
        self, stream: Any, store: Callable[[Sequence[Any]], Any], hides: Callable[[Any], bool]
    ) -> None:
        self._stream, self._store, self._hides = stream, store, hides
        self._parts: list[Any] = []
        self._reading = self._read()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return self._reading

    def __next__(self) -> Any:
        return next(self._reading)

    def close(self) -> None:
        self._reading.close()
        self._stream.close()

    def _read(self) -> Generator[Any, None, None]:
        try:
            for part in self._stream:
                self._parts.append(part)
                if not self._hides(part):
                    yield part
        finally:
            self._store(self._parts)


class AsyncStreamed:
    """The SDK's asynchronous stream. It stores the reply when the stream ends or is closed."""

    def __init__(
        self,
        stream: Any,
        store: Callable[[Sequence[Any]], Awaitable[Any]],
        hides: Callable[[Any], bool],
    ) -> None:
        self._stream, self._store, self._hides = stream, store, hides
        self._parts: list[Any] = []
        self._reading = self._read()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._reading

    async def __anext__(self) -> Any:
        return await anext(self._reading)

    async def close(self) -> None:
        await self._reading.aclose()
        await self._stream.close()

    async def _read(self) -> AsyncGenerator[Any, None]:
        try:
            async for part in self._stream:
                self._parts.append(part)
                if not self._hides(part):
                    yield part
        finally:
            await self._store(self._parts)

"""Converts a program's messages and a model's answers to chat messages. They may be texts,
mappings, results of SDKs, and streams of these.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

Message = dict[str, Any]
Said = str | Mapping[str, Any] | Any
"""A text, a chat message, or an object of an SDK that dumps to one (`ChatCompletion`, its message,
its chunks).
"""
OnText = Callable[[str], object]


def message_of(value: Said, *, role: str = "user") -> Message:
    """Return the value as a chat message. A plain text becomes a message of the role `role`. Raises
    `TypeError` for any other value.
    """
    if isinstance(value, str):
        return {"role": role, "content": value}
    if isinstance(value, Mapping):
        message: Mapping[str, Any] = value
    elif callable(dump := getattr(value, "model_dump", None)):
        message = dump(exclude_none=True)
    else:
        raise TypeError(f"{type(value).__name__} is neither a text nor a chat message.")
    if choices := message.get("choices"):
        message = choices[0]["message"]
    return {name: value for name, value in message.items() if value is not None}


def parts(
    messages: Sequence[Message], *, most: int, largest: int | None = None
) -> list[Sequence[Message]]:
    """Return the messages in parts of at most `most` messages, and of at most `largest` bytes if a
    part has more than one message. The service stores consecutive calls of tools as one message, so
    no part ends between them, unless a whole part consists of them.
    """
    done: list[Sequence[Message]] = []
    while (room := _fitting(messages, most, largest)) < len(messages):
        end = next((place for place in range(room, 0, -1) if _begins_part(messages, place)), room)
        done.append(messages[:end])
        messages = messages[end:]
    return [*done, messages] if messages else done


def _fitting(messages: Sequence[Message], most: int, largest: int | None) -> int:
    """Return how many messages fit into a part."""
    if largest is None:
        return most
    sizes = accumulate(len(json.dumps(message, default=str)) for message in messages[:most])
    return max(1, sum(size <= largest for size in sizes))


def _begins_part(messages: Sequence[Message], place: int) -> bool:
    """Return whether a part may begin with the message at this place. It may not if the message
    answers a call or is between calls. Items between calls do not begin a part.
    """
    message = messages[place]
    if message.get("role") == "tool":
        return False
    before: Message = next(
        (earlier for earlier in messages[place - 1 :: -1] if earlier.get("role") != "item"), {}
    )
    is_among = message.get("role") == "item" or message.get("tool_calls")
    return not (before.get("tool_calls") and is_among)


def is_stream(value: Said) -> bool:
    """Return whether the value is a stream of chunks or a generator of texts."""
    whole = isinstance(value, str | Mapping) or hasattr(value, "model_dump")
    return not whole and isinstance(value, Iterable | AsyncIterable)


class Reply:
    """A reply that arrives in parts, which are chunks of the chat API or plain texts. `on_text` is
    called with each piece of text.
    """

    def __init__(self, on_text: OnText | None = None) -> None:
        self._on_text = on_text
        self._fields: Message = {}
        self._calls: dict[int, Message] = {}

    def add(self, part: Said) -> None:
        if isinstance(part, str):
            self._add_text("content", part)
            return
        chunk = part if isinstance(part, Mapping) else part.model_dump(exclude_none=True)
        for choice in chunk.get("choices") or ():
            if choice.get("index", 0) == 0:
                self._add_delta(choice.get("delta") or {})

    def _add_delta(self, delta: Mapping[str, Any]) -> None:
        for name in ("content", "refusal"):
            if text := delta.get(name):
                self._add_text(name, text)
        for part in delta.get("tool_calls") or ():
            begun = self._calls.setdefault(
                part["index"], {"type": "function", "function": {"name": "", "arguments": ""}}
            )
            if part.get("id"):
                begun["id"] = part["id"]
            for name, text in (part.get("function") or {}).items():
                begun["function"][name] = begun["function"].get(name, "") + (text or "")

    def _add_text(self, name: str, text: str) -> None:
        self._fields[name] = self._fields.get(name, "") + text
        if self._on_text is not None:
            self._on_text(text)

    @property
    def message(self) -> Message:
        """Return the reply so far, as one message of the assistant."""
        calls = [self._calls[number] for number in sorted(self._calls)]
        return {"role": "assistant", **self._fields, **({"tool_calls": calls} if calls else {})}


def read_stream(stream: Iterable[Any], on_text: OnText | None) -> Message:
    """Read a stream to its end, and return its message."""
    reply = Reply(on_text)
    for part in stream:
        reply.add(part)
    return reply.message


async def read_async_stream(stream: AsyncIterable[Any], on_text: OnText | None) -> Message:
    reply = Reply(on_text)
    async for part in stream:
        reply.add(part)
    return reply.message


def reply_of(value: Said, on_text: OnText | None) -> Message:
    """Return the assistant's message. A stream is read to its end."""
    return read_stream(value, on_text) if is_stream(value) else message_of(value, role="assistant")


async def async_reply_of(value: Said, on_text: OnText | None) -> Message:
    if isinstance(value, AsyncIterable):
        return await read_async_stream(value, on_text)
    return reply_of(value, on_text)

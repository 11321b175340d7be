"""Make messages fit a prompt: the largest are cut in the middle, so that every message is still seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

from palimpsest.conversations.messages import Message, called
from palimpsest.conversations.window.render import plain, transcript
from palimpsest.text.cutting import Count, cut, level


def abridged(messages: Sequence[Message], *, room: int, count: Count) -> tuple[Message, ...]:
    """The messages with so much left out that their transcript has about `room` tokens; all of them if they fit."""
    sizes = [count(transcript((message,))) + 1 for message in messages]
    if sum(sizes) <= room:
        return tuple(messages)
    height = level(sizes, room=room)
    return tuple(
        message if size <= height else _cut(message, size=size, height=height, count=count)
        for message, size in zip(messages, sizes, strict=True)
    )


def _cut(message: Message, *, size: int, height: int, count: Count) -> Message:
    """The message with content and arguments cut so that its element has about `height` tokens."""

    def escaped(text: str) -> int:
        return count(escape(text, quote=False))

    calls: Sequence[Mapping[str, Any]] = message.chat.get("tool_calls") or ()
    texts = [plain(message.chat.get("content")), str(message.chat.get("refusal") or "")]
    texts += [called(call)[1] for call in calls]
    weights = [escaped(text) for text in texts]
    limit = level(weights, room=max(0, height - (size - sum(weights))))
    content, refusal, *arguments = (
        cut(text, limit=limit, count=escaped, tokens=weight, seq=message.seq)[0]
        for text, weight in zip(texts, weights, strict=True)
    )
    return replace(message, chat=_with(message.chat, content, refusal, arguments))


def _with(chat: Mapping[str, Any], content: str, refusal: str, arguments: Sequence[str]) -> Mapping[str, Any]:
    """The message with other texts: as a transcript shows it, not as the chat API would take it."""
    calls = [
        {"id": call["id"], "type": "function", "function": {"name": called(call)[0], "arguments": text}}
        for call, text in zip(chat.get("tool_calls") or (), arguments, strict=True)
    ]
    return {**chat, "content": content, "refusal": refusal or None, "tool_calls": calls}

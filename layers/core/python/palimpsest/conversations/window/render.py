"""How stored messages and summaries are written for a model: as chat messages, or as a transcript within its room."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any, Literal

from palimpsest.conversations.messages import CHAT_FIELDS, SUMMARY_PREFIX, SUMMARY_TOOL, Chat, Message, called
from palimpsest.text.cutting import Count, cut, level

SummaryAs = Literal["user", "system", "tool_call"]

SUMMARY_BEGIN, SUMMARY_END = "[Previous Conversation Summary]", "[End of Summary]"
_END = re.compile(re.escape(SUMMARY_END), re.IGNORECASE)


def shown(chat: Chat) -> Chat:
    """The message as the chat API takes it: the fields of its role, content always there, no empty list of calls."""
    message = {name: chat[name] for name in CHAT_FIELDS[chat["role"]] if chat.get(name) is not None}
    if not message.get("content"):
        message["content"] = ""
    if not message.get("tool_calls", True):
        del message["tool_calls"]
    return message


def summary_messages(text: str, summary_as: SummaryAs) -> tuple[Chat, ...]:
    """The chat messages that carry a summary. In a tool message its text can't write the line that ends it."""
    if summary_as != "tool_call":
        return ({"role": summary_as, "content": SUMMARY_PREFIX + text},)
    return called_for(f"{SUMMARY_BEGIN}\n{_END.sub('(End of Summary)', text)}\n{SUMMARY_END}", tool=SUMMARY_TOOL)


def called_for(content: str, *, tool: str) -> tuple[Chat, ...]:
    """A call of one of our own tools, and the content as its result."""
    call = {"id": f"call_{tool}", "type": "function", "function": {"name": tool, "arguments": "{}"}}
    return (
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": content},
    )


def plain(content: Any) -> str:
    """Content as one text: its parts joined by new lines, each that is no text named in brackets."""
    if isinstance(content, str):
        return content
    return "\n".join(_part(part) for part in content or ())


def _part(part: Mapping[str, Any]) -> str:
    text = part.get("text")
    return text if isinstance(text, str) else f"[{part.get('type', 'part')} left out]"


def transcript(messages: Sequence[Message]) -> str:
    """The messages for a prompt that is to read them as data: one element each, whose text can't close it or open
    another, so that nobody speaks in another's name.
    """
    return "\n".join(_element(message) for message in messages)


def _element(message: Message) -> str:
    attributes = {"seq": message.seq, "speaker": message.role, "name": message.chat.get("name")}
    attributes["answers"] = message.chat.get("tool_call_id")
    said = "".join(_inside(message.chat))
    return f"<message{_attributes(attributes)}>{said}</message>"


def _inside(chat: Chat) -> Iterator[str]:
    yield escape(plain(chat.get("content")), quote=False)
    yield escape(str(chat.get("refusal") or ""), quote=False)
    for call in chat.get("tool_calls") or ():
        name, text = called(call)
        yield f"<call{_attributes({'id': call['id'], 'name': name})}>{escape(text, quote=False)}</call>"


def _attributes(values: Mapping[str, Any]) -> str:
    return "".join(f' {name}="{escape(str(value))}"' for name, value in values.items() if value is not None)


def abridged(messages: Sequence[Message], *, room: int, count: Count) -> tuple[Message, ...]:
    """The messages with so much left out that their transcript has about `room` tokens; all of them if they fit. The
    largest are cut in the middle, so that every message is still seen.
    """
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

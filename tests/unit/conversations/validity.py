"""What the chat API refuses of a list of messages: what every context is held to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from palimpsest.conversations.message import CHAT_FIELDS, Chat
from palimpsest.conversations.own_tools import called
from palimpsest.text.cutting import REPLACED


def problems(messages: Sequence[Chat]) -> list[str]:
    """Why the chat API would refuse these messages; empty if it would not."""
    faults = [
        f"{number}: {problem}"
        for number, message in enumerate(messages)
        for problem in _shape(message)
    ]
    return faults + ([] if messages else ["there is no message"]) + list(_order(messages))


def _shape(message: Chat) -> Iterator[str]:
    role = message.get("role")
    if role not in CHAT_FIELDS:
        yield f"unknown role {role!r}"
        return
    yield from (
        f"field {name} is not of role {role}" for name in message if name not in CHAT_FIELDS[role]
    )
    if not _is_name(message.get("name", "-")):
        yield "a name that the chat API refuses"
    if not _is_content(message.get("content"), PARTS.get(role, PARTS["tool"])):
        yield "content is neither a text nor a list of parts"
    if role == "tool" and not _is_id(message.get("tool_call_id")):
        yield "a result names no call"
    if "tool_calls" in message and not message["tool_calls"]:
        yield "an empty list of calls"
    for call in message.get("tool_calls") or ():
        yield from _call(call)


PARTS: Mapping[str, tuple[str, ...]] = {
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
}


def _is_content(content: Any, parts: Sequence[str]) -> bool:
    if isinstance(content, list):
        return bool(content) and all(
            isinstance(part, dict)
            and part.get("type") in parts
            and set(part) == {"type", part["type"]}
            for part in content
        )
    return isinstance(content, str)


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and re.fullmatch(r"[^\s<|\\/>]{1,64}", name) is not None


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 40


def _call(call: Any) -> Iterator[str]:
    if not isinstance(call, dict) or not _is_id(call.get("id")):
        yield "a call without an id that the chat API takes"
        return
    name, text = called(call)
    if not name:
        yield f"call {call['id']!r} names no function"
    if text.startswith(REPLACED) and not _is_object(text):
        yield f"call {call['id']!r} has been cut into what is no JSON object"


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _order(messages: Sequence[Chat]) -> Iterator[str]:
    """Each result must follow its call directly, once, and each call must have one before anybody
    else speaks; the newest may wait for theirs.
    """
    waiting: dict[str, int] = {}  # call id, and the number of the message that makes the call
    for number, message in enumerate(messages):
        if message.get("role") == "tool":
            if waiting.pop(str(message.get("tool_call_id")), None) is None:
                yield f"{number}: a result without its call right before it"
        else:
            yield from _unanswered(waiting)
            waiting = {str(call.get("id")): number for call in message.get("tool_calls") or ()}


def _unanswered(waiting: Mapping[str, int]) -> Iterator[str]:
    return (f"{number}: call {call!r} has no result" for call, number in waiting.items())

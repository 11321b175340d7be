"""Our own memory tools: their names, and checks of which calls and results belong to them. These
are not remembered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from palimpsest.conversations.message import Message, short_call_id

SEARCH_TOOL, SUMMARY_TOOL, MEMORY_TOOL = "search_memory_tool", "memory_compress", "memory_recall"

REMEMBER_TOOL, FORGET_TOOL = "remember", "forget"

_OWN_TOOL = re.compile(
    rf"(?:.*(?:{SEARCH_TOOL}|{SUMMARY_TOOL}|{MEMORY_TOOL})|(?:.*__)?(?:{REMEMBER_TOOL}"
    rf"|{FORGET_TOOL}))",
    re.DOTALL,
)
"""The names of our own tools, whose calls and results are not remembered."""


def called(call: Mapping[str, Any]) -> tuple[str, str]:
    """Name and arguments of a call: JSON text for a function, free text for a custom tool."""
    inner = call.get(str(call.get("type", "function"))) or {}
    return str(inner.get("name", "")), str(inner.get("arguments", inner.get("input", "")))


def calls_own_tool(call: Mapping[str, Any]) -> bool:
    """Whether the call is of one of our own tools, also under a name with a prefix, as MCP clients
    write it.
    """
    return _OWN_TOOL.fullmatch(called(call)[0]) is not None


def answers_own_tool(message: Message, earlier: Sequence[Message]) -> bool:
    """Whether a tool's message answers a call of our own tools in one of the messages before it."""
    if message.role != "tool":
        return False
    calls = (call for each in reversed(earlier) for call in each.chat.get("tool_calls") or ())
    answering = short_call_id(message.chat.get("tool_call_id", ""))
    answered = (call for call in calls if short_call_id(call["id"]) == answering)
    return any(map(calls_own_tool, list(answered)[:1]))

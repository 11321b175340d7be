"""The memory tools of this service: their names, and checks of which calls and results belong to
them. Such calls and results are not remembered.
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
"""The pattern of the names of this service's memory tools."""


def called(call: Mapping[str, Any]) -> tuple[str, str]:
    """Return the name and the arguments of a call. The arguments are JSON text for a function, and
    free text for a custom tool.
    """
    inner = call.get(str(call.get("type", "function"))) or {}
    return str(inner.get("name", "")), str(inner.get("arguments", inner.get("input", "")))


def calls_own_tool(call: Mapping[str, Any]) -> bool:
    """Return whether a call calls one of this service's memory tools. The name may have a prefix,
    as MCP clients write it.
    """
    return _OWN_TOOL.fullmatch(called(call)[0]) is not None


def answers_own_tool(message: Message, earlier: Sequence[Message]) -> bool:
    """Return whether a tool message answers a call of one of this service's memory tools. `earlier`
    has the messages before it.
    """
    if message.role != "tool":
        return False
    calls = (
        call for preceding in reversed(earlier) for call in preceding.chat.get("tool_calls") or ()
    )
    answering = short_call_id(message.chat.get("tool_call_id", ""))
    answered = (call for call in calls if short_call_id(call["id"]) == answering)
    return any(map(calls_own_tool, list(answered)[:1]))

"""The number of tokens that a message takes in a context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from palimpsest.conversations.message import ITEM, Chat, Message, short_call_id
from palimpsest.text.cutting import Count

MESSAGE_OVERHEAD = (
    3  # tokens around each message in the chat format (OpenAI cookbook, "How to count tokens")
)

REPLY_PRIMING = 3  # tokens that open the model's reply (same source)

# The tokens of a 1024 x 1024 image at high detail (OpenAI's vision guide). Every part that is not
# text counts as this many.
IMAGE_TOKENS = 765


def weigh(chat: Chat, count: Count) -> int:
    """Return the tokens of a message in a context: content, name, tool calls with arguments, and
    the overhead of the chat format. The id of a call counts in the form that a context shows
    (`short_call_id`).

    The overhead of text follows OpenAI's cookbook. A part that is not text weighs `IMAGE_TOKENS`.
    An item weighs nothing, because no context shows it.
    """
    if chat["role"] == ITEM:
        return 0
    content = chat.get("content")
    tokens = MESSAGE_OVERHEAD + count(str(chat["role"]))
    if isinstance(content, str):
        tokens += count(content)
    else:
        tokens += sum(
            count(part["text"]) if isinstance(part.get("text"), str) else IMAGE_TOKENS
            for part in content or ()
        )
    if "name" in chat:
        tokens += 1 + count(str(chat["name"]))
    if "refusal" in chat:
        tokens += count(str(chat["refusal"]))
    if "tool_call_id" in chat:
        tokens += 1 + count(short_call_id(str(chat["tool_call_id"])))
    return tokens + sum(_weigh_call(call, count) for call in chat.get("tool_calls") or ())


def _weigh_call(call: Mapping[str, Any], count: Count) -> int:
    inner = call.get(str(call.get("type", "function"))) or {}
    texts = (
        short_call_id(call["id"]),
        inner.get("name", ""),
        inner.get("arguments", inner.get("input", "")),
    )
    return MESSAGE_OVERHEAD + sum(count(str(text)) for text in texts)


def weighed_in(message: Message, *, encoding: str, count: Count) -> Message:
    """Return the message with its tokens in `encoding`. They are counted again only if they were
    counted in another encoding.
    """
    if message.encoding == encoding:
        return message
    return replace(message, tokens=weigh(message.chat, count), encoding=encoding)

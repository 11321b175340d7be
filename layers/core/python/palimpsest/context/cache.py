"""Determines what a prompt cache can serve of a context: where its parts end, and how much it
shares with the context before.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal, get_args

from palimpsest.context.formats import ContextFormat, FormattedMessages, written
from palimpsest.context.session_context import SessionContext
from palimpsest.conversations.message import SYSTEM_ROLES, Chat
from palimpsest.conversations.own_tools import MEMORY_TOOL
from palimpsest.conversations.spoken import SUMMARY_PREFIX
from palimpsest.conversations.window.render import call_id_of
from palimpsest.errors import BadRequest
from palimpsest.scope import SessionScope

Part = Literal["system", "memory", "summary", "window", "recalled", "message"]
"""The parts of a context, in order. `memory` is the part of the memory before the conversation,
`recalled` the part before the newest user message, and `message` the message about to be sent.
"""
PARTS: tuple[Part, ...] = get_args(Part)

DIGEST = 3  # bytes of a message in a mark, besides one byte for its part
MOST_MARKED = 600  # messages; all later ones count as new
LONGEST_MARK = 4 * (DIGEST + 1) * MOST_MARKED // 3 + 4  # characters


@dataclass(frozen=True, slots=True)
class CacheUse:
    """The beginning that a context shares with an earlier context. It has `common_tokens` tokens
    and ends before the message with the number `broke_at`, which belongs to the part `why`. If
    `broke_at` is None, the context begins with the whole earlier context.
    """

    common_tokens: int
    broke_at: int | None = None
    why: Part | None = None


def parts_of(context: SessionContext) -> list[Part]:
    """Return the part to which each message belongs."""
    memory = context.memory
    last = len(context.messages) - 1
    parts: list[Part] = []
    for number, (chat, place) in enumerate(
        zip(context.messages, context.fitted.places, strict=True)
    ):
        if place is not None:
            parts.append("window")
        elif context.has_given and number == last:
            parts.append("message")
        elif memory.recalled and chat.get("content") == memory.recalled:
            parts.append("recalled")
        else:
            parts.append(_made(chat, is_memory=_carries(chat, memory.stable or memory.text)))
    return parts


def _carries(chat: Chat, text: str) -> bool:
    """Return whether the message carries the memory, or calls the tool whose result carries it."""
    calls = [call.get("id") for call in chat.get("tool_calls") or ()]
    return bool(text) and (chat.get("content") == text or call_id_of(MEMORY_TOOL) in calls)


def _made(chat: Chat, *, is_memory: bool) -> Part:
    """Return the part to which a message belongs that the context made. Such a message is not
    stored.
    """
    if is_memory:
        return "memory"
    is_summary = str(chat.get("content") or "").startswith(SUMMARY_PREFIX)
    return "system" if chat["role"] in SYSTEM_ROLES and not is_summary else "summary"


def points_of(context: SessionContext) -> tuple[int, ...]:
    """Return the numbers of the messages after which a cache point is worth its price. These are
    the last message before the conversation, and the last message that the next context will have
    in the same place. A short context without memory has none, because no provider caches it.
    """
    if not (context.memory.stable or context.head.is_cacheable):
        return ()
    parts = parts_of(context)
    before = [number for number, part in enumerate(parts) if part == "memory"]
    again = list(takewhile(lambda number: parts[number] != "recalled", range(len(parts))))
    return tuple(sorted({*before[-1:], *again[-1:]}))


def written_with_points(context: SessionContext, form: ContextFormat) -> FormattedMessages:
    """Return the messages in the form of an API, with cache points where these are worth their
    price.
    """
    return written(context.messages, form, points=points_of(context))


def mark_of(context: SessionContext) -> str:
    """Return a short text that identifies the messages of the context. The caller sends it with the
    next call.
    """
    marked = zip(context.messages, parts_of(context), strict=True)
    data = b"".join(
        bytes([PARTS.index(part)]) + _digest(chat) for chat, part in list(marked)[:MOST_MARKED]
    )
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def use_of(context: SessionContext, weights: Sequence[int], *, after: str) -> CacheUse:
    """Return how much the context shares with the context whose mark is `after`. `weights` are the
    tokens of its messages. Raises `BadRequest` (`invalid_after`).
    """
    before = _read(after)
    digests = [_digest(chat) for chat in context.messages]
    same = list(takewhile(lambda pair: pair[0] == pair[1][1], zip(digests, before, strict=False)))
    number = len(same)
    tokens = sum(weights[:number])
    if number == len(before):
        return CacheUse(tokens)
    return CacheUse(tokens, number, before[number][0])


def _read(mark: str) -> list[tuple[Part, bytes]]:
    wrong = BadRequest("`after` is not a mark that a context returned.", code="invalid_after")
    try:
        data = base64.b64decode(mark + "=" * (-len(mark) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error) as error:
        raise wrong from error
    size = DIGEST + 1
    if len(data) % size or any(part >= len(PARTS) for part in data[::size]):
        raise wrong
    return [
        (PARTS[data[start]], data[start + 1 : start + size]) for start in range(0, len(data), size)
    ]


def _digest(chat: Chat) -> bytes:
    text = json.dumps(chat, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:DIGEST]


def cache_key(scope: SessionScope) -> str:
    """Return a key by which providers route prompts to the same cache. It is a digest, so it
    reveals no id.
    """
    return hashlib.sha256(scope.session.encode()).hexdigest()[:32]

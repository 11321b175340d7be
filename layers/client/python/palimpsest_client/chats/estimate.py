"""Estimates the tokens of conversations, and what their extraction by a model costs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from palimpsest_client.chats.conversation import Chat

MODEL = "gpt-4.1-nano"
PROMPT_TOKENS = 1_500
"""Tokens of the service's instructions and of the form of the answer, in each call."""
CALL_TOKENS, CALL_MESSAGES = 8_000, 40
"""The most that one call reads."""
MARKUP_TOKENS = 30
"""Tokens around each message."""
ANSWER_SHARE = 0.35
"""Tokens of the answer for each token of the user's words. A statement of ten tokens becomes a
memory with its quote, topic and keywords, but most words are no statement to remember.
"""
WIDE = 3
"""Bytes of each character in most scripts that write without spaces."""
MILLION = 1_000_000
_WORD = re.compile(r"[A-Za-z]+|[^\W\d_]+|\d{1,3}|[^\w\s]+|\s*\n\s*|_+")


@dataclass(frozen=True, slots=True)
class Estimate:
    """The counts of an import. `cost_usd` is None if the model's price is not known."""

    conversations: int
    messages: int
    tokens: int
    model: str
    model_calls: int
    cost_usd: float | None


def estimate(chats: Iterable[Chat], model: str = MODEL) -> Estimate:
    """Return the counts of the conversations, with tokens and cost as estimates."""
    held = list(chats)
    messages = [message for chat in held for message in chat.messages]
    tokens, calls, read = 0, 0, 0
    for chat in held:
        own = sum(tokens_of(_text(message)) for message in chat.messages)
        with_markup = own + MARKUP_TOKENS * len(chat.messages)
        needed = max(-(-with_markup // CALL_TOKENS), -(-len(chat.messages) // CALL_MESSAGES))
        tokens, calls, read = tokens + own, calls + needed, read + with_markup
    from_user = sum(tokens_of(_text(message)) for message in messages if message["role"] == "user")
    written = int(from_user * ANSWER_SHARE)
    price = prices().get(model)
    paid = None if price is None else (calls * PROMPT_TOKENS + read) * price[0] + written * price[1]
    cost = None if paid is None else paid / MILLION
    return Estimate(len(held), len(messages), tokens, model, calls, cost)


def tokens_of(text: str) -> int:
    """Return about how many tokens a text has in the encoding o200k_base."""
    return sum(_weight(word) for word in _WORD.findall(text))


@cache
def prices() -> dict[str, tuple[float, float]]:
    """Return the prices of models in US dollars for a million tokens, in and out. `make catalogue`
    writes them.
    """
    text = (files("palimpsest_client.chats") / "prices.json").read_text(encoding="utf-8")
    return {name: (price[0], price[1]) for name, price in json.loads(text).items()}


def _weight(piece: str) -> int:
    if piece.isascii():
        return 1 + (len(piece) - 1) // 9 if piece.isalpha() else 1 + (len(piece) - 1) // 4
    size = len(piece.encode())
    is_wide = size == WIDE * len(piece)  # scripts of East Asia, among others
    return max(1, round(size / (4 if is_wide else 5.5)))


def _text(message: Any) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return " ".join(str(part.get("text") or "") for part in content if isinstance(part, dict))

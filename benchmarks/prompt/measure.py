"""Measures how much consecutive contexts have in common, and what they cost at list prices."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from palimpsest.models.tiktoken_counter import TiktokenCounter

from benchmarks.prompt.conversation import Turn

ENCODING = "o200k_base"
Chats = Sequence[Mapping[str, Any]]
COUNT = partial(TiktokenCounter().count, encoding=ENCODING)
AROUND = 3  # tokens around a message
LEAST_CACHED = 1_024
"""The tokens of the shortest beginning that a provider caches (OpenAI, and Anthropic's larger
models).
"""


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million tokens of input in US dollars, uncached and read from the cache."""

    model: str
    fresh: float
    cached: float


PRICES = (
    Price("gpt-4.1-mini", 0.40, 0.10),
    Price("gpt-4o-mini", 0.15, 0.075),
    Price("claude-sonnet-4.5", 3.00, 0.30),
)
"""List prices of August 2026, from the providers' price pages. Writing into Anthropic's cache costs
a quarter more than uncached input. `dollars` leaves that out.
"""


@dataclass(slots=True)
class Measured:
    """The sums over the contexts of one conversation. `common` counts the tokens with which a
    context begins like the one before. `cached` counts those of them that a provider caches.
    """

    contexts: int = 0
    messages: int = 0
    tokens: int = 0
    common: int = 0
    cached: int = 0
    later: int = 0  # tokens of all contexts but the first
    needed: int = 0
    found: int = 0
    misled: int = 0
    over_budget: int = 0
    _before: Chats = field(default=(), repr=False)

    def add(self, turn: Turn, chats: Chats, *, budget: int) -> None:
        weights = [weight(chat) for chat in chats]
        size = sum(weights)
        self.contexts += 1
        self.messages += len(chats)
        self.tokens += size
        self.over_budget += size > budget
        if self._before:
            same = common_tokens(self._before, chats)
            self.later += size
            self.common += same
            self.cached += same if same >= LEAST_CACHED else 0
        self._before = chats
        if turn.needed is not None:
            self.needed += 1
            text = "\n".join(json.dumps(chat, ensure_ascii=False) for chat in chats)
            place = text.rfind(turn.needed)
            self.found += place >= 0
            self.misled += any(text.rfind(value) > place for value in turn.outdated)

    @property
    def share(self) -> float:
        """Return the share of the contexts' tokens with which a context begins like the one
        before.
        """
        return self.common / max(1, self.later)

    def dollars(self, price: Price, *, with_cache: bool) -> float:
        cached = self.cached if with_cache else 0
        return ((self.tokens - cached) * price.fresh + cached * price.cached) / 1_000_000


def common_tokens(before: Chats, after: Chats) -> int:
    """Return the tokens of the common beginning. These are whole messages, and in the first message
    that differs the common beginning of its text.
    """
    tokens = 0
    for old, new in zip(before, after, strict=False):
        if old == new:
            tokens += weight(new)
            continue
        if old["role"] == new["role"]:
            tokens += _common_text(str(old.get("content")), str(new.get("content")))
        break
    return tokens


def _common_text(old: str, new: str) -> int:
    length = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), None)
    if length is None:
        length = min(len(old), len(new))
    return _tokens(new[:length])


@cache
def _tokens(text: str) -> int:
    return COUNT(text)


def weight(chat: Mapping[str, Any]) -> int:
    """Return the tokens of a message, in its text and its calls."""
    calls = json.dumps(chat["tool_calls"], sort_keys=True) if chat.get("tool_calls") else ""
    return AROUND + _tokens(str(chat.get("content") or "")) + _tokens(calls)

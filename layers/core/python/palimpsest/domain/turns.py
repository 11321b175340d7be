"""How a conversation falls into parts that are never split: call-and-result groups, and turns made of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol, TypeVar


class Spoken(Protocol):
    """Anything with a chat role."""

    @property
    def role(self) -> str: ...


Said = TypeVar("Said", bound=Spoken)


def groups(messages: Sequence[Said]) -> list[Sequence[Said]]:
    """Each message with the tool messages that follow it: an assistant's calls and their results stay together."""
    return _split(messages, [number for number, message in enumerate(messages) if message.role != "tool"])


def turns(messages: Sequence[Said]) -> list[Sequence[Said]]:
    """Each user message with all that follows it, up to the next one. What stands before the first is a turn too.

    Where no user speaks, each group is a turn: else such a conversation could only be kept or dropped as a whole.
    The last turn is the current chain.
    """
    asked = [number for number, message in enumerate(messages) if message.role == "user"]
    return _split(messages, asked) if asked else groups(messages)


def _split(messages: Sequence[Said], starts: Sequence[int]) -> list[Sequence[Said]]:
    """The messages in parts that begin at `starts`, and at the very first message."""
    bounds = [0, *(start for start in starts if start > 0), len(messages)]
    return [messages[start:end] for start, end in pairwise(bounds) if start < end]

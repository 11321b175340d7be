"""Runs the conversation through one library in its own environment, and prints each context as a
line of JSON. It uses the standard library and tiktoken.

python -m benchmarks.prompt.peers.<peer> '{"turns": 200, "folder": "/tmp/…", …}'
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol

from benchmarks.prompt import conversation

AROUND = 3  # tokens around a message, as `measure` counts
Chat = dict[str, str]


class Remembers(Protocol):
    """A library, set up as its documentation describes."""

    def learn(self, topic: str, statement: str) -> None:
        """Store the statement, which is valid for the topic from now on. Extraction would have
        found it.
        """

    def ask(self, question: str) -> Sequence[Chat]:
        """Return the context with which a model is asked the question."""

    def answered(self, text: str) -> None:
        """Store the model's answer to the newest question."""


def main(made: Callable[..., Remembers]) -> None:
    """Run the conversation. `made` is called with the folder in which the library may store data,
    and with the library's own options.
    """
    order: dict[str, Any] = json.loads(sys.argv[1])
    turns = order.pop("turns")
    memory = made(**order)
    for topic, value in conversation.at_first():
        memory.learn(topic, conversation.statement(topic, value))
    for turn in conversation.conversation(turns):
        if turn.changed is not None:
            topic, value = turn.changed
            memory.learn(topic, conversation.statement(topic, value))
        print(json.dumps(list(memory.ask(turn.question))))
        memory.answered(turn.answer)


@cache
def tokens(text: str) -> int:
    """Return the number of tokens, as `TiktokenCounter` counts them."""
    return len(encoding().encode(text, disallowed_special=()))


@cache
def encoding() -> Any:
    import tiktoken  # in the library's own environment

    return tiktoken.get_encoding("o200k_base")


def weight(text: str) -> int:
    """Return the tokens of a message with this text."""
    return AROUND + tokens(text)

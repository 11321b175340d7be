"""Language models: text for text, answers that follow a schema, and summaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from palimpsest.domain.messages import Message


@dataclass(frozen=True, slots=True)
class Usage:
    """What a step cost."""

    model_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            model_calls=self.model_calls + other.model_calls,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
        )


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer: non-empty text, the model that gave it, and what it cost."""

    text: str
    model: str
    usage: Usage


class ChatModel(Protocol):
    def complete(self, *, instructions: str, text: str, max_tokens: int, model: str | None = None) -> Completion:
        """One call, no retries, at most 30 s. `instructions` go into the system role, `text` (data) into the user role.

        Raises `ModelUnavailable` (time-out, connection, 408, 409, 429, 5xx; with Retry-After in seconds if told),
        `ModelOutputInvalid` (no JSON, no choices, refusal, empty, content filter, cut off before any text), and
        `ModelFailed`
        (`code` `model_refused_request`) for a 4xx that a retry can't mend.
        """

    def capacity(self, model: str | None = None) -> int:
        """Tokens that fit the model's own window, prompt and answer together."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A JSON Schema that an answer is to follow. `name` is what servers call it by (letters, digits, `_`)."""

    name: str
    body: Mapping[str, Any]


class JsonModel(Protocol):
    def complete_json(
        self, *, instructions: str, text: str, schema: Schema, max_tokens: int, model: str | None = None
    ) -> Completion:
        """As `ChatModel.complete`, for an answer in JSON: held to the schema by a server that can do so, else to JSON,
        else by `instructions` alone, which must therefore say what the answer looks like.

        The text is as it came: it may be no JSON, or cut off.
        """

    def capacity(self, model: str | None = None) -> int:
        """As `ChatModel.capacity`."""


@dataclass(frozen=True, slots=True)
class Summary:
    """`method` is `model` or `extractive`; `prompt_hash` names the prompt that made it."""

    text: str
    method: str
    model: str | None = None
    prompt_hash: str | None = None
    usage: Usage = field(default_factory=Usage)


class Summarizer(Protocol):
    def capacity(self, *, model: str | None, prompt: str | None, max_tokens: int) -> int:
        """Tokens of conversation (old summary and messages together) that one step can read when it may write
        `max_tokens`.
        """

    def summarize(
        self,
        *,
        previous: str | None,
        messages: Sequence[Message],
        max_tokens: int,
        prompt: str | None,
        model: str | None,
    ) -> Summary:
        """One summary, of at most `max_tokens` tokens, that stands for `previous` and for the messages.

        A message too large for the step is cut in the middle. At most one model call and one repair; errors as for
        `ChatModel`.
        """

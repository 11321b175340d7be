"""Contracts of a chat model, an embedder, a reranker and a token counter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from palimpsest.models.usage import Usage

if TYPE_CHECKING:
    from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer: non-empty text, the model that gave it, and what it cost."""

    text: str
    model: str
    usage: Usage


class ChatModel(Protocol):
    def complete(
        self, *, instructions: str, text: str, max_tokens: int, model: str | None = None
    ) -> Completion:
        """One call, no retries, at most 30 s. `instructions` go into the system role, `text` (data)
        into the user role.

        Raises `ModelUnavailable` after a time-out, a lost connection, 408, 409, 429 or 5xx, with
        Retry-After in seconds if the server sent it. Raises `ModelOutputInvalid` without JSON,
        choices or text, and after a refusal or a content filter. Raises `ModelFailed` (`code`
        `model_refused_request`) for any other 4xx.
        """

    def capacity(self, model: str | None = None) -> int:
        """Tokens that fit the model's own window, prompt and answer together."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A JSON Schema that an answer is to follow. `name` is what servers call it by (letters,
    digits, `_`).
    """

    name: str
    body: Mapping[str, Any]

    @classmethod
    def of(cls, model: type[BaseModel], *, name: str) -> Schema:
        """The schema of a pydantic model, without titles and references, which cost tokens and not
        every server reads.

        Strict servers want every object to require all its fields and to forbid others: the model
        has no defaults, and `extra="forbid"`.
        """
        body = model.model_json_schema()
        return cls(name, _plain(body, definitions=body.get("$defs", {})))


def _plain(node: Any, *, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(part, definitions=definitions) for part in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _plain(definitions[node["$ref"].rpartition("/")[2]], definitions=definitions)
    return {
        key: _plain(value, definitions=definitions)
        for key, value in node.items()
        if key != "$defs" and not (key == "title" and isinstance(value, str))
    }


class JsonModel(Protocol):
    def complete_json(
        self,
        *,
        instructions: str,
        text: str,
        schema: Schema,
        max_tokens: int,
        model: str | None = None,
    ) -> Completion:
        """As `ChatModel.complete`, for an answer in JSON. A server that can do so enforces the
        schema, another one JSON; for the rest the `instructions` must say what the answer looks
        like.

        The text is not checked: it may be no JSON, or cut off.
        """

    def capacity(self, model: str | None = None) -> int:
        """As `ChatModel.capacity`."""


class LanguageModel(ChatModel, JsonModel, Protocol):
    """A model that gives text, and answers that follow a schema."""


Vector = Sequence[float]


@dataclass(frozen=True, slots=True)
class Space:
    """The model that makes vectors, and how many numbers each has. Only vectors of one space
    compare.
    """

    model: str
    dimension: int


class Embedder(Protocol):
    @property
    def space(self) -> Space:
        """The space of the vectors it makes; known before the first call."""

    def embed(self, texts: Sequence[str], *, as_questions: bool = False) -> list[Vector]:
        """A vector of length 1 for each text, in their order; one call, no retries. Any text is
        taken, also an empty one; what is too long for the model is cut at its end. `as_questions`
        is for questions, which some models read in another way than the texts to find.

        Raises `ModelUnavailable` after a time-out, a lost connection, 408, 409, 429 or 5xx, and if
        a model can't be loaded. Raises `ModelOutputInvalid` unless each text has one finite vector
        of the space's dimension. Raises `ModelFailed` (`code` `model_refused_request`) for any
        other 4xx.
        """


class Reranker(Protocol):
    def scores(self, question: str, texts: Sequence[str], *, until: float) -> Sequence[float]:
        """How well each text answers the question, in their order, the more the better. The numbers
        compare within one question alone. It stops in time for `until` (of `time.monotonic()`):
        then the last texts have no score.

        The texts are data; what is too long for the model is cut at its end. No retries. Raises
        `ModelFailed`.
        """


class TokenCounter(Protocol):
    def encoding_for(self, model: str | None) -> str:
        """The encoding of a model; `o200k_base` for None and for a model it does not know. Never
        fails.
        """

    def count(self, text: str, encoding: str) -> int:
        """Tokens of `text`; special-token texts such as `<|endoftext|>` are counted as the plain
        text they are.

        Takes time in proportion to the text, whatever it repeats. Raises `ValueError` for an
        unknown encoding.
        """


class Secret(Protocol):
    def value(self) -> str | None:
        """The secret, which may be some minutes old; None if there is none. Raises
        `Unavailable`.
        """

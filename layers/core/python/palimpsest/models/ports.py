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
    """A model's answer: a non-empty text, the name of the model that gave it, and the usage of the
    call.
    """

    text: str
    model: str
    usage: Usage


class ChatModel(Protocol):
    def complete(
        self, *, instructions: str, text: str, max_tokens: int, model: str | None = None
    ) -> Completion:
        """Make one call, without retries, in at most 30 s. `instructions` go into the system role.
        `text` is data and goes into the user role.

        Raises `ModelUnavailable` after a time-out, a lost connection, 408, 409, 429 or 5xx. Its
        `retry_after` is the server's Retry-After in seconds, if there was one. Raises
        `ModelOutputInvalid` if the answer is not JSON or has no choices or text, and after a
        refusal or a content filter. Raises `ModelFailed` (`code` `model_refused_request`) for any
        other 4xx.
        """

    def capacity(self, model: str | None = None) -> int:
        """Return how many tokens fit the model's context window, prompt and answer together."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A JSON Schema for an answer. `name` is the schema's name in requests (letters, digits,
    `_`).
    """

    name: str
    body: Mapping[str, Any]

    @classmethod
    def of(cls, model: type[BaseModel], *, name: str) -> Schema:
        """Return the schema of a pydantic model, without titles and references. These cost tokens,
        and some servers can't read references.

        Strict servers accept only objects that require all their fields and forbid other fields.
        The model must therefore have no defaults, and set `extra="forbid"`.
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
        """Make one call as `ChatModel.complete` does, for an answer in JSON. A server that can
        enforce the schema does so. Some servers only enforce JSON, and some enforce nothing, so
        `instructions` must also describe the form of the answer.

        The text is not checked. It may be cut off or not be JSON.
        """

    def capacity(self, model: str | None = None) -> int:
        """Return how many tokens fit the model's context window, as `ChatModel.capacity` does."""


class LanguageModel(ChatModel, JsonModel, Protocol):
    """A model that gives answers as text and as JSON that follows a schema."""


Vector = Sequence[float]


@dataclass(frozen=True, slots=True)
class Space:
    """The model that makes vectors, and their dimension. Only vectors of the same space can be
    compared.
    """

    model: str
    dimension: int


class Embedder(Protocol):
    @property
    def space(self) -> Space:
        """Return the space of the vectors that this embedder makes. It is known before the first
        call.
        """

    def embed(self, texts: Sequence[str], *, as_questions: bool = False) -> list[Vector]:
        """Return a vector of length 1 for each text, in the order of the texts. Makes as few calls
        as the model allows, without retries.

        Every text is accepted, also an empty one. A text that is too long for the model is cut at
        its end. Set `as_questions` for questions, because some models read questions in another way
        than the texts that answer them.

        Raises `ModelUnavailable` after a time-out, a lost connection, 408, 409, 429 or 5xx, and if
        a model can't be loaded. Raises `ModelOutputInvalid` unless each text has one finite vector
        of the space's dimension. Raises `ModelFailed` (`code` `model_refused_request`) for any
        other 4xx.
        """


class Reranker(Protocol):
    def scores(self, question: str, texts: Sequence[str], *, until: float) -> Sequence[float]:
        """Return how well each text answers the question, in the order of the texts. A greater
        score is better. Scores of different questions can't be compared.

        It stops in time for `until` (of `time.monotonic()`). The last texts then have no score. The
        texts are data. A text that is too long for the model is cut at its end. No retries. Raises
        `ModelFailed`.
        """


class TokenCounter(Protocol):
    def encoding_for(self, model: str | None) -> str:
        """Return the encoding of a model. It is `o200k_base` for None and for an unknown model.
        Never raises.
        """

    def count(self, text: str, encoding: str) -> int:
        """Return the number of tokens in `text`. Texts of special tokens, such as `<|endoftext|>`,
        are counted as plain text.

        The time it takes is proportional to the length of the text, even if the text is repetitive.
        Raises `ValueError` for an unknown encoding.
        """


class Secret(Protocol):
    def value(self) -> str | None:
        """Return the secret, which may be some minutes old, or None if there is none. Raises
        `Unavailable`.
        """


class ReportUsage(Protocol):
    def __call__(self, tenant: str, used: Mapping[str, int], *, is_counted: bool) -> None:
        """Report the usage of a call. `is_counted` is false if the store could not count it."""

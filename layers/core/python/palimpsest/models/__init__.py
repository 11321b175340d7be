"""Models by their ports: chat, answers that follow a schema, embeddings, reranking, token counts, and their keys.

Here is also what embedders and indexes share: checks of vectors, the nearest of many, and an embedder that repeats no
text.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import math
import threading
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from typing import TYPE_CHECKING, Any, Protocol

from cachetools import LRUCache

if TYPE_CHECKING:
    from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Usage:
    """What model calls used: their number, and tokens sent and received."""

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

        Raises `ModelUnavailable` (time-out, connection, 408, 409, 429, 5xx; with Retry-After in seconds if the server
        sent it), `ModelOutputInvalid` (no JSON, no choices, refusal, empty, content filter, cut off before any text),
        and `ModelFailed` (`code` `model_refused_request`) for a 4xx that a retry does not cure.
        """

    def capacity(self, model: str | None = None) -> int:
        """Tokens that fit the model's own window, prompt and answer together."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A JSON Schema that an answer is to follow. `name` is what servers call it by (letters, digits, `_`)."""

    name: str
    body: Mapping[str, Any]

    @classmethod
    def of(cls, model: type[BaseModel], *, name: str) -> Schema:
        """The schema of a pydantic model, without titles and references, which cost tokens and not every server reads.

        Strict servers want every object to require all its fields and to forbid others: the model has no defaults, and
        `extra="forbid"`.
        """
        body = model.model_json_schema()
        return cls(name, _plain(body, definitions=body.get("$defs", {})))


def _plain(node: Any, *, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(each, definitions=definitions) for each in node]
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
        self, *, instructions: str, text: str, schema: Schema, max_tokens: int, model: str | None = None
    ) -> Completion:
        """As `ChatModel.complete`, for an answer in JSON. A server that can do so enforces the schema, another one
        JSON; for the rest the `instructions` must say what the answer looks like.

        The text is not checked: it may be no JSON, or cut off.
        """

    def capacity(self, model: str | None = None) -> int:
        """As `ChatModel.capacity`."""


class LanguageModel(ChatModel, JsonModel, Protocol):
    """A model that gives text, and answers that follow a schema."""


Vector = Sequence[float]


@dataclass(frozen=True, slots=True)
class Space:
    """The model that makes vectors, and how many numbers each has. Only vectors of one space compare."""

    model: str
    dimension: int


class Embedder(Protocol):
    @property
    def space(self) -> Space:
        """The space of the vectors it makes; known before the first call."""

    def embed(self, texts: Sequence[str], *, as_questions: bool = False) -> list[Vector]:
        """A vector of length 1 for each text, in their order; one call, no retries. Any text is taken, also an empty
        one; what is too long for the model is cut at its end. `as_questions` is for what is searched with: some models
        read it in another way than what is found.

        Raises `ModelUnavailable` (time-out, connection, 408, 409, 429, 5xx, a model that can't be loaded),
        `ModelOutputInvalid` (an answer that is not one finite vector of the space's dimension a text), and
        `ModelFailed` (`code` `model_refused_request`) for a 4xx that a retry does not cure.
        """


class Reranker(Protocol):
    def scores(self, question: str, texts: Sequence[str], *, until: float) -> Sequence[float]:
        """How well each text answers the question, in their order, the more the better. The numbers compare within one
        question alone. It stops in time for `until` (of `time.monotonic()`): then the last texts have no score.

        The texts are data; what is too long for the model is cut at its end. No retries. Raises `ModelFailed`.
        """


class TokenCounter(Protocol):
    def encoding_for(self, model: str | None) -> str:
        """The encoding of a model; `o200k_base` for None and for a model it does not know. Never fails."""

    def count(self, text: str, encoding: str) -> int:
        """Tokens of `text`; special-token texts such as `<|endoftext|>` are counted as the plain text they are.

        Takes time in proportion to the text, whatever it repeats. Raises `ValueError` for an unknown encoding.
        """


class Secret(Protocol):
    def value(self) -> str | None:
        """The secret, which may be some minutes old; None if there is none. Raises `Unavailable`."""


MAX_VECTORS = 512
MOST_NUMBERS = 400_000
"""Of one product: OpenBLAS computes it on one thread. On a busy machine several wait for each other, twenty times as
long as the product takes.
"""


def unit(vector: Vector) -> list[float]:
    """The vector at length 1. Raises `ValueError` if it has no direction: all zero, or not finite."""
    length = math.hypot(*vector)
    if not math.isfinite(length) or length == 0:
        raise ValueError("A vector must be finite and not zero.")
    return [value / length for value in vector]


def packed(vector: Vector) -> str:
    """The vector as text, its numbers in single precision."""
    return base64.b64encode(array("f", vector).tobytes()).decode()


def unpacked(text: str) -> Vector:
    values = array("f")
    values.frombytes(base64.b64decode(text))
    return values.tolist()


def check_vector(vector: Vector, space: Space | None) -> None:
    """Raise `ValueError` if the vector is not one of the space; `None` is the space of an index without vectors."""
    if space is None:
        raise ValueError("This index holds no vectors.")
    if len(vector) != space.dimension:
        raise ValueError(f"A vector of {space.dimension} numbers is needed, not of {len(vector)}.")
    unit(vector)


class Matrix:
    """Vectors of length 1, one after another as `numbers` in single precision; some hundred times slower where numpy is
    not installed.
    """

    def __init__(self, numbers: bytes, *, dimension: int) -> None:
        numpy = self._numpy = _numpy()
        self._numbers: Any = numpy.frombuffer(numbers, numpy.float32) if numpy else array("f", numbers)
        self._dimension = dimension

    def nearest(self, query: Sequence[float], *, among: Sequence[int] | None, k: int) -> Iterable[tuple[float, int]]:
        """The cosine and place of the k nearest at least: also of all that are as near as the last of them."""
        numpy, dimension = self._numpy, self._dimension
        if numpy is None:
            places = range(len(self._numbers) // dimension) if among is None else among
            return ((sum(map(mul, self._numbers[at * dimension : (at + 1) * dimension], query)), at) for at in places)
        rows, step = self._numbers.reshape(-1, dimension), MOST_NUMBERS // dimension
        wanted, scores = numpy.asarray(query, numpy.float32), numpy.empty(len(rows), numpy.float32)
        for at in range(0, len(rows), step):
            numpy.dot(rows[at : at + step], wanted, out=scores[at : at + step])
        found = numpy.arange(len(scores)) if among is None else numpy.asarray(among, numpy.intp)
        scores = scores[found]
        if len(found) > k:
            near = scores >= numpy.partition(scores, -k)[-k]
            scores, found = scores[near], found[near]
        return zip(scores.tolist(), found.tolist(), strict=True)


def _numpy() -> Any:
    try:
        return importlib.import_module("numpy")
    except ImportError:
        return None


class CachingEmbedder:
    """Implements `Embedder` over another one: as long as the process lives, the same text is embedded once.

    `kept` is how many vectors are cached: those that were used last.

    The cache holds the SHA-256 of each text, never the text. It is safe to use from many threads.
    """

    def __init__(self, embedder: Embedder, *, kept: int = MAX_VECTORS) -> None:
        self._embedder = embedder
        self._cache: LRUCache[tuple[bool, bytes], Vector] = LRUCache(kept)
        self._lock = threading.Lock()

    @property
    def space(self) -> Space:
        return self._embedder.space

    def embed(self, texts: Sequence[str], *, as_questions: bool = False) -> list[Vector]:
        keys = [(as_questions, hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()) for text in texts]
        with self._lock:
            found = {key: self._cache[key] for key in keys if key in self._cache}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            vectors = self._embedder.embed(list(missing.values()), as_questions=as_questions)
            made = dict(zip(missing, vectors, strict=True))
            with self._lock:
                self._cache.update(made)
            found |= made
        return [found[key] for key in keys]

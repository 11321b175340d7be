"""Embeddings from any server that speaks the OpenAI API."""

from __future__ import annotations

import base64
import json
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from palimpsest.errors import ModelOutputInvalid
from palimpsest.models.openai.chat import usage_of
from palimpsest.models.openai.client import OpenAIServer
from palimpsest.models.ports import Secret, Space, Vector
from palimpsest.models.vectors import unit

if TYPE_CHECKING:
    from openai import OpenAI


SPACE = Space("text-embedding-3-small", 1_536)

SHORTENABLE = "text-embedding-3"  # models whose vectors can have any requested length

SECONDS = 10.0

MAX_TOKENS = 8_191  # of one text, as OpenAI's API has it

BYTES_A_NUMBER = 40  # as text, generously


class OpenAIEmbedder:
    """Implements `Embedder`. `max_tokens` is how many tokens of a text the model reads. `count` is
    called with the usage of each call that was answered (`usage.counts`).
    """

    def __init__(
        self,
        *,
        key: Secret,
        space: Space = SPACE,
        base_url: str = "",
        seconds: float = SECONDS,
        max_tokens: int = MAX_TOKENS,
        count: Callable[[Mapping[str, int]], None] | None = None,
    ) -> None:
        self._server = OpenAIServer(key=key, base_url=base_url, seconds=seconds)
        self._space = space
        self._max_tokens = max_tokens
        self._count = count

    @property
    def space(self) -> Space:
        return self._space

    def embed(self, texts: Sequence[str], *, as_questions: bool = False) -> list[Vector]:  # noqa: ARG002 - both alike
        if not texts:
            return []
        request: dict[str, Any] = {
            "model": self._space.model,
            "input": [readable(text, max_tokens=self._max_tokens) for text in texts],
            "encoding_format": "float",  # every server knows it
        }
        if self._space.model.startswith(SHORTENABLE):
            request["dimensions"] = self._space.dimension

        def send(client: OpenAI, seconds: float) -> AbstractContextManager[Any]:
            return client.embeddings.with_streaming_response.create(**request, timeout=seconds)

        max_bytes = (len(texts) * self._space.dimension + 1_000) * BYTES_A_NUMBER
        with self._server.call() as call:
            body = call.body(send, max_bytes=max_bytes)
        if self._count is not None:
            self._count(usage_of(body, model=self._space.model))
        return _vectors(body, count=len(texts), space=self._space)


def readable(text: str, *, max_tokens: int) -> str:
    """Return the text in a form that the API accepts: not empty, and no longer than the model
    reads. The cut assumes that a token is at least one byte.
    """
    cut = text.encode("utf-8", "replace")[:max_tokens].decode("utf-8", "ignore")
    return cut if cut.strip() else "."


def _vectors(body: bytes, *, count: int, space: Space) -> list[Vector]:
    try:
        data = json.loads(body)["data"]
        numbered = {row["index"]: _numbers(row["embedding"]) for row in data}
        vectors: list[Vector] = [unit(numbered[place]) for place in range(count)]
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise ModelOutputInvalid("The model's answer lacks a vector for some text.") from error
    if len(data) != count or any(len(vector) != space.dimension for vector in vectors):
        raise ModelOutputInvalid(
            "The model returned a wrong number of vectors, or vectors of a wrong dimension."
        )
    return vectors


def _numbers(embedding: Any) -> Vector:
    """Return the vector of an embedding, which is a list of numbers or base64. Some servers send
    base64 even if the request asks for numbers.
    """
    if not isinstance(embedding, str):
        return [float(number) for number in embedding]
    return array("f", base64.b64decode(embedding, validate=True))

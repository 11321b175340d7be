"""Embeddings by Titan and Cohere models of Bedrock."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any

from palimpsest import parallel
from palimpsest.engines.bedrock.calls import asking
from palimpsest.engines.bedrock.place import CONNECTIONS, RUNTIME, BedrockPlace
from palimpsest.errors import ModelOutputInvalid, ModelUnavailable
from palimpsest.models import deadline
from palimpsest.models.catalogue import cost
from palimpsest.models.openai.embeddings import BYTES_A_NUMBER, readable
from palimpsest.models.ports import Space, Vector
from palimpsest.models.vectors import unit

SECONDS = 10.0
TOKENS = "x-amzn-bedrock-input-token-count"
"""The header of an answer that says how many tokens the model has read."""
Texts = Sequence[str]


@dataclass(frozen=True, slots=True)
class Family:
    """The limits of a call to a family of models. A call takes `texts` texts of `most` bytes or
    `characters` characters.
    """

    texts: int
    most: int
    characters: int
    body: Callable[[Texts, Space, bool], Mapping[str, Any]]
    vectors: Callable[[Mapping[str, Any]], Sequence[Sequence[float]]]


def _titan_body(texts: Texts, space: Space, _: bool) -> Mapping[str, Any]:  # noqa: FBT001
    return {"inputText": texts[0], "dimensions": space.dimension, "normalize": True}


def _cohere_body(texts: Texts, _: Space, as_questions: bool) -> Mapping[str, Any]:  # noqa: FBT001
    kind = "search_query" if as_questions else "search_document"
    return {"texts": list(texts), "input_type": kind, "truncate": "END"}


FAMILIES: Mapping[str, Family] = {
    "amazon.titan-embed-text-v2": Family(
        1, 8_192, 50_000, _titan_body, lambda answer: [answer["embedding"]]
    ),
    "cohere.embed-multilingual-v3": Family(
        96, 8_192, 2_048, _cohere_body, lambda answer: answer["embeddings"]
    ),
    "cohere.embed-english-v3": Family(
        96, 8_192, 2_048, _cohere_body, lambda answer: answer["embeddings"]
    ),
}
"""The families of models, by the beginning of a model's name. Titan reads 8,192 tokens of at least
one byte each.
"""


def family_of(model: str) -> Family | None:
    """Return the family of a model of Bedrock, or None if its name belongs to no family."""
    return next((family for name, family in FAMILIES.items() if model.startswith(name)), None)


class BedrockEmbedder:
    """Implements `Embedder`. If a model takes only one text in a call, several calls run at the
    same time. `count` is called with the usage of the calls.
    """

    def __init__(
        self,
        place: BedrockPlace,
        *,
        space: Space,
        seconds: float = SECONDS,
        count: Callable[[Mapping[str, int]], None] | None = None,
    ) -> None:
        family = family_of(space.model)
        if family is None:
            raise ValueError(f"{space.model} is not a known embedding model of Bedrock.")
        self._family = family
        self._place = place
        self._space = space
        self._seconds = seconds
        self._count = count

    @property
    def space(self) -> Space:
        return self._space

    def embed(self, texts: Sequence[str], *, as_questions: bool = False) -> list[Vector]:
        family = self._family
        sent = [readable(text[: family.characters], max_tokens=family.most) for text in texts]
        batches = [sent[at : at + family.texts] for at in range(0, len(sent), family.texts)]
        if not batches:
            return []
        ask = partial(self._asked, as_questions=as_questions)
        work = partial(parallel.run_each, ask, batches, threads=CONNECTIONS)
        try:
            answers = parallel.begin(work, until=deadline.until(self._seconds)).result()
        except TimeoutError as error:
            raise ModelUnavailable("The model's answer took too long.") from error
        if self._count is not None:
            self._count(_used(answers, model=self._space.model))
        return [*chain.from_iterable(answer.vectors for answer in answers)]

    def _asked(self, texts: Texts, *, as_questions: bool) -> _Answer:
        body = self._family.body(texts, self._space, as_questions)
        with asking():
            answer = self._client.invoke_model(
                modelId=self._space.model,
                contentType="application/json",
                accept="application/json",
                body=json.dumps(body),
            )
            body_read = _whole(answer["body"], most=self._most_bytes(texts))
        vectors = tuple(self._vectors(body_read, count=len(texts)))
        headers = answer["ResponseMetadata"].get("HTTPHeaders", {})
        return _Answer(vectors, _number(headers.get(TOKENS)))

    def _most_bytes(self, texts: Texts) -> int:
        """Return the most bytes that an answer may have. Some models repeat the texts in it."""
        numbers = len(texts) * self._space.dimension
        return (numbers + 1_000) * BYTES_A_NUMBER + 6 * sum(map(len, texts))

    def _vectors(self, answer: bytes, *, count: int) -> Iterator[Vector]:
        try:
            vectors = [unit(vector) for vector in self._family.vectors(json.loads(answer))]
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            raise ModelOutputInvalid("The model's answer lacks a vector for some text.") from error
        if len(vectors) != count or any(len(vector) != self._space.dimension for vector in vectors):
            raise ModelOutputInvalid(
                "The model returned a wrong number of vectors, or vectors of a wrong dimension."
            )
        yield from vectors

    @cached_property
    def _client(self) -> Any:
        return self._place.client(RUNTIME, seconds=self._seconds)


@dataclass(frozen=True, slots=True)
class _Answer:
    vectors: tuple[Vector, ...]
    tokens: int | None


def _whole(body: Any, *, most: int) -> bytes:
    """Return the body of an answer, of at most `most` bytes. Raises `ModelOutputInvalid` if it has
    more, and an error of botocore if the connection ended within it.
    """
    with closing(body):  # a connection whose answer is not read to its end stays open otherwise
        content: bytes = body.read(most)
        if body.read(1):  # at the end it compares what has come with the announced length
            raise ModelOutputInvalid("The model's answer is too large.")
    return content


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def _used(answers: Sequence[_Answer], *, model: str) -> dict[str, int]:
    """Return the usage of the calls, with the fields that the answers and the catalogue provide."""
    calls = {"embedding_calls": len(answers)}
    tokens = sum(answer.tokens or 0 for answer in answers)
    price = cost(model, tokens_in=tokens, tokens_out=0)
    if price is None or any(answer.tokens is None for answer in answers):
        return calls | {"embedding_tokens": tokens, "unpriced": len(answers)}
    return calls | {"embedding_tokens": tokens, "cost_nano_usd": price}

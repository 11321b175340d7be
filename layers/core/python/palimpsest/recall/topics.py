"""Finds the topics that a question is about, even if it names none of their words. The question's
vector is compared with the vectors of descriptions of common topics. These are in `topics.json`,
which `python -m benchmarks.retrieval.topics` writes.
"""

from __future__ import annotations

from array import array
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import mul
from statistics import fmean
from typing import Any

from palimpsest.models.ports import Vector
from palimpsest.models.vectors import unit
from palimpsest.text.packaged import packaged_json

LEAST = 0.3  # of the way from the mean of all topics to an equal vector
BESIDE = 0.08  # how much further a second topic may be
MOST = 2  # topics of one question


@dataclass(frozen=True, slots=True)
class _Topic:
    """A common topic. `keys` are the keys under which its values may be stored. A key that ends
    with "*" stands for all keys that begin so.
    """

    keys: tuple[str, ...]
    vector: Vector


def topics_meant(question: Vector, *, model: str) -> tuple[str, ...]:
    """Return the keys of the topics that a question is about, the most likely ones first. A key
    that ends with "*" stands for all that begin so. `model` is the model of the question's vector.
    The result is empty if no topic is near, and if the descriptions have no vectors of this model.
    """
    known = _topics().get(model, ())
    if not known:
        return ()
    cosines = [sum(map(mul, question, topic.vector)) for topic in known]
    # How near unrelated texts are depends on the model. Measured from the mean, the limits hold for
    # each model (docs/adr/0134).
    usual = fmean(cosines)
    nearness = [(cosine - usual) / (1 - usual) for cosine in cosines]
    best = max(nearness)
    near = [place for place, value in enumerate(nearness) if value >= max(LEAST, best - BESIDE)]
    likely = sorted(near, key=lambda place: -nearness[place])[:MOST]
    return tuple(key for place in likely for key in known[place].keys)


@cache
def _topics() -> Mapping[str, Sequence[_Topic]]:
    """Return the topics with their vectors, by the model that made these."""
    stored = descriptions()
    keys = [tuple(topic["keys"]) for topic in stored["topics"]]
    return {model: list(map(_topic, keys, vectors)) for model, vectors in stored["vectors"].items()}


def _topic(keys: Sequence[str], vector: str) -> _Topic:
    """Return a topic with its stored vector."""
    return _Topic(tuple(keys), unit(array("b", b64decode(vector)).tolist()))


def descriptions() -> dict[str, Any]:
    """Return the stored file: `topics` with their `keys` and what each `means`, and `vectors` by
    model, in the order of the topics. A vector is 8-bit numbers in base64.
    """
    stored: dict[str, Any] = packaged_json("palimpsest.recall", "topics.json")
    return stored

"""Texts as vectors: what makes two texts comparable by meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

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

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """A vector of length 1 for each text, in their order; one call, no retries. Any text is taken, also an empty
        one; what is too long for the model is cut at its end.

        Raises `ModelUnavailable` (time-out, connection, 408, 409, 429, 5xx, a model that can't be loaded),
        `ModelOutputInvalid` (an answer that is not one finite vector of the space's dimension a text), and
        `ModelFailed` (`code` `model_refused_request`) for a 4xx that a retry can't mend.
        """

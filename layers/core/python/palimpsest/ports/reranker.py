"""A second look at what was found: a model that reads the question together with each text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """How well each text answers the question, 0 (not at all) to 1, in their order; one call, no retries.

        The texts are data. Raises `ModelFailed`.
        """

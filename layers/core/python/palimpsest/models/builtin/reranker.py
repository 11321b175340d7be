"""A cross-encoder that reads question and text together, without a key: ms-marco-MiniLM-L-12-v2, in 8-bit numbers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from palimpsest.models.builtin.transformer import Transformer

FOLDER = "ms-marco-MiniLM-L-12-v2"
MAX_TOKENS = 160  # of question and text together: time grows with them


class BuiltinReranker:
    """Implements `Reranker`. `models` is the folder that layers/builtin makes; it is read at the first call.

    Its order alone is worse than that of all retrievers together: blend the two.
    """

    def __init__(self, models: Path) -> None:
        self._model = Transformer(models / FOLDER, max_tokens=MAX_TOKENS)

    def load_soon(self) -> None:
        """See `Transformer`."""
        self._model.load_soon()

    def scores(self, question: str, texts: Sequence[str], *, until: float) -> Sequence[float]:
        self._model.load()  # takes longer than any text, and says nothing about how long the next one will take
        scores: list[float] = []
        longest = 0.0
        for text in texts:
            begun = time.monotonic()
            if begun + longest > until:
                break
            scores.append(float(self._model(question, text)[0]))
            longest = max(longest, time.monotonic() - begun)
        return scores

"""Rerankers that need no model: one without an opinion, and one that says what it was asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence


class Indifferent:
    """Implements `Reranker`: everything answers equally well, so the order stays as it was."""

    def scores(self, question: str, texts: Sequence[str], *, until: float) -> Sequence[float]:
        return [0.5] * len(texts)


class Rating:
    """Implements `Reranker`: `rate` rates texts, each takes `seconds`; the first is read even if
    that is too late.
    `asked` holds every text, `questions` what they were to answer.
    """

    def __init__(
        self,
        rate: Callable[[str], float] = len,
        *,
        seconds: float = 0.0,
        failure: Exception | None = None,
    ) -> None:
        self._rate, self._seconds, self._failure = rate, seconds, failure
        self.asked: list[str] = []
        self.questions: set[str] = set()

    def scores(self, question: str, texts: Sequence[str], *, until: float) -> Sequence[float]:
        self.asked += texts
        self.questions.add(question)
        if self._failure:
            raise self._failure
        scores: list[float] = []
        for text in texts:
            if self._seconds and time.monotonic() + self._seconds > until and scores:
                break
            time.sleep(self._seconds)
            scores.append(self._rate(text))
        return scores

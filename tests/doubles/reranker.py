"""Rerankers that need no model: one without an opinion, one that says what it was asked, one that
computes, and one that stops answering.
"""

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


class Computing:
    """Implements `Reranker`: each text takes so many `seconds` of the thread's processor time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def scores(self, question: str, texts: Sequence[str], *, until: float) -> Sequence[float]:
        ends = time.thread_time() + self._seconds * len(texts)
        while time.thread_time() < ends:
            pass
        return [float(len(text)) for text in texts]


class Hanging:
    """Implements `Reranker`: it rates the texts of the first call, and never ends the second."""

    def __init__(self, rate: Callable[[str], float], *, seconds: float) -> None:
        self._rate, self._seconds = rate, seconds
        self.calls = 0

    def scores(self, question: str, texts: Sequence[str], *, until: float) -> Sequence[float]:
        self.calls += 1
        if self.calls > 1:
            time.sleep(self._seconds)
        return [self._rate(text) for text in texts]

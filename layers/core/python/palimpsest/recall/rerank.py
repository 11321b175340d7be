"""Have a model read the question beside each of the first memories, within its time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic

from palimpsest import parallel
from palimpsest.models.ports import Reranker
from palimpsest.recall.question import Query, coverage
from palimpsest.recall.ranking import FoundMemory
from palimpsest.search.documents import shortened_end
from palimpsest.text.analyser import term_set
from palimpsest.text.sentences import is_question, sentences

FIRST = 24  # so many of the best are read: one behind them is rarely what was asked for
SECONDS = 0.4
GRACE = 0.05  # seconds more, in which a reranker that stops in time gives what it has
LONG = 400  # characters; of a longer text the best sentences are read
BEST_SENTENCES = 3


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reranker did: it was given `asked` memories, and `scores` holds those that it read in time, by key."""

    scores: Mapping[str, float] = field(default_factory=dict)
    asked: int = 0
    milliseconds: int = 0

    @property
    def failed(self) -> bool:
        """Whether it read fewer than it was given."""
        return len(self.scores) < self.asked


def reading(reranker: Reranker | None, query: Query, found: Sequence[FoundMemory]) -> Reading:
    """Have the first of what was found read. Whatever the reranker does, this ends in time and raises nothing."""
    first = found[:FIRST]
    begun = monotonic()
    scores: Sequence[float] = ()
    if reranker is not None and first:
        until = begun + SECONDS
        texts = [passage(one, query) for one in first]
        task = parallel.begin(partial(reranker.scores, query.first_person, texts, until=until), until=until + GRACE)
        with suppress(Exception):  # the libraries that run a model have errors of their own
            scores = task.result()
    by_key = {one.candidate.key: score for one, score in zip(first, scores, strict=False)}
    return Reading(by_key, len(first), round((monotonic() - begun) * 1000))


def passage(one: FoundMemory, query: Query) -> str:
    """What is read of a memory: its text, and of a message the question that was asked right before it."""
    asked = shortened_end(one.before) if is_question(one.before.rstrip()) else ""
    return " ".join(filter(None, (asked, _best_sentences(one.content, query))))


def _best_sentences(text: str, query: Query) -> str:
    """The whole of a short text; of a long one the sentences with most of the question's words, in their order."""
    if len(text) <= LONG:
        return text
    every = list(sentences(text))
    shares = [coverage(query.terms, term_set(sentence)) for sentence in every]
    best = sorted(range(len(every)), key=lambda place: (-shares[place], place))[:BEST_SENTENCES]
    return " ".join(every[place] for place in sorted(best))

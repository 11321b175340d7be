"""Let a model score the question with each of the first memories, within a time limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic

from palimpsest import parallel
from palimpsest.models.ports import Reranker
from palimpsest.recall.found import FoundMemory
from palimpsest.recall.question import Query, coverage
from palimpsest.search.documents import shortened_end
from palimpsest.text.analyser import term_set
from palimpsest.text.sentences import is_question, sentences

FIRST = 21  # how many of the best are read; a lower one rarely answers the question
SECONDS = 0.4
GRACE = 0.05  # extra seconds in which a reranker that stops in time returns its scores
LONG = 200  # characters. Of a longer text only the best sentences are read.
BEST_SENTENCES = 2


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of a reranker that was given `asked` memories. `scores` has the score of each
    memory that it read in time, by key.
    """

    scores: Mapping[str, float] = field(default_factory=dict)
    asked: int = 0
    milliseconds: int = 0

    @property
    def failed(self) -> bool:
        """Whether it read fewer than it was given."""
        return len(self.scores) < self.asked


def reading(reranker: Reranker | None, query: Query, memories: Sequence[FoundMemory]) -> Reading:
    """Let the reranker read the memories. This ends in time and raises nothing, even if the
    reranker hangs or fails.
    """
    begun = monotonic()
    scores: Sequence[float] = ()
    if reranker is not None and memories:
        until = begun + SECONDS
        texts = [passage(ranked, query) for ranked in memories]
        task = parallel.begin(
            partial(reranker.scores, query.first_person, texts, until=until), until=until + GRACE
        )
        with suppress(Exception):  # the libraries that run a model have errors of their own
            scores = task.result()
    by_key = {one.candidate.key: score for one, score in zip(memories, scores, strict=False)}
    return Reading(by_key, len(memories), round((monotonic() - begun) * 1000))


def passage(memory: FoundMemory, query: Query) -> str:
    """The text that the reranker reads: the memory's text, after the question that was asked right
    before it, if there is one.
    """
    asked = shortened_end(memory.before) if is_question(memory.before.rstrip()) else ""
    return " ".join(filter(None, (asked, _best_sentences(memory.content, query))))


def _best_sentences(text: str, query: Query) -> str:
    """The whole text if it is short; otherwise the sentences with most of the question's words, in
    their order.
    """
    if len(text) <= LONG:
        return text
    every = list(sentences(text))
    shares = [coverage(query.terms, term_set(sentence)) for sentence in every]
    best = sorted(range(len(every)), key=lambda place: (-shares[place], place))[:BEST_SENTENCES]
    return " ".join(every[place] for place in sorted(best))

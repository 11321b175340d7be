"""Let a model score the question with each of the first memories, within a time limit, and order
the memories by these scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from palimpsest import parallel
from palimpsest.models.ports import Reranker
from palimpsest.recall.found import FoundMemory
from palimpsest.recall.question import Query, coverage
from palimpsest.recall.ranking import Ranked, normalised, scored
from palimpsest.recall.weights import DEFAULT_WEIGHTS, Weights
from palimpsest.search.documents import shortened_end
from palimpsest.text.analyser import term_set
from palimpsest.text.sentences import is_question, sentences

if TYPE_CHECKING:
    from palimpsest.text.dates import Period

FIRST = 21  # how many of the best are read; a lower one rarely answers the question
SECONDS = 0.4
GRACE = 0.05  # extra seconds in which a reranker that stops in time returns its scores
LONG = 200  # characters. Of a longer text only the best sentences are read.
BEST_SENTENCES = 2
# This many of the best are placed by the reranker's scores alone. Below them, its order counts as
# much as its scores.
BY_SCORE = 8


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
    """Let the reranker read the first memories. This ends in time and raises nothing, even if the
    reranker hangs or fails.
    """
    first = memories[:FIRST]
    begun = monotonic()
    scores: Sequence[float] = ()
    if reranker is not None and first:
        until = begun + SECONDS
        texts = [passage(ranked, query) for ranked in first]
        task = parallel.begin(
            partial(reranker.scores, query.first_person, texts, until=until), until=until + GRACE
        )
        with suppress(Exception):  # the libraries that run a model have errors of their own
            scores = task.result()
    by_key = {one.candidate.key: score for one, score in zip(first, scores, strict=False)}
    return Reading(by_key, len(first), round((monotonic() - begun) * 1000))


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


def reranked(
    places: Sequence[Ranked],
    scores: Mapping[str, float],
    *,
    now: int,
    period: Period | None = None,
    shows_outdated: bool = False,
    weights: Weights = DEFAULT_WEIGHTS,
) -> tuple[Ranked, ...]:
    """Return the candidates in a new order. Candidates with a reranker's score (`scores`, by key,
    on any scale) come first: half of their new score is the one they had, half is the reranker's.
    The others follow in the order they had.

    After the first eight, the reranker's scores lie close together, so the order of these scores
    counts as much as the scores. There each place keeps its score, and the candidate that moves
    there takes it.
    """
    relevance = {ranked.candidate.key: ranked.parts["relevance"] for ranked in places}
    fused = normalised({key: relevance[key] for key in scores})
    read = [each.candidate for each in places if each.candidate.key in scores]

    def best_first(shares: Mapping[str, float]) -> list[Ranked]:
        half = weights.reranker
        blended = relevance | {key: half * shares[key] + (1 - half) * fused[key] for key in scores}
        every = scored(
            read, blended, now=now, period=period, shows_outdated=shows_outdated, weights=weights
        )
        return sorted(every, key=lambda each: -each.score)

    scaled, order = normalised(scores), normalised(_from_behind(scores))
    by_score, by_both = (
        best_first(scaled),
        best_first({key: (scaled[key] + order[key]) / 2 for key in scores}),
    )
    first = {each.candidate.key for each in by_score[:BY_SCORE]}
    behind = [each for each in by_both if each.candidate.key not in first]
    moved = [
        replace(each, score=place.score)
        for each, place in zip(behind, by_score[BY_SCORE:], strict=True)
    ]
    ordered = [*by_score[:BY_SCORE], *moved]
    ordered = [
        replace(each, parts={**each.parts, "reranker": scores[each.candidate.key]})
        for each in ordered
    ]
    least = min((each.score for each in ordered), default=1.0)
    rest = (
        replace(each, score=min(each.score, least))
        for each in places
        if each.candidate.key not in scores
    )
    return (*ordered, *rest)


def _from_behind(scores: Mapping[str, float]) -> dict[str, float]:
    """The place of each key by its score, counted from the least. Equal scores share a place."""
    every = {score: float(place) for place, score in enumerate(sorted({*scores.values()}))}
    return {key: every[score] for key, score in scores.items()}

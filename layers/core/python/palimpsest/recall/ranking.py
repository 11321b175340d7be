"""Ranks the found memories by their signals, and leaves out weak results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nextafter
from types import MappingProxyType
from typing import TYPE_CHECKING

from palimpsest.memory.record import USEFUL
from palimpsest.recall.found import Candidate, Retriever, Scores
from palimpsest.recall.freshness import freshness
from palimpsest.recall.ranker import Rankers, learned, likelihood
from palimpsest.recall.signals import Signal, read_signals, signals_of
from palimpsest.recall.weights import DEFAULT_WEIGHTS, Weights

if TYPE_CHECKING:
    from palimpsest.text.dates import Period


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its score. `score` (0..1) is how likely it answers the question. `strength`
    is how likely it is related to the question at all. `signals` are its values of the ranker's
    signals, and `terms` their contributions, whose sum is the logarithm of the score's odds.
    """

    candidate: Candidate
    score: float
    strength: float
    signals: Mapping[Signal, float] = field(default_factory=dict)
    terms: Mapping[str, float] = field(default_factory=dict)

    @property
    def odds(self) -> float:
        """The logarithm of the odds that it answers."""
        return sum(self.terms.values())


MEANT = 0.5  # the score of a topic that the question means without naming it
DOUBT = 2
"""The weight of doubt, counted in opinions. It is added to the number of opinions by which their
balance is divided, so that a single opinion says little.
"""

NONE_READ: Mapping[str, float] = MappingProxyType({})


def ranked(
    candidates: Sequence[Candidate],
    *,
    now: int,
    read: Mapping[str, float] = NONE_READ,
    period: Period | None = None,
    shows_outdated: bool = False,
    weights: Weights = DEFAULT_WEIGHTS,
    rankers: Rankers | None = None,
) -> tuple[Ranked, ...]:
    """Return the candidates, best first; equal ones in the order of their keys. `now` is in epoch
    milliseconds. `read` has the score that a reranker gave, on any scale, by the key of each text
    that it has read. Without `rankers`, the learned ones rank.

    A message that says an earlier value of a topic ranks below the topic's current record. It keeps
    its rank with `shows_outdated`, or if the question is about something else in the message.
    """
    relevance = _fused(candidates, weights)
    reading = read_signals(read)
    by = rankers or learned()

    every = []
    for candidate in candidates:
        signals = dict(signals_of(candidate, relevance, near=weights.near))
        signals |= reading.get(candidate.key, {})
        ranker = by.read if candidate.key in reading else by.found
        by_hand = _given_terms(candidate, now=now, period=period, weights=weights)
        terms = {**ranker.terms(signals), **by_hand}
        strength = _strength(candidate, weights)
        every.append(Ranked(candidate, likelihood(terms), strength, signals, terms))
    if not shows_outdated:
        every = _with_outdated_lowered(every, weights)
    return tuple(sorted(every, key=lambda result: (-result.score, result.candidate.key)))


def _given_terms(
    candidate: Candidate, *, now: int, period: Period | None, weights: Weights
) -> dict[str, float]:
    """Return the contributions whose weights are set by hand. Contributions of 0 are missing."""
    nearness = 0.0 if period is None else period.nearness(candidate.said_at)
    states = candidate.says in {"something", "little"}
    terms = {
        # Centred, so that a memory of usual importance and age keeps the odds that were learned.
        "importance": weights.importance * (candidate.importance - 0.5),
        "recency": weights.recency * (_freshness(candidate, now, weights) - 0.5),
        "period": weights.period * nearness,
        "days": weights.days * nearness * states,
        "over": weights.over * candidate.is_over,
        "feedback": weights.feedback * _standing(candidate.opinions),
    }
    return {name: term for name, term in terms.items() if term}


def _standing(opinions: Sequence[str]) -> float:
    """Return the balance of all opinions, from -1 (wrong) to 1 (useful). Without opinions it is 0,
    and with few it is near 0.
    """
    useful = sum(opinion.endswith(USEFUL) for opinion in opinions)
    return (2 * useful - len(opinions)) / (len(opinions) + DOUBT)


def near_enough(
    results: Sequence[Ranked], *, weights: Weights = DEFAULT_WEIGHTS
) -> tuple[Ranked, ...]:
    """Return the candidates that are near enough to the question to be shown. Candidates that
    answer far less likely than the best one are left out. If no vectors were compared, words
    and topics decide.
    """
    if not any("vector" in result.candidate.scores for result in results):
        return tuple(
            result
            for result in results
            if result.candidate.coverage > 0 or "topic_key" in result.candidate.scores
        )
    by_key = {result.candidate.key: result for result in results}
    least = max(map(_odds_without_topic, results)) - weights.far
    return tuple(result for result in results if _may_be_shown(result, by_key, least, weights))


def _may_be_shown(
    result: Ranked, by_key: Mapping[str, Ranked], least: float, weights: Weights
) -> bool:
    """Return whether the candidate may be shown.

    Two kinds always may: the record of a topic that the question names, and a statement from the
    question's period, if the question asks for nothing else. Others need the `least` odds, or all
    words of the question. A message that says nothing also needs a word of the question and enough
    strength of its own, because its vector is mostly that of the message before it. A task and a
    message of few words need enough strength, their own or that of a question beside them.
    """
    candidate = result.candidate
    if "topic_key" in candidate.scores or _is_of_days(result):
        return True
    if _odds_without_topic(result) < least and candidate.coverage < 1:
        return False
    if candidate.says == "nothing":
        return candidate.coverage > 0 and result.strength >= weights.near.own
    if candidate.says != "little" and not candidate.by_words:
        return True
    beside = [by_key[key] for key in candidate.neighbours if key in by_key]
    question_strengths = (
        neighbour.strength for neighbour in beside if neighbour.candidate.says == "question"
    )
    strength_beside = max(question_strengths, default=0.0)
    return max(result.strength, weights.near.beside * strength_beside) >= weights.near.own


def _odds_without_topic(result: Ranked) -> float:
    """Return the best odds among the candidates that are not the record of a topic that the
    question names. Such a record is so likely that all others are far below it.
    """
    return result.odds - result.terms.get("topic", 0.0)


def _is_of_days(result: Ranked) -> bool:
    return result.terms.get("days", 0.0) > 0


def preselected(
    scores_by_key: Mapping[str, Scores], *, most: int, weights: Weights = DEFAULT_WEIGHTS
) -> list[str]:
    """Return the keys with the best scores, at most `most` of them. Only these are read from the
    tables.
    """
    # With equal shares the choice depends less on the embedding model (docs/adr/0012).
    equal = replace(weights, vector=0.5)
    fused = _fused(
        [Candidate(key, scores, said_at=0) for key, scores in scores_by_key.items()], equal
    )

    def rank(key: str) -> tuple[float, str]:
        return -fused[key] - scores_by_key[key].get("topic_key", 0.0), key

    return sorted(scores_by_key, key=rank)[:most]


def _fused(candidates: Sequence[Candidate], weights: Weights) -> dict[str, float]:
    """Return one score (0..1) for each key, from words and meaning. A candidate that is not indexed
    yet is scored by its words alone.
    """
    words = normalised(_scores_of(candidates, "keyword"))
    meanings = normalised(_scores_of(candidates, "vector"))
    share = weights.vector if meanings else 0.0
    fused = {}
    for candidate in candidates:
        key = candidate.key
        by_words = words.get(key, 0.0)
        if not _is_indexed(candidate):
            fused[key] = candidate.scores.get("newest", 0.0)
        elif candidate.by_words:
            fused[key] = by_words
        else:
            fused[key] = share * meanings.get(key, 0.0) + (1 - share) * by_words
    return fused


def _scores_of(candidates: Sequence[Candidate], retriever: Retriever) -> dict[str, float]:
    return {
        candidate.key: candidate.scores[retriever]
        for candidate in candidates
        if retriever in candidate.scores
    }


def normalised(scores: Mapping[str, float]) -> dict[str, float]:
    """Return the scores, scaled so that the least is 0 and the most is 1. If all are equal, all are
    1.
    """
    if not scores:
        return {}
    least, most = min(scores.values()), max(scores.values())
    if most == least:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - least) / (most - least) for key, score in scores.items()}


def _strength(candidate: Candidate, weights: Weights) -> float:
    """Return how near the candidate is to the question, by meaning and words. If it has no vector,
    words alone decide.
    """
    limits = weights.near
    above_unrelated = max(0.0, candidate.scores.get("vector", 0.0) - limits.unrelated)
    near = above_unrelated / (1 - limits.unrelated) + limits.words * candidate.coverage
    if candidate.by_words or not _is_indexed(candidate):
        near = candidate.coverage
    # All words of the question in one memory are enough (docs/adr/0012).
    if candidate.coverage >= 1:
        near = max(near, weights.near.own)
    return near


def _is_indexed(candidate: Candidate) -> bool:
    return not candidate.scores.keys().isdisjoint(("keyword", "vector"))


def _freshness(candidate: Candidate, now: int, weights: Weights) -> float:
    return freshness(
        said_at=candidate.said_at,
        uses=candidate.uses,
        used_at=candidate.used_at,
        now=now,
        half_life=weights.half_life,
    )


def _with_outdated_lowered(results: Sequence[Ranked], weights: Weights) -> list[Ranked]:
    """Lower the score of each message with an earlier value below that of the topic's current
    record. If that record is far from the question, the question asks for something else in the
    message, so the message keeps its score.
    """
    scores = {result.candidate.key: result.score for result in results}
    lowered = []
    for result in results:
        current = scores.get(result.candidate.outdated_by or "", 0.0)
        if current >= weights.same_topic * result.score:
            score = min(result.score, nextafter(current, 0.0))
            lowered.append(replace(result, score=score))
        else:
            lowered.append(result)
    return lowered

"""Which of the memories that were found answer best: scores of several retrievers made one, and what is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log2
from typing import Literal

from palimpsest.text.periods import Period

Channel = Literal["keyword", "vector", "topic_key", "newest"]
Fusion = Literal["minmax", "reciprocal_rank"]

DAY = 24 * 3600 * 1000  # milliseconds
RANK_OFFSET = 60  # of reciprocal rank fusion (Cormack, Clarke, Büttcher 2009)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that was found, with what speaks for it. Times are epoch milliseconds.

    `found` holds the raw score of each retriever: BM25, cosine, and for `topic_key` and `newest` the share of the
    question's words that match. `coverage` is the share of these words in its text. `neighbours` are the keys of what
    was said right before and after it. `outdated_by` names the current record of a topic of which this, a message, says
    an earlier value.
    """

    key: str
    found: Mapping[Channel, float]
    said_at: int
    coverage: float = 0.0
    importance: float = 0.5
    uses: int = 0
    used_at: int = 0
    comes_last: bool = False
    neighbours: tuple[str, ...] = ()
    outdated_by: str | None = None


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each thing counts; measured with `make bench ARGS=retrieval` (docs/adr/0012).

    `vector` is the share of meaning, the rest is words. The factors change a score by at most their part of it.
    `least_strength` is what the strongest candidate needs for any to be shown: its cosine, and `words_strength` times
    the share of the question's words that it has; all of them are enough, and so is a topic that the question names.
    """

    fusion: Fusion = "minmax"
    vector: float = 0.5
    topic_key: float = 0.3
    neighbour: float = 0.2
    importance: float = 0.1
    recency: float = 0.05
    period: float = 0.25
    half_life: int = 90 * DAY
    outdated: float = 0.9
    words_strength: float = 0.3
    least_strength: float = 0.315
    least_coverage: float = 0.0


DEFAULT = Weights()


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate in its place. `score` is in 0..1 and compares within one answer; `strength` compares between answers:
    how surely it has to do with the question at all. `parts` is what the score was made of.
    """

    candidate: Candidate
    score: float
    strength: float
    parts: Mapping[str, float] = field(default_factory=dict)


def ranked(
    candidates: Sequence[Candidate],
    *,
    now: int,
    period: Period | None = None,
    shows_outdated: bool = False,
    weights: Weights = DEFAULT,
) -> tuple[Ranked, ...]:
    """The candidates, best first; equal ones by their keys.

    What an earlier value of a topic says stands behind the topic's current record, unless `shows_outdated`.
    """
    fused = _fused(candidates, weights)
    scored = [_scored(each, fused, now=now, period=period, weights=weights) for each in candidates]
    if not shows_outdated:
        scored = _with_outdated_behind(scored, weights)
    return tuple(sorted(scored, key=lambda each: (each.candidate.comes_last, -each.score, each.candidate.key)))


def is_answered(found: Sequence[Ranked], *, weights: Weights = DEFAULT) -> bool:
    """Whether anything is near enough to the question to be shown.

    Where no vectors were compared, words alone decide.
    """
    if any("vector" in each.candidate.found for each in found):
        return any(each.strength >= weights.least_strength for each in found)
    return any(each.candidate.coverage > weights.least_coverage or each.strength > 0 for each in found)


def preselected(found: Mapping[str, Mapping[Channel, float]], *, most: int, weights: Weights = DEFAULT) -> list[str]:
    """The keys whose scores alone are best: what is worth reading from the table."""
    fused = _fused([Candidate(key, scores, said_at=0) for key, scores in found.items()], weights)
    return sorted(found, key=lambda key: (-fused[key] - found[key].get("topic_key", 0.0), key))[:most]


def _fused(candidates: Sequence[Candidate], weights: Weights) -> dict[str, float]:
    """One score in 0..1 a key, of words and meaning; of what is not indexed yet the words stand for both."""
    normal = _normalised if weights.fusion == "minmax" else _by_rank
    words = normal({each.key: each.found["keyword"] for each in candidates if "keyword" in each.found})
    meanings = normal({each.key: each.found["vector"] for each in candidates if "vector" in each.found})
    share = weights.vector if meanings else 0.0
    fused = {}
    for each in candidates:
        by_both = share * meanings.get(each.key, 0.0) + (1 - share) * words.get(each.key, 0.0)
        fused[each.key] = by_both if _is_indexed(each) else each.found.get("newest", 0.0)
    return fused


def _normalised(scores: Mapping[str, float]) -> dict[str, float]:
    if not scores:
        return {}
    least, most = min(scores.values()), max(scores.values())
    return {key: (score - least) / (most - least) if most > least else 1.0 for key, score in scores.items()}


def _by_rank(scores: Mapping[str, float]) -> dict[str, float]:
    order = sorted(scores, key=lambda key: (-scores[key], key))
    return {key: RANK_OFFSET / (RANK_OFFSET + place) for place, key in enumerate(order)}


def _scored(
    each: Candidate, fused: Mapping[str, float], *, now: int, period: Period | None, weights: Weights
) -> Ranked:
    beside = max((fused.get(key, 0.0) for key in each.neighbours), default=0.0)
    topic = each.found.get("topic_key", 0.0)
    parts = {
        "relevance": fused[each.key],
        "neighbours": weights.neighbour * beside,
        "topic": weights.topic_key * topic,
        "importance": 1 + weights.importance * (each.importance - 0.5),
        "recency": 1 + weights.recency * (_freshness(each, now=now, half_life=weights.half_life) - 0.5),
        "period": 1 + weights.period * (period is not None and period.holds(each.said_at)),
    }
    said = parts["relevance"] + parts["neighbours"] + parts["topic"]
    most = 1 + weights.neighbour + weights.topic_key
    factors = parts["importance"] * parts["recency"] * parts["period"]
    most_factors = (1 + weights.importance / 2) * (1 + weights.recency / 2) * (1 + weights.period)
    strength = _strength(each, weights)
    return Ranked(each, score=said * factors / (most * most_factors), strength=strength, parts=parts)


def _strength(each: Candidate, weights: Weights) -> float:
    """Of what is not indexed yet, so that its meaning is not known, the words stand for both."""
    cosine = max(0.0, each.found.get("vector", 0.0))
    near = cosine + weights.words_strength * each.coverage if _is_indexed(each) else each.coverage
    if each.coverage >= 1:
        near = max(near, weights.least_strength)
    return near + weights.least_strength * each.found.get("topic_key", 0.0)


def _is_indexed(each: Candidate) -> bool:
    return not each.found.keys().isdisjoint(("keyword", "vector"))


def _freshness(each: Candidate, *, now: int, half_life: int) -> float:
    """1 for what was said or used just now; what was used often fades more slowly."""
    age = max(0, now - max(each.said_at, each.used_at))
    return float(0.5 ** (age / (half_life * (1 + log2(1 + each.uses)))))


def _with_outdated_behind(scored: Sequence[Ranked], weights: Weights) -> list[Ranked]:
    current = {each.candidate.key: each.score for each in scored}
    behind = []
    for each in scored:
        newer = current.get(each.candidate.outdated_by or "")
        limit = each.score if newer is None else min(each.score, weights.outdated * newer)
        behind.append(each if limit == each.score else replace(each, score=limit))
    return behind


def within_budget(sizes: Sequence[int], *, k: int, room: int | None) -> list[int]:
    """Places of the first `k` that fit the room together, in order; one that is too large is passed over."""
    kept: list[int] = []
    left = room
    for place, size in enumerate(sizes):
        if len(kept) == k:
            break
        if left is not None:
            if size > left:
                continue
            left -= size
        kept.append(place)
    return kept

"""Ranks what recall found: several retrievers' scores become one, and weak results are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from palimpsest.recall.found import Candidate, Scores
from palimpsest.recall.freshness import freshness
from palimpsest.recall.weights import DEFAULT_WEIGHTS, Weights

if TYPE_CHECKING:
    from palimpsest.text.dates import Period


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate in its place. `score` (0..1) compares candidates of one recall; `strength`
    compares between recalls: how likely it has to do with the question at all. `parts` are the
    terms and factors of the score.
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
    weights: Weights = DEFAULT_WEIGHTS,
) -> tuple[Ranked, ...]:
    """Return the candidates, best first; equal ones in the order of their keys. `now` is in epoch
    milliseconds.

    A message that says an earlier value of a topic comes behind the topic's current record, unless
    `shows_outdated` or the question is about something else that it says.
    """
    every = scored(
        candidates,
        _fused(candidates, weights),
        now=now,
        period=period,
        shows_outdated=shows_outdated,
        weights=weights,
    )
    return tuple(sorted(every, key=lambda each: (-each.score, each.candidate.key)))


def scored(
    candidates: Sequence[Candidate],
    relevance: Mapping[str, float],
    *,
    now: int,
    period: Period | None = None,
    shows_outdated: bool = False,
    weights: Weights = DEFAULT_WEIGHTS,
) -> list[Ranked]:
    """Return the candidates in their order, each with its score; `relevance` (0..1) is how near
    each key is to the question. Everything else is as for `ranked`.
    """
    every = [
        _scored(each, relevance, now=now, period=period, weights=weights) for each in candidates
    ]
    return every if shows_outdated else _with_outdated_behind(every, weights)


def near_enough(
    found: Sequence[Ranked], *, weights: Weights = DEFAULT_WEIGHTS
) -> tuple[Ranked, ...]:
    """Return those that are near enough to the question to be shown: by their own strength, or by
    that of a neighbour.
    If none is near, none is returned. Where no vectors were compared, words decide.
    """
    if not any("vector" in each.candidate.scores for each in found):
        return tuple(
            each
            for each in found
            if each.candidate.coverage > weights.least_coverage or each.strength > 0
        )
    by_key = {each.candidate.key: each for each in found}
    if max(each.strength for each in found) < weights.near.least:
        return tuple(each for each in found if _is_of_days(each))
    return tuple(each for each in found if _stands(each, by_key, weights))


def _stands(each: Ranked, by_key: Mapping[str, Ranked], weights: Weights) -> bool:
    """Whether it may be shown. The record of a topic that the question names always may, and what
    was said in the days that alone it asks for. Others must be near enough: a message that says
    nothing by its own strength alone, and only with a word of the question, because its vector
    leans to what was said before it; one of few words also by the strength of a question beside it,
    any other by the strength of any message beside it.
    """
    says = each.candidate.says
    if "topic_key" in each.candidate.scores or _is_of_days(each):
        return True
    if says == "nothing":
        return each.candidate.coverage > 0 and each.strength >= weights.near.least
    beside = [by_key[key] for key in each.candidate.neighbours if key in by_key]
    near = [one.strength for one in beside if says != "little" or one.candidate.says == "question"]
    return max(each.strength, weights.near.beside * max(near, default=0.0)) >= weights.near.own


def _is_of_days(each: Ranked) -> bool:
    return each.parts.get("days", 0.0) > 0 and each.candidate.says in {"something", "little"}


def preselected(
    found: Mapping[str, Scores], *, most: int, weights: Weights = DEFAULT_WEIGHTS
) -> list[str]:
    """Return at most `most` keys, those with the best scores: only they are read from the
    tables.
    """
    equal = replace(weights, vector=0.5)
    fused = _fused([Candidate(key, scores, said_at=0) for key, scores in found.items()], equal)
    return sorted(found, key=lambda key: (-fused[key] - found[key].get("topic_key", 0.0), key))[
        :most
    ]


def _fused(candidates: Sequence[Candidate], weights: Weights) -> dict[str, float]:
    """One score (0..1) for each key, made of words and meaning; of words alone for what is not
    indexed yet.
    """
    words = normalised(
        {each.key: each.scores["keyword"] for each in candidates if "keyword" in each.scores}
    )
    meanings = normalised(
        {each.key: each.scores["vector"] for each in candidates if "vector" in each.scores}
    )
    share = weights.vector if meanings else 0.0
    fused = {}
    for each in candidates:
        by_words = words.get(each.key, 0.0)
        by_both = (
            by_words
            if each.by_words
            else share * meanings.get(each.key, 0.0) + (1 - share) * by_words
        )
        fused[each.key] = by_both if _is_indexed(each) else each.scores.get("newest", 0.0)
    return fused


def normalised(scores: Mapping[str, float]) -> dict[str, float]:
    """The same scores from 0 (the least) to 1 (the most); 1 where all are equal."""
    if not scores:
        return {}
    least, most = min(scores.values()), max(scores.values())
    return {
        key: (score - least) / (most - least) if most > least else 1.0
        for key, score in scores.items()
    }


def _scored(
    each: Candidate,
    fused: Mapping[str, float],
    *,
    now: int,
    period: Period | None,
    weights: Weights,
) -> Ranked:
    beside = max((fused.get(key, 0.0) for key in each.neighbours), default=0.0)
    topic = each.scores.get("topic_key", 0.0)
    nearness = 0.0 if period is None else period.nearness(each.said_at)
    parts = {
        "relevance": fused[each.key],
        "neighbours": weights.neighbour * beside,
        "topic": weights.topic_key * topic,
        "importance": 1 + weights.importance * (each.importance - 0.5),
        "recency": 1 + weights.recency * (_freshness(each, now, weights) - 0.5),
        "days": weights.days * nearness,
        "period": 1 + weights.period * nearness,
        "says": {"question": weights.asking, "nothing": weights.empty}.get(each.says, 1.0),
        "over": weights.over if each.is_over else 1.0,
    }
    said = parts["relevance"] + parts["neighbours"] + parts["topic"] + parts["days"]
    most = 1 + weights.neighbour + weights.topic_key + weights.days
    factors = (
        parts["importance"] * parts["recency"] * parts["period"] * parts["says"] * parts["over"]
    )
    most_factors = (1 + weights.importance / 2) * (1 + weights.recency / 2) * (1 + weights.period)
    strength = _strength(each, weights)
    return Ranked(
        each, score=said * factors / (most * most_factors), strength=strength, parts=parts
    )


def _strength(each: Candidate, weights: Weights) -> float:
    """How near it is to the question, by meaning and words; by words alone where it has no vector
    (yet).
    """
    limits = weights.near
    cosine = max(0.0, each.scores.get("vector", 0.0) - limits.unrelated) / (1 - limits.unrelated)
    near = cosine + limits.words * each.coverage
    if each.by_words or not _is_indexed(each):
        near = each.coverage
    if each.coverage >= 1:
        near = max(near, weights.near.least)
    return near + weights.near.least * each.scores.get("topic_key", 0.0)


def _is_indexed(each: Candidate) -> bool:
    return not each.scores.keys().isdisjoint(("keyword", "vector"))


def _freshness(each: Candidate, now: int, weights: Weights) -> float:
    return freshness(
        said_at=each.said_at,
        uses=each.uses,
        used_at=each.used_at,
        now=now,
        half_life=weights.half_life,
    )


def _with_outdated_behind(scored: Sequence[Ranked], weights: Weights) -> list[Ranked]:
    """Messages with an earlier value behind the record of what holds now. Where that record is far
    from the question, it asks for something else that the message says.
    """
    current = {each.candidate.key: each.score for each in scored}
    behind = []
    for each in scored:
        newer = current.get(each.candidate.outdated_by or "", 0.0)
        is_about_it = newer >= weights.same_topic * each.score
        behind.append(
            replace(each, score=min(each.score, weights.outdated * newer)) if is_about_it else each
        )
    return behind

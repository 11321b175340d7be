"""Recall: the memories that were found, their scores of several retrievers in one, and which of them are too weak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log2
from typing import TYPE_CHECKING, Literal

from palimpsest.memory import Record, Source
from palimpsest.memory.filters import MemoryType
from palimpsest.models.catalogue import OTHER, Thresholds

if TYPE_CHECKING:
    from palimpsest.text.dates import Period
    from palimpsest.text.sentences import Says


Retriever = Literal["keyword", "vector", "topic_key", "newest"]
Scores = Mapping[Retriever, float]
"""The raw score that each retriever gave."""

DAY = 24 * 3600 * 1000  # milliseconds


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that was found, with everything that its rank depends on. Times are epoch milliseconds.

    `scores` holds the raw score of each retriever: BM25, cosine, and for `topic_key` and `newest` the share (0..1) of
    the question's words that match. `coverage` is the share of these words that its text holds. `neighbours` are the
    keys of the messages right before and after a message, and of those that a record was taken from. `outdated_by` is
    the key of the current record of a topic of which this, a message, says an earlier value. `says` is whether a
    message states something, or only asks or greets. `by_words` is true for a task, which has no vector, and `is_over`
    if its session has ended.
    """

    key: str
    scores: Scores
    said_at: int
    coverage: float = 0.0
    importance: float = 0.5
    uses: int = 0
    used_at: int = 0
    by_words: bool = False
    is_over: bool = False
    neighbours: tuple[str, ...] = ()
    outdated_by: str | None = None
    says: Says = "something"


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """A record or a message that was found, as the tables have it, with its `candidate` for ranking.

    `id` is the record's or the message's own; `valid_from` is in epoch milliseconds; `speaker` is the role of a
    message, None for a record. `outdated_by` is the id of the record or message that says what holds now, where this
    one says an earlier value. `times` is how many memories and messages with this text were found. `before` is what
    was said right before a message, where somebody reads it.
    """

    id: str
    type: MemoryType
    content: str
    source: Source
    valid_from: int
    candidate: Candidate
    record: Record | None = None
    speaker: str | None = None
    score: float = 0.0
    times: int = 1
    before: str = ""

    @property
    def found_by(self) -> tuple[str, ...]:
        return tuple(sorted(self.candidate.scores))

    @property
    def outdated_by(self) -> str | None:
        return self.candidate.outdated_by


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each thing counts; measured with `make bench ARGS=retrieval` (docs/adr/0012).

    `vector` is the share of meaning in a score, words have the rest; `reranker` is the share of a model that read the
    memory. `importance`, `recency` and `period` change a score by at most this part of it; `days` is added
    for a memory of the period, where the question asks for nothing else. Other scores are multiplied:
    by `asking` for a message that only asks, by `empty` for one that says nothing, by `over` for a task whose session
    has ended, by `outdated` for a message behind the record of what holds now. That record has at least `same_topic` of
    the message's score if the question is about it.

    `near` holds the thresholds of the embedding model. A memory that has all of the question's words passes them, and
    so does one of a topic that the question names.
    """

    vector: float = 0.6
    reranker: float = 0.5
    topic_key: float = 0.3
    neighbour: float = 0.3
    asking: float = 0.6
    empty: float = 0.5
    over: float = 0.5
    importance: float = 0.1
    recency: float = 0.05
    period: float = 0.25
    days: float = 0.0
    half_life: int = 90 * DAY
    outdated: float = 0.9
    same_topic: float = 0.3
    near: Thresholds = OTHER
    least_coverage: float = 0.0


DEFAULT_WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate in its place. `score` (0..1) compares candidates of one recall; `strength` compares between recalls:
    how likely it has to do with the question at all. `parts` are the terms and factors of the score.
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
    """Return the candidates, best first; equal ones in the order of their keys. `now` is in epoch milliseconds.

    A message that says an earlier value of a topic comes behind the topic's current record, unless `shows_outdated` or
    the question is about something else that it says.
    """
    every = scored(
        candidates, _fused(candidates, weights), now=now, period=period, shows_outdated=shows_outdated, weights=weights
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
    """Return the candidates in their order, each with its score; `relevance` (0..1) is how near each key is to the
    question. Everything else is as for `ranked`.
    """
    every = [_scored(each, relevance, now=now, period=period, weights=weights) for each in candidates]
    return every if shows_outdated else _with_outdated_behind(every, weights)


def near_enough(found: Sequence[Ranked], *, weights: Weights = DEFAULT_WEIGHTS) -> tuple[Ranked, ...]:
    """Return those that are near enough to the question to be shown: by their own strength, or by that of a neighbour.
    If none is near, none is returned. Where no vectors were compared, words decide.
    """
    if not any("vector" in each.candidate.scores for each in found):
        return tuple(each for each in found if each.candidate.coverage > weights.least_coverage or each.strength > 0)
    by_key = {each.candidate.key: each for each in found}
    if max(each.strength for each in found) < weights.near.least:
        return tuple(each for each in found if _is_of_days(each))
    return tuple(each for each in found if _stands(each, by_key, weights))


def _stands(each: Ranked, by_key: Mapping[str, Ranked], weights: Weights) -> bool:
    """Whether it may be shown. The record of a topic that the question names always may, and what was said in the days
    that alone it asks for. Others must be near enough: a message that says nothing by its own strength alone, and only
    with a word of the question, because its vector leans to what was said before it; one of few words also by the
    strength of a question beside it, any other by the strength of any message beside it.
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


def preselected(found: Mapping[str, Scores], *, most: int, weights: Weights = DEFAULT_WEIGHTS) -> list[str]:
    """Return at most `most` keys, those with the best scores: only they are read from the tables."""
    equal = replace(weights, vector=0.5)
    fused = _fused([Candidate(key, scores, said_at=0) for key, scores in found.items()], equal)
    return sorted(found, key=lambda key: (-fused[key] - found[key].get("topic_key", 0.0), key))[:most]


def _fused(candidates: Sequence[Candidate], weights: Weights) -> dict[str, float]:
    """One score (0..1) for each key, made of words and meaning; of words alone for what is not indexed yet."""
    words = normalised({each.key: each.scores["keyword"] for each in candidates if "keyword" in each.scores})
    meanings = normalised({each.key: each.scores["vector"] for each in candidates if "vector" in each.scores})
    share = weights.vector if meanings else 0.0
    fused = {}
    for each in candidates:
        by_words = words.get(each.key, 0.0)
        by_both = by_words if each.by_words else share * meanings.get(each.key, 0.0) + (1 - share) * by_words
        fused[each.key] = by_both if _is_indexed(each) else each.scores.get("newest", 0.0)
    return fused


def normalised(scores: Mapping[str, float]) -> dict[str, float]:
    """The same scores from 0 (the least) to 1 (the most); 1 where all are equal."""
    if not scores:
        return {}
    least, most = min(scores.values()), max(scores.values())
    return {key: (score - least) / (most - least) if most > least else 1.0 for key, score in scores.items()}


def _scored(
    each: Candidate, fused: Mapping[str, float], *, now: int, period: Period | None, weights: Weights
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
    factors = parts["importance"] * parts["recency"] * parts["period"] * parts["says"] * parts["over"]
    most_factors = (1 + weights.importance / 2) * (1 + weights.recency / 2) * (1 + weights.period)
    strength = _strength(each, weights)
    return Ranked(each, score=said * factors / (most * most_factors), strength=strength, parts=parts)


def _strength(each: Candidate, weights: Weights) -> float:
    """How near it is to the question, by meaning and words; by words alone where it has no vector (yet)."""
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
    return freshness(said_at=each.said_at, uses=each.uses, used_at=each.used_at, now=now, half_life=weights.half_life)


def freshness(*, said_at: int, uses: int, used_at: int, now: int, half_life: int = DEFAULT_WEIGHTS.half_life) -> float:
    """1 for what was said or used just now, half of it after a half-life; what was used often fades more slowly. Times
    are in milliseconds.
    """
    age = max(0, now - max(said_at, used_at))
    return faded(age, half_life=half_life * (1 + log2(1 + uses)))


def faded(age: int, *, half_life: float) -> float:
    """What is left of 1 after an age: half of it after each half-life. Both are in milliseconds."""
    return float(0.5 ** (age / half_life))


def _with_outdated_behind(scored: Sequence[Ranked], weights: Weights) -> list[Ranked]:
    """Messages with an earlier value behind the record of what holds now. Where that record is far from the question,
    it asks for something else that the message says.
    """
    current = {each.candidate.key: each.score for each in scored}
    behind = []
    for each in scored:
        newer = current.get(each.candidate.outdated_by or "", 0.0)
        is_about_it = newer >= weights.same_topic * each.score
        behind.append(replace(each, score=min(each.score, weights.outdated * newer)) if is_about_it else each)
    return behind


def words_of(record: Record) -> str:
    """The text of a record that is compared with the words of a question."""
    return "\n".join((record.content, record.subject or "", *record.keywords, *record.queries))

"""Explains a recall: how its memories were found and ranked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, get_args

from palimpsest.recall.answerable import Answerable
from palimpsest.recall.find import Findings
from palimpsest.recall.found import FoundMemory, Retriever
from palimpsest.recall.question import Query, RecallRequest
from palimpsest.recall.ranking import Ranked
from palimpsest.recall.read import ReadResult, RecallRun
from palimpsest.recall.rerank import Reading


def is_scored_enough(score: float, request: RecallRequest) -> bool:
    return request.min_score is None or score >= request.min_score


def trace(
    run: RecallRun,
    findings: Findings,
    read: ReadResult,
    places: Sequence[Ranked],
    *,
    fused: Sequence[Ranked],
    memories: Sequence[FoundMemory],
    chosen: Sequence[FoundMemory],
    reranker: Reading,
    judged: Answerable,
) -> Mapping[str, Any]:
    """Return the trace as JSON. `places` are all ranked candidates, `fused` their ranking before
    the reranker, `memories` those above the threshold, and `chosen` the returned memories.
    """
    before = {place.candidate.key: number for number, place in enumerate(fused, 1)}
    ids = {memory.candidate.key: memory.id for memory in read.memories}
    shown = {memory.candidate.key for memory in chosen}
    counts = Counter(chain.from_iterable(findings.scores.values()))
    cut = "beyond_k_or_budget" if memories else "below_threshold"

    def why_cut(place: Ranked) -> str | None:
        if place.candidate.key in shown:
            return None
        return cut if is_scored_enough(place.score, run.request) else "below_min_score"

    return {
        "query": _query_shown(run.query),
        "found": {name: counts[name] for name in get_args(Retriever)},
        "ranking": [
            {
                "id": ids[place.candidate.key],
                "score": place.score,
                "strength": place.strength,
                "retrievers": dict(place.candidate.scores),
                "signals": dict(place.signals),
                "terms": dict(place.terms),
                "fused_place": before[place.candidate.key],
                "outdated_by": place.candidate.outdated_by,
                "cut": why_cut(place),
            }
            for place in places
        ],
        "reranker": {
            "asked": reranker.sent,
            "read": len(reranker.scores),
            "milliseconds": reranker.milliseconds,
        },
        "answerable": {
            "likelihood": judged.likelihood,
            "signs": dict(judged.signs),
            "terms": dict(judged.terms),
        },
        "dropped": dict(read.dropped),
    }


def _query_shown(query: Query) -> Mapping[str, Any]:
    return {
        "searched": query.searched,
        "terms": list(query.terms),
        "topic_keys": list(query.topic_keys),
        "period": None if query.period is None else [query.period.start, query.period.end],
        "asks_of_the_past": query.asks_of_the_past,
    }

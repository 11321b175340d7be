"""Explain a recall: ids, the words of the question, scores and reasons; never the text of a memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from palimpsest.recall.find import Findings
from palimpsest.recall.question import Query
from palimpsest.recall.ranking import FoundMemory, Ranked, Retriever
from palimpsest.recall.read import ReadResult, RecallRun
from palimpsest.recall.rerank import Reading


def trace(
    run: RecallRun,
    findings: Findings,
    read: ReadResult,
    places: Sequence[Ranked],
    *,
    fused: Sequence[Ranked],
    found: Sequence[FoundMemory],
    chosen: Sequence[FoundMemory],
    reranker: Reading,
) -> Mapping[str, Any]:
    """Return the trace as JSON. `places` is everything that was ranked, `fused` the same before the reranker,
    `found` what passed the threshold, `chosen` what is shown.
    """
    before = {place.candidate.key: number for number, place in enumerate(fused, 1)}
    ids = {one.candidate.key: one.id for one in read.found}
    shown = {one.candidate.key for one in chosen}
    cut = "beyond_k_or_budget" if found else "below_threshold"
    return {
        "query": _query(run.query),
        "found": {name: sum(name in each for each in findings.scores.values()) for name in get_args(Retriever)},
        "ranking": [
            {
                "id": ids[place.candidate.key],
                "score": place.score,
                "strength": place.strength,
                "retrievers": dict(place.candidate.scores),
                "parts": dict(place.parts),
                "fused_place": before[place.candidate.key],
                "outdated_by": place.candidate.outdated_by,
                "cut": None if place.candidate.key in shown else cut,
            }
            for place in places
        ],
        "reranker": {"asked": reranker.asked, "read": len(reranker.scores), "milliseconds": reranker.milliseconds},
        "dropped": dict(read.dropped),
    }


def _query(query: Query) -> Mapping[str, Any]:
    return {
        "searched": query.searched,
        "terms": list(query.terms),
        "topic_keys": list(query.topic_keys),
        "period": None if query.period is None else [query.period.start, query.period.end],
        "asks_of_the_past": query.asks_of_the_past,
    }

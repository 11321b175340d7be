"""How a recall came about: ids, the question's own words and numbers, and no text of a memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from palimpsest.recall.find import Search
from palimpsest.recall.question import Query
from palimpsest.recall.ranking import Channel, Ranked
from palimpsest.recall.reading import Asked, Read
from palimpsest.recall.request import Recollection


def trace(
    asked: Asked,
    search: Search,
    read: Read,
    places: Sequence[Ranked],
    *,
    found: Sequence[Recollection],
    chosen: Sequence[Recollection],
) -> Mapping[str, Any]:
    """`places` is everything that was ranked, `found` what passed the threshold, `chosen` what is shown."""
    ids = {one.candidate.key: one.id for one in read.there}
    shown = {one.candidate.key for one in chosen}
    cut = "beyond_k_or_budget" if found else "below_threshold"
    return {
        "query": _query(asked.query),
        "found": {name: sum(name in each for each in search.found.values()) for name in get_args(Channel)},
        "ranking": [
            {
                "id": ids[place.candidate.key],
                "score": place.score,
                "strength": place.strength,
                "retrievers": dict(place.candidate.found),
                "parts": dict(place.parts),
                "outdated_by": place.candidate.outdated_by,
                "cut": None if place.candidate.key in shown else cut,
            }
            for place in places
        ],
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

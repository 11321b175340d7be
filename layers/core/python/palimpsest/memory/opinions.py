"""Opinions on a memory: whether it was useful or wrong in a recall. A record keeps the newest ones,
and they move its rank a little.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace

from palimpsest.memory.record import Record

MOST_OPINIONS = 16
USEFUL, WRONG = "+", "-"
OPINION = re.compile(r"[0-9a-f]{8}[+-]")
DOUBT = 2
"""Opinions that would be needed for as much weight as doubt has. One opinion alone says little."""


def with_opinion(record: Record, *, recall: str, is_useful: bool) -> Record:
    """Return the record with the opinion that was given on one recall. A later opinion on the same
    recall replaces an earlier one. Only the newest `MOST_OPINIONS` stay.
    """
    mark = hashlib.sha256(recall.encode()).hexdigest()[:8]
    others = [each for each in record.opinions if not each.startswith(mark)]
    opinion = mark + (USEFUL if is_useful else WRONG)
    if opinion in record.opinions:
        return record
    return replace(record, opinions=(*others, opinion)[-MOST_OPINIONS:])


def standing(opinions: Sequence[str]) -> float:
    """Return how good the opinions are together, from -1 to 1. Without opinions it is 0."""
    useful = sum(each.endswith(USEFUL) for each in opinions)
    return (2 * useful - len(opinions)) / (len(opinions) + DOUBT)

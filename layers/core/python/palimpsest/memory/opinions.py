"""Opinions on a memory: whether it was useful or wrong in a recall. A record keeps the newest
opinions, which move its rank a little.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace

from palimpsest.memory.record import USEFUL, WRONG, Record

MOST_OPINIONS = 16
OPINION = re.compile(r"[0-9a-f]{8}[+-]")


def with_opinion(record: Record, *, recall: str, is_useful: bool) -> Record:
    """Return the record with the opinion that was given on one recall. A later opinion on the same
    recall replaces an earlier one. Only the newest `MOST_OPINIONS` stay.
    """
    mark = hashlib.sha256(recall.encode()).hexdigest()[:8]
    others = [earlier for earlier in record.opinions if not earlier.startswith(mark)]
    opinion = mark + (USEFUL if is_useful else WRONG)
    if opinion in record.opinions:
        return record
    return replace(record, opinions=(*others, opinion)[-MOST_OPINIONS:])

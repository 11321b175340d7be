"""Times at the beginning of lines, as messengers and chat logs write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from palimpsest_client.chats.conversation import time_of

DayOrder = Literal["day-first", "month-first"]
_DAY = r"(?P<a>\d{1,4})[./-](?P<b>\d{1,2})[./-](?P<c>\d{1,4})"
_CLOCK = (
    r"(?P<h>\d{1,2}):(?P<m>\d{2})(?::(?P<s>\d{2}))?(?:[.,]\d+)?\s*(?P<half>[AaPp]\.?\s?[Mm]\.?)?"
)
STAMP = re.compile(rf"\[?{_DAY}(?:,?\s+|T){_CLOCK}(?P<zone>Z|[+-]\d\d:?\d\d)?\]?(?:\s+-)?\s+")
CLOCK = re.compile(r"[\[(]\d{1,2}:\d{2}(?::\d{2})?[\])]\s+")
"""A time without a day, which is left out."""
YEAR = 4  # digits
CENTURY = 2000
NOON = 12


class AmbiguousDays(ValueError):
    """The days of a file can be read in two ways (day or month first), and nothing in the file
    decides between them.
    """


def order_of(stamps: Iterable[re.Match[str]], wanted: DayOrder | None, place: str) -> DayOrder:
    """Return the order of day and month in the stamps of a file. A number above 12 decides. Raises
    `AmbiguousDays`.
    """
    if wanted is not None:
        return wanted
    first = second = 0
    doubtful = ""
    for stamp in stamps:
        if len(stamp["a"]) == YEAR:
            continue
        first, second = max(first, int(stamp["a"])), max(second, int(stamp["b"]))
        doubtful = doubtful or stamp[0].strip()
    if first > NOON or not doubtful or "." in doubtful.split()[0]:
        return "day-first"
    if second > NOON:
        return "month-first"
    raise AmbiguousDays(
        f"{place}: {doubtful!r} can be read in two ways. Give --dates day-first or --dates "
        "month-first."
    )


def time_in(stamp: re.Match[str], order: DayOrder) -> str | None:
    """Return the time of a stamp in RFC 3339, or None if there is no such time. A time without an
    offset is in this machine's time.
    """
    a, b, c = int(stamp["a"]), int(stamp["b"]), int(stamp["c"])
    if len(stamp["a"]) == YEAR:
        year, month, day = a, b, c
    else:
        day, month = (a, b) if order == "day-first" else (b, a)
        year = c if len(stamp["c"]) == YEAR else CENTURY + c
    hour = int(stamp["h"])
    if stamp["half"]:
        hour = hour % NOON + (NOON if stamp["half"][0] in "Pp" else 0)
    try:
        at = datetime(year, month, day, hour, int(stamp["m"]), int(stamp["s"] or 0))  # noqa: DTZ001 - the zone follows
    except ValueError:
        return None
    return time_of(at.isoformat() + (stamp["zone"] or ""))

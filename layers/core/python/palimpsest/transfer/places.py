"""The checks of every line of an import: its place after other lines, its ids, its times, and its
size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from palimpsest.clock import EPOCH, milliseconds, stamp
from palimpsest.errors import Unprocessable
from palimpsest.scope import checked_id
from palimpsest.transfer.agreement import SessionLines, require
from palimpsest.transfer.lines import Row, head_of, line

WITHIN = dict.fromkeys(("progress", "compaction", "message"), "session_id") | {
    "vector": "namespace"
}
"""Kinds of lines that follow the line of their session or namespace, and the field that
names it.
"""
LARGEST = 350_000  # bytes of a line of one item: an item of DynamoDB holds 400 KB
MOST_MESSAGES = 10**12  # numbers of messages have 12 digits in keys
SLACK = 300_000
"""Milliseconds by which times of a file may be ahead of this server's: another server wrote it."""


@dataclass(frozen=True, slots=True)
class Before:
    """The place of a line: after the end of the file, or among the lines of this session or
    namespace. The namespace's vectors have so many numbers, and the last of them had this id. `now`
    is in epoch milliseconds.
    """

    now: int
    is_over: bool = False
    owner: str | None = None
    session: SessionLines | None = None
    dimension: int = 0
    vector: str = ""

    def then(self, row: Row, *, number: int) -> Before:
        match row["kind"]:
            case "session":
                begun = SessionLines(
                    row["session_id"], head_of(row, user="somebody"), number=number
                )
                return Before(self.now, owner=row["session_id"], session=begun)
            case "namespace":
                return Before(self.now, owner=row["name"], dimension=row["dimension"])
            case "vector":
                return replace(self, vector=row["id"])
            case kind:
                return self if kind in WITHIN else Before(self.now, is_over=kind == "end")

    @property
    def lines(self) -> SessionLines:
        """Those of the session that the line belongs to."""
        if self.session is None:
            raise Unprocessable("it belongs to no session")
        return self.session


def check_id(row: Row, name: str) -> None:
    value = row.get(name)
    require(isinstance(value, str), f"{name} is no text")
    checked_id(str(value), field=name)


def check_size(row: Row) -> None:
    require(len(line(row)) <= LARGEST, f"it has more than {LARGEST} bytes")


def moment_of(text: str, before: Before, name: str) -> int:
    """The time in epoch milliseconds. Raises `Unprocessable` unless it is one of the past, as a
    store writes it.
    """
    try:
        moment = datetime.fromisoformat(text)
        is_time = (
            moment.tzinfo is not None and stamp(moment.astimezone(UTC)) == text and moment >= EPOCH
        )
    except (ValueError, OverflowError):
        is_time = False
    require(is_time, f"{name} is no time")
    require(milliseconds(moment) <= before.now + SLACK, f"{name} is still to come")
    return milliseconds(moment)

"""The forms of the lines of an import, which check each line alone. Each kind of line is a model. A
line of a stored thing has the thing's fields, and holds the thing as `held`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    StrictInt,
    ValidationInfo,
    model_validator,
)

from palimpsest.clock import EPOCH, milliseconds, stamp
from palimpsest.errors import Unprocessable
from palimpsest.scope import checked_id
from palimpsest.transfer.agreement import require
from palimpsest.transfer.lines import Row, line, names_of, read

LARGEST = 350_000  # bytes of a line of one item: an item of DynamoDB holds 400 KB
MOST_MESSAGES = 10**12  # numbers of messages have 12 digits in keys
SLACK = 300_000
"""The milliseconds by which times in a file may be ahead of this server's time, because another
server wrote the file.
"""


UserId = Annotated[str, AfterValidator(partial(checked_id, field="user_id"))]
SessionId = Annotated[str, AfterValidator(partial(checked_id, field="session_id"))]


class Line(BaseModel):
    """A line of an import. Its validation needs the time `now` in its context, in epoch
    milliseconds.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    HOLDS: ClassVar[type | None] = None
    """The type of `held`, for a line with the fields of a stored thing."""
    OWN: ClassVar[Mapping[str, Any]] = {}
    """Fields of `held` that no file has, with their values."""


class ItemLine(Line):
    """A line of an export that has one stored thing. The thing must fit into an item of a table."""

    @model_validator(mode="before")
    @classmethod
    def _gathered(cls, row: Row) -> Row:
        form = cls.HOLDS
        if form is None or "held" in row:
            raise Unprocessable("held is not known")
        names = names_of(form)
        beside = {name: value for name, value in row.items() if name not in names}
        return {**beside, "held": read(form, row, **cls.OWN)}


class ExportLine(Line):
    kind: Literal["export"]
    format: Literal["palimpsest"]
    version: Literal[1]


class UserLine(Line):
    kind: Literal["user"]
    user_id: UserId


class EndLine(Line):
    kind: Literal["end"]
    lines: StrictInt


def now_of(info: ValidationInfo) -> int:
    """Return the server's time in epoch milliseconds."""
    context: dict[str, int] = info.context or {}
    return context["now"]


def check_size(row: Row) -> None:
    require(len(line(row)) <= LARGEST, f"it has more than {LARGEST} bytes")


def moment_of(text: str, name: str, *, now: int) -> int:
    """Return a time in epoch milliseconds. Raises `Unprocessable` unless it is a past time in the
    format that a store writes.
    """
    try:
        moment = datetime.fromisoformat(text)
        is_time = (
            moment.tzinfo is not None and stamp(moment.astimezone(UTC)) == text and moment >= EPOCH
        )
    except (ValueError, OverflowError):
        is_time = False
    require(is_time, f"{name} is not a time")
    require(milliseconds(moment) <= now + SLACK, f"{name} is in the future")
    return milliseconds(moment)

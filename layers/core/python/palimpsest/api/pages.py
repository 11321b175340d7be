"""Pages of lists, their parameters and their cursors. A cursor is the next place of a list, opaque,
and valid for that list only.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol, TypeVar

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import Field

from palimpsest.api.answers import MAX_BYTES, Page, json_answer
from palimpsest.api.encoding import dumps, size_in_answer
from palimpsest.errors import BadRequest, FieldError

LONGEST_NUMBER = 12  # digits of a sequence number
DEFAULT_LIMIT = 50

NextCursor = Annotated[str | None, Field(description="Where the next page begins; null at the end")]
Limit = Annotated[
    int,
    Query(
        ge=1, le=100, description="The most items on a page; a page of large items may hold less"
    ),
]
Cursor = Annotated[
    str | None, Query(max_length=2_000, description="`next_cursor` of the page before")
]
Order = Annotated[
    Literal["asc", "desc"], Query(description="asc: oldest first; desc: newest first")
]

Row = TypeVar("Row")
Named = TypeVar("Named", bound="_Named")
Find = Callable[..., tuple[Sequence[Row], str | None]]
"""Takes the most rows (`limit`) and the place `after` which they begin; returns rows, and the place
of the last of them (None: nothing follows).
"""


class _Named(Protocol):
    @property
    def id(self) -> str: ...


def listing(
    name: str,
    find: Find[Row],
    shown: Callable[[Row], Mapping[str, Any]],
    *,
    listed: tuple[object, ...],
    limit: int,
    cursor: str | None,
) -> Page:
    """A page of at most `limit` rows, or of fewer where they are too large for one answer, as the
    type that describes the operation's answer. `listed` names the list: its tenant, its kind, what
    it is a list of, its filters, its order.
    """
    begin = after(cursor, *listed)
    while True:
        rows, following = find(limit=limit, after=begin)
        next_cursor = None if following is None else cursor_at(*listed, after=following)
        page = Page({name: list(map(shown, rows)), "next_cursor": next_cursor})
        page.text = dumps(page)
        if limit == 1 or size_in_answer(page.text) <= MAX_BYTES:
            return page
        limit //= 2


def by_id(listed: Callable[..., Sequence[Named]]) -> Find[Named]:
    """Pages of `listed`, which returns at most `most` things `after` an id (None: from the
    beginning), in the order of ids.
    """

    def find(*, limit: int, after: str | None) -> tuple[Sequence[Named], str | None]:
        rows = listed(after=after, most=limit + 1)
        return rows[:limit], rows[limit - 1].id if len(rows) > limit else None

    return find


def paged(
    name: str,
    rows: Iterable[tuple[Mapping[str, Any], int]],
    *,
    listed: tuple[object, ...],
    after: int | None,
) -> Response[str]:
    """A page of `rows`, each with its number, as far as an answer can carry them (the first
    always).

    `after` is the beginning of the next page if all of them fit. None means that there is no next
    page.
    """
    texts: list[str] = []
    size, last = 0, 0
    for row, number in rows:
        text = dumps(row)
        size += size_in_answer(text) + 1
        if texts and size > MAX_BYTES - 1_000:
            after = last
            break
        texts.append(text)
        last = number
    next_cursor = dumps(None if after is None else cursor_at(*listed, after=after))
    return json_answer(f'{{"{name}":[{",".join(texts)}],"next_cursor":{next_cursor}}}')


def cursor_at(*listed: object, after: object) -> str:
    """The cursor of a place in the list that `listed` names."""
    return base64.urlsafe_b64encode(f"{_mark(listed)}{after}".encode()).decode().rstrip("=")


def after(given: str | None, *listed: object) -> str | None:
    """The `after` of `cursor_at`; None for None. Raises `BadRequest` (`invalid_cursor`) for any
    other.
    """
    if given is None:
        return None
    mark = _mark(listed)
    try:
        text = base64.b64decode(
            given + "=" * (-len(given) % 4), altchars=b"-_", validate=True
        ).decode()
    except ValueError as error:
        raise _refused() from error
    if not text.startswith(mark):
        raise _refused()
    return text.removeprefix(mark)


def after_number(given: str | None, *listed: object) -> int | None:
    """The same, where the place is a sequence number."""
    place = after(given, *listed)
    if place is not None and not (
        place.isascii() and place.isdecimal() and len(place) <= LONGEST_NUMBER
    ):
        raise _refused()
    return None if place is None else int(place)


def _mark(listed: tuple[object, ...]) -> str:
    """The tie between a cursor and its list. It isn't secret, because a forged cursor only leads
    into a list of the caller's own.
    """
    return hashlib.sha256("\x1f".join(map(str, listed)).encode()).hexdigest()[:16] + "."


def _refused() -> BadRequest:
    errors = (FieldError("cursor", "not one of this list"),)
    return BadRequest("The cursor is not one of this list.", code="invalid_cursor", errors=errors)

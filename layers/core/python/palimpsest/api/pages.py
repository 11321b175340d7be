"""The pages of lists, with their parameters and cursors. A cursor names the next place of one list.
It is opaque, and valid for that list only.
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
        ge=1, le=100, description="The most items on a page; a page of large items may hold fewer"
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
"""A function that reads rows of a list. It takes the highest number of rows (`limit`) and the place
`after` which they begin. It returns the rows and the place of the last one, or None if no rows
follow.
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
    """Return a page of at most `limit` rows, or fewer if they would be too large for one answer.
    `find` reads the rows, and `shown` makes the JSON of a row. `listed` identifies the list for its
    cursors: tenant, kind, owner, filters and order.
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
    """Return a function that reads pages of a list which is ordered by id. `listed` returns at most
    `most` things after the id `after`, or from the beginning for None.
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
    """Return a page with as many of `rows` as fit into an answer, but at least one. Each row comes
    with its number.

    `after` is the cursor's place if all rows fit; None means that there is no next page.
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
    """Return the cursor of a place in the list that `listed` identifies."""
    return base64.urlsafe_b64encode(f"{_mark(listed)}{after}".encode()).decode().rstrip("=")


def after(cursor: str | None, *listed: object) -> str | None:
    """Return the place that `cursor_at` put into the cursor; None for None. Raises `BadRequest`
    (`invalid_cursor`) for a cursor of another list, and for any other text.
    """
    if cursor is None:
        return None
    mark = _mark(listed)
    try:
        text = base64.b64decode(
            cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True
        ).decode()
    except ValueError as error:
        raise _refused() from error
    if not text.startswith(mark):
        raise _refused()
    return text.removeprefix(mark)


def after_number(cursor: str | None, *listed: object) -> int | None:
    """Return the place that a cursor holds as a sequence number; None for None. Raises `BadRequest`
    (`invalid_cursor`).
    """
    place = after(cursor, *listed)
    if place is not None and not (
        place.isascii() and place.isdecimal() and len(place) <= LONGEST_NUMBER
    ):
        raise _refused()
    return None if place is None else int(place)


def _mark(listed: tuple[object, ...]) -> str:
    """Return the text that ties a cursor to its list. It need not be secret, because a forged
    cursor can only lead into the caller's own lists.
    """
    return hashlib.sha256("\x1f".join(map(str, listed)).encode()).hexdigest()[:16] + "."


def _refused() -> BadRequest:
    errors = (FieldError("cursor", "does not belong to this list"),)
    return BadRequest(
        "The cursor does not belong to this list.", code="invalid_cursor", errors=errors
    )

"""One call of the service as steps that wait for nothing: what is to be sent, and what to make of
the answer.

A step is a `Send` or a `Pause`. The client that carries out the steps, blocking or not, returns a
`Sent` for each `Send`. So retries, keys and answers are written once for both clients.
"""

from __future__ import annotations

import math
import random
import re
import uuid
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from time import monotonic
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from palimpsest_client.errors import ConnectionLost, InvalidId, NotTheService, problem_of

T = TypeVar("T")
Row = TypeVar("Row")

TRIES = 6
PATIENCE = 60.0  # seconds from the first try to the last
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0  # seconds
BUSY = frozenset({429, 502, 503, 504})
LARGEST_PAGE = 100
ID = re.compile(r"[A-Za-z0-9._:@+|=-]{1,128}")
LONGEST_SHOWN = 64  # characters of a wrong id in an error
MOST_EMPTY_PAGES = 1_000  # in a row: a filter may pass over as many
LONGEST_SEARCH = 300.0  # seconds without a row
KEYED, CHANGING = ("POST", "PUT"), ("PATCH", "PUT")
MISREAD = (LookupError, TypeError, AttributeError)
"""The errors that an answer of another shape than the service's raises."""


@dataclass(frozen=True, slots=True)
class Send:
    """A request to send, once."""

    method: str
    path: str
    body: Any = None
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class Sent:
    """The result: an answer of `address`, or `lost`, the reason why there was none.
    The same request gets no other answer if it `is_final`.
    """

    address: str
    status: int = 0
    body: Any = None
    retry_after: str | None = None
    lost: Exception | None = None
    is_final: bool = False


Steps = Generator[Send | Pause, Any, T]
"""The steps of a call whose result is a T."""


@dataclass(frozen=True, slots=True)
class Listing(Generic[Row]):
    """A list that the service gives page by page, under `name`; `limit` is the most rows in all,
    None: all.
    """

    path: tuple[str | int, ...]
    name: str
    query: Mapping[str, Any]
    limit: int | None = None

    def page(self, cursor: str | None, seen: int) -> Steps[tuple[list[Row], str | None]]:
        """The rows of the next page, and where the one after it begins, None at the end; `seen`
        rows came before.
        """
        wanted = LARGEST_PAGE if self.limit is None else min(LARGEST_PAGE, self.limit - seen)
        found = yield from call(
            "GET", *self.path, query={**self.query, "limit": wanted, "cursor": cursor}
        )
        rows, following = found[self.name], found["next_cursor"]
        if not (isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
            raise TypeError("The rows of a page are objects.")
        if not (following is None or isinstance(following, str)):
            raise TypeError("A cursor is a text.")
        rows = rows if self.limit is None else rows[:wanted]
        is_last = self.limit is not None and seen + len(rows) >= self.limit
        return rows, None if is_last else following


class Pages(Generic[Row]):
    """A list as it is read, page by page, while it `has_more`."""

    def __init__(self, listing: Listing[Row]) -> None:
        self._listing = listing
        self._cursor: str | None = None
        self._seen, self._empty, self._since = 0, 0, monotonic()
        self.has_more = True

    def next(self) -> Steps[list[Row]]:
        """The rows of the next page. Raises `NotTheService` where the list goes round, or on and on
        without a row.
        """
        rows, following = yield from self._listing.page(self._cursor, self._seen)
        if rows:
            self._seen, self._empty, self._since = self._seen + len(rows), 0, monotonic()
        else:
            self._empty += 1
        is_endless = self._empty >= MOST_EMPTY_PAGES or monotonic() - self._since > LONGEST_SEARCH
        if following is not None and (following == self._cursor or is_endless):
            address = "/v1/" + "/".join(map(str, self._listing.path))
            raise NotTheService(address, "its list does not end")
        self._cursor, self.has_more = following, following is not None
        return rows


def advanced(steps: Steps[Any], sent: Sent | None) -> Send | Pause:
    """The next step, after what came of the last one. Raises `NotTheService` if the answer has
    another shape than the service's, and whatever the call raises.
    """
    try:
        return steps.send(sent)
    except MISREAD as error:
        if sent is None:
            raise
        raise NotTheService(sent.address, "its answer has another shape") from error


def call(
    method: str,
    *path: str | int,
    body: Mapping[str, Any] | None = None,
    query: Mapping[str, Any] | None = None,
    key: str | None = None,
) -> Steps[Any]:
    """Call `/v1/{path}`, and return what the answer holds. Parameters that are None are left out,
    and so are fields, but of a PATCH or PUT: there null says something.

    A POST or PUT has a new key, or the given one, and keeps it in every repetition, so it makes
    nothing twice. A lost request, or one refused because of load, is sent again after a growing
    pause or the service's own, until `TRIES` or `PATIENCE` are used up. Raises `Problem`,
    `ConnectionLost`, or `NotTheService` if something else answers. Raises `InvalidId`, before
    anything is sent, if a part of the path isn't an id. A gateway decodes paths, and would read
    another path.
    """
    headers = {"Idempotency-Key": key or uuid.uuid4().hex} if method in KEYED else {}
    given = body if body is None or method in CHANGING else _without_none(body)
    place = "/v1/" + "/".join(quote(checked_id(str(each)), safe="") for each in path)
    request = Send(method, place, given, _as_query(query or {}), headers)
    begun, lost_before = monotonic(), False
    for number in range(1, TRIES + 1):
        sent: Sent = yield request
        pause = _pause(sent, number)
        if pause is None or number == TRIES or monotonic() - begun + pause > PATIENCE:
            break
        lost_before |= sent.status != HTTPStatus.TOO_MANY_REQUESTS  # then nothing was done
        yield Pause(pause)
    if sent.lost is not None:
        why = f"{type(sent.lost).__name__}: {sent.lost}".removesuffix(": ")
        raise ConnectionLost(
            f"No answer from {sent.address} ({why}). Is that its address, and is it running?"
        ) from sent.lost
    if sent.status == HTTPStatus.NOT_FOUND and method == "DELETE" and lost_before:
        return {
            "deleted": True,
            "job_id": None,
            "state": "done",
        }  # an earlier try did it, its answer was lost
    if sent.status >= HTTPStatus.BAD_REQUEST:
        raise problem_of(
            sent.status,
            sent.body if isinstance(sent.body, dict) else {"detail": str(sent.body)[:500]},
        )
    if sent.status >= HTTPStatus.MULTIPLE_CHOICES:
        raise NotTheService(
            sent.address, f"it answers {sent.status}, but the service never redirects"
        )
    if not isinstance(sent.body, dict):
        raise NotTheService(sent.address, "its answer isn't a JSON object")
    return sent.body


def checked_id(value: str) -> str:
    """The value, if it is an id as the service has them. Raises `InvalidId`."""
    if not ID.fullmatch(value) or not value.strip("."):
        field = {
            "field": "id",
            "message": "1 to 128 of A-Z a-z 0-9 . _ : @ + | = - and not only dots",
        }
        shown = ascii(value[:LONGEST_SHOWN])
        detail = f"{shown} is not a valid id; nothing was sent."
        raise InvalidId(
            {
                "status": InvalidId.status,
                "code": InvalidId.code,
                "detail": detail,
                "errors": [field],
            }
        )
    return value


def _pause(sent: Sent, number: int) -> float | None:
    """How long to wait before the next try, in seconds; None if there is nothing to try again."""
    if sent.lost is None and sent.status not in BUSY and not _is_the_gateways_own(sent):
        return None
    is_refused = isinstance(sent.body, dict) and sent.body.get("retryable") is False
    if is_refused or sent.is_final:
        return None
    growing: float = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (number - 1))
    try:
        asked = float(sent.retry_after or 0)
    except ValueError:  # a date
        asked = 0
    asked = 0 if math.isnan(asked) else asked
    return max(min(asked, LONGEST_PAUSE), random.uniform(growing / 2, growing))  # noqa: S311 - no secret


def _is_the_gateways_own(sent: Sent) -> bool:
    """Whether API Gateway answered 500 by itself, because the function of the call or the
    authorizer can't run.
    """
    is_problem = isinstance(sent.body, dict) and "code" in sent.body
    return sent.status == HTTPStatus.INTERNAL_SERVER_ERROR and not is_problem


def _without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _as_query(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as the service reads them; a list is its parameter several times."""
    shown = {True: "true", False: "false"}
    return {
        name: shown[value] if isinstance(value, bool) else value
        for name, value in _without_none(fields).items()
    }

"""One call of the service, as steps that do not wait themselves. The steps say what is sent and how
the answer is read.

A step is a `Send` or a `Pause`. The client that carries out the steps, blocking or not, returns a
`Sent` for each `Send`. So retries, keys and answers are written once for both clients.
"""

from __future__ import annotations

import math
import random
import re
import sys
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
MOST_EMPTY_PAGES = 1_000  # empty pages in a row, as a filter may leave out many rows
LONGEST_SEARCH = 300.0  # seconds without a row
KEYED, CHANGING = ("POST", "PUT"), ("PATCH", "PUT")
MISREAD = (LookupError, TypeError, AttributeError)
"""The errors that occur when an answer does not have the form of the service's answers."""


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
    """The result of a request. It is an answer of `address`, or `lost` is the reason why there was
    no answer. If it `is_final`, sending the same request again would give the same result.
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
    """A list that the service returns page by page, under `name`. `limit` is the largest number of
    rows in total (None: all).
    """

    path: tuple[str | int, ...]
    name: str
    query: Mapping[str, Any]
    limit: int | None = None

    def page(self, cursor: str | None, seen: int) -> Steps[tuple[list[Row], str | None]]:
        """Request the next page. Return its rows, and the cursor of the page after it (None at the
        end). `seen` is the number of rows before it.
        """
        wanted = LARGEST_PAGE if self.limit is None else min(LARGEST_PAGE, self.limit - seen)
        answer = yield from call(
            "GET", *self.path, query={**self.query, "limit": wanted, "cursor": cursor}
        )
        rows, following = answer[self.name], answer["next_cursor"]
        if not (isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
            raise TypeError("The rows of a page are objects.")
        if not (following is None or isinstance(following, str)):
            raise TypeError("A cursor is a text.")
        rows = rows if self.limit is None else rows[:wanted]
        is_last = self.limit is not None and seen + len(rows) >= self.limit
        return rows, None if is_last else following


class Pages(Generic[Row]):
    """A list that is read page by page, while it `has_more`."""

    def __init__(self, listing: Listing[Row]) -> None:
        self._listing = listing
        self._cursor: str | None = None
        self._seen, self._empty, self._since = 0, 0, monotonic()
        self.has_more = True

    def next(self) -> Steps[list[Row]]:
        """Return the rows of the next page. Raises `NotTheService` if the list repeats itself, or
        continues endlessly without rows.
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
    """Return the next step, given the result of the last one. Raises `NotTheService` if the answer
    does not have the form of the service's answers, and all errors of the call.
    """
    try:
        return steps.send(sent)
    except MISREAD as error:
        if sent is None:
            raise
        raise NotTheService(
            sent.address, "its answer has another form than the service's answers"
        ) from error


def call(
    method: str,
    *path: str | int,
    body: Mapping[str, Any] | None = None,
    query: Mapping[str, Any] | None = None,
    key: str | None = None,
) -> Steps[Any]:
    """Call `/v1/{path}`, and return the content of the answer. Parameters that are None are left
    out, and so are fields, except in a PATCH or PUT, where null has a meaning.

    A POST or PUT is sent with an idempotency key, which is `key` or a new one. Repetitions have the
    same key, so the call is done only once. A request that was lost, or refused because of load, is
    sent again after a pause. The pause grows, unless the service names one. Repetition ends after
    `TRIES` requests or `PATIENCE` seconds.

    Raises `Problem`, `ConnectionLost`, or `NotTheService` if something else answers. Raises
    `InvalidId`, before anything is sent, if a part of the path isn't an id, because a gateway
    decodes paths and could read another path.
    """
    headers = {"Idempotency-Key": key or uuid.uuid4().hex} if method in KEYED else {}
    headers |= _trace()
    fields = body if body is None or method in CHANGING else _without_none(body)
    place = "/v1/" + "/".join(quote(checked_id(str(part)), safe="") for part in path)
    request = Send(method, place, fields, _as_query(query or {}), headers)
    begun, lost_before = monotonic(), False
    for number in range(1, TRIES + 1):
        sent: Sent = yield request
        pause = _pause(sent, number)
        if pause is None or number == TRIES or monotonic() - begun + pause > PATIENCE:
            break
        lost_before |= sent.status != HTTPStatus.TOO_MANY_REQUESTS  # in this case nothing was done
        yield Pause(pause)
    if sent.lost is not None:
        why = f"{type(sent.lost).__name__}: {sent.lost}".removesuffix(": ")
        raise ConnectionLost(
            f"No answer from {sent.address} ({why}). Is the address right? Is the service running?"
        ) from sent.lost
    if sent.status == HTTPStatus.NOT_FOUND and method == "DELETE" and lost_before:
        # an earlier try did it, but its answer was lost
        return {"deleted": True, "job_id": None, "state": "done"}
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


def _trace() -> dict[str, str]:
    """Return the header `traceparent` with the program's present span, if the program traces with
    OpenTelemetry. Otherwise nothing is loaded for it.
    """
    trace: Any = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return {}
    span = trace.get_current_span().get_span_context()
    if not span.is_valid:
        return {}
    parent = f"00-{span.trace_id:032x}-{span.span_id:016x}-{int(span.trace_flags):02x}"
    return {"traceparent": parent}


def checked_id(value: str) -> str:
    """Return the value if it is a valid id of the service. Raises `InvalidId`."""
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
    """Return how many seconds to wait before the next try, or None if the request must not be sent
    again.
    """
    if sent.lost is None and sent.status not in BUSY and not _is_the_gateways_own(sent):
        return None
    is_refused = isinstance(sent.body, dict) and sent.body.get("retryable") is False
    if is_refused or sent.is_final:
        return None
    growing: float = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (number - 1))
    try:
        wanted = float(sent.retry_after or 0)
    except ValueError:  # a date
        wanted = 0
    wanted = 0 if math.isnan(wanted) else wanted
    return max(min(wanted, LONGEST_PAUSE), random.uniform(growing / 2, growing))  # noqa: S311 - no secret


def _is_the_gateways_own(sent: Sent) -> bool:
    """Return whether API Gateway itself answered 500, because the function of the call or the
    authorizer can't run.
    """
    is_problem = isinstance(sent.body, dict) and "code" in sent.body
    return sent.status == HTTPStatus.INTERNAL_SERVER_ERROR and not is_problem


def _without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _as_query(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters in the form that the service reads. A list becomes its parameter several
    times.
    """
    shown = {True: "true", False: "false"}
    return {
        name: shown[value] if isinstance(value, bool) else value
        for name, value in _without_none(fields).items()
    }

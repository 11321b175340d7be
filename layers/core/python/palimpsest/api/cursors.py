"""Cursors: where a list goes on, opaque to callers and good for that one list only."""

from __future__ import annotations

import base64
import hashlib

from palimpsest.errors import BadRequest, FieldError

LONGEST_NUMBER = 12  # digits of a sequence number


def cursor(*listed: object, after: object) -> str:
    """A place in the list that `listed` names: its tenant, its kind, what it is a list of, its filters, its order."""
    return base64.urlsafe_b64encode(f"{_mark(listed)}{after}".encode()).decode().rstrip("=")


def after(given: str | None, *listed: object) -> str | None:
    """What `cursor` was given as `after`; None for None. Raises `BadRequest` (`invalid_cursor`) for any other."""
    if given is None:
        return None
    mark = _mark(listed)
    try:
        text = base64.b64decode(given + "=" * (-len(given) % 4), altchars=b"-_", validate=True).decode()
    except ValueError as error:
        raise _refused() from error
    if not text.startswith(mark):
        raise _refused()
    return text.removeprefix(mark)


def after_number(given: str | None, *listed: object) -> int | None:
    """The same, where the place is a sequence number."""
    place = after(given, *listed)
    if place is not None and not (place.isascii() and place.isdecimal() and len(place) <= LONGEST_NUMBER):
        raise _refused()
    return None if place is None else int(place)


def _mark(listed: tuple[object, ...]) -> str:
    """What ties a cursor to its list. It is no secret: a forged cursor only leads into a list of the caller's own."""
    return hashlib.sha256("\x1f".join(map(str, listed)).encode()).hexdigest()[:16] + "."


def _refused() -> BadRequest:
    errors = (FieldError("cursor", "not one of this list"),)
    return BadRequest("The cursor is not one of this list.", code="invalid_cursor", errors=errors)

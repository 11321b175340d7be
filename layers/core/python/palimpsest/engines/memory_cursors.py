"""Cursors of the lists that long-term stores give: opaque, and of use for no other list."""

from __future__ import annotations

import re

from palimpsest.engines.rules import cursor, opened
from palimpsest.errors import BadRequest
from palimpsest.memory.records import Record
from palimpsest.scope import Scope, UserScope

EXAMINED = 1_000
"""How many records one call of a list looks at, whatever it finds."""
_PLACE = re.compile(r"\d{15}#[^#]{1,128}")


def created_as(record: Record) -> str:
    """A record's place in its user's list: by creation, then id."""
    return f"{record.created_at:015d}#{record.id}"


def record_cursor(scope: UserScope, place: str) -> str:
    return cursor(tenant=scope.tenant, user=scope.user, listed=place)


def record_place(scope: UserScope, after: str) -> str:
    """What `record_cursor` was given; raise `BadRequest` (`invalid_cursor`) if it was not made for this list."""
    place = opened(after, tenant=scope.tenant, user=scope.user)
    if not _PLACE.fullmatch(place):
        raise _refused()
    return place


def user_cursor(scope: Scope, user: str) -> str:
    return cursor(tenant=scope.tenant, user=None, listed=user)


def user_place(scope: Scope, after: str) -> str:
    """What `user_cursor` was given; raise `BadRequest` (`invalid_cursor`) if it was not made for this list."""
    user = opened(after, tenant=scope.tenant, user=None)
    try:
        return scope.user(user).user
    except BadRequest as error:
        raise _refused() from error


def _refused() -> BadRequest:
    return BadRequest("The cursor is not one of this list.", code="invalid_cursor")

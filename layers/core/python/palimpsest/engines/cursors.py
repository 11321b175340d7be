"""Cursors of the lists that the stores give: opaque to the caller, and refused by every list but their own."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass

from palimpsest.errors import BadRequest
from palimpsest.scope import ID_PATTERN, Scope, UserScope

EXAMINED = 1_000
"""How many records one call of a list reads at most, whatever it finds."""
_ID = rf"(?!\.+$){ID_PATTERN}"


@dataclass(frozen=True, slots=True)
class ListCursor:
    """The cursors of one list: of a tenant or, if `user` is named, of that user. `places` matches what one may hold."""

    tenant: str
    user: str | None
    places: re.Pattern[str]

    def at(self, place: str) -> str:
        """The cursor with which the list goes on after a place."""
        text = json.dumps([self.tenant, self.user, place], separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    def place(self, after: str | None) -> str | None:
        """The place that a cursor holds; None for None. Raises `BadRequest` (`invalid_cursor`) for one of another list,
        and for anything that `at` did not make.
        """
        if after is None:
            return None
        try:
            found = json.loads(base64.b64decode(after + "=" * (-len(after) % 4), altchars=b"-_", validate=True))
        except (ValueError, RecursionError) as error:
            raise _refused() from error
        match found:
            case [str(tenant), str() | None as user, str(place)] if (tenant, user) == (self.tenant, self.user):
                if self.places.fullmatch(place):
                    return place
        raise _refused()


def session_cursor(scope: Scope, user: str | None) -> ListCursor:
    """Of a tenant's sessions, or of one user's (`places.listed_as`)."""
    owner = ID_PATTERN if user is None else re.escape(user)
    return ListCursor(scope.tenant, user, re.compile(rf"{owner}#[^#]{{1,64}}#{_ID}"))


def user_cursor(scope: Scope) -> ListCursor:
    """Of a tenant's users, by id."""
    return ListCursor(scope.tenant, None, re.compile(_ID))


def job_cursor(scope: UserScope) -> ListCursor:
    """Of a user's jobs (`places.job_listed_as`)."""
    return ListCursor(scope.tenant, scope.user, re.compile(rf"\d{{12}}#{_ID}"))


def record_cursor(scope: UserScope) -> ListCursor:
    """Of a user's records (`places.record_listed_as`)."""
    return ListCursor(scope.tenant, scope.user, re.compile(r"\d{15}#[^#]{1,128}"))


def _refused() -> BadRequest:
    return BadRequest("The cursor is not one of this list.", code="invalid_cursor")

"""The cursors of lists. Each cursor belongs to one list of one tenant or user."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass

from palimpsest.errors import BadRequest
from palimpsest.scope import ID_PATTERN, Scope, UserScope

_ID = rf"(?!\.+$){ID_PATTERN}"

_MOMENT = r"\d{4}-[0-9T:.Z-]{1,32}"


@dataclass(frozen=True, slots=True)
class ListCursor:
    """Makes and reads the cursors of one list. The list is the tenant's or, if `user` is given,
    that user's. `places` is the pattern that every place in the list matches.
    """

    tenant: str
    user: str | None
    places: re.Pattern[str]

    def at(self, place: str) -> str:
        """Return the cursor that continues the list after a place."""
        text = json.dumps([self.tenant, self.user, place], separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    def place(self, after: str | None) -> str | None:
        """Return the place that a cursor holds; None for None. Raises `BadRequest`
        (`invalid_cursor`) for a cursor of another list, and for any text that `at` did not make.
        """
        if after is None:
            return None
        try:
            values = json.loads(
                base64.b64decode(after + "=" * (-len(after) % 4), altchars=b"-_", validate=True)
            )
        except (ValueError, RecursionError) as error:
            raise _refused() from error
        match values:
            case [str(tenant), str() | None as user, str(place)] if (tenant, user) == (
                self.tenant,
                self.user,
            ):
                if self.places.fullmatch(place):
                    return place
        raise _refused()


def session_cursor(scope: Scope, user: str | None) -> ListCursor:
    """Return the cursors of a tenant's sessions or, if `user` is given, of that user's sessions."""
    owner = "" if user is None else f"{re.escape(user)}#"
    return ListCursor(scope.tenant, user, re.compile(rf"{owner}{_MOMENT}#{_ID}"))


def user_cursor(scope: Scope) -> ListCursor:
    """Return the cursors of a tenant's users. Their places are user ids."""
    return ListCursor(scope.tenant, None, re.compile(_ID))


def job_cursor(scope: UserScope | Scope) -> ListCursor:
    """Return the cursors of a user's jobs or, for a tenant's scope, of the tenant's failed jobs."""
    user = scope.user if isinstance(scope, UserScope) else None
    return ListCursor(scope.tenant, user, re.compile(rf"\d{{12}}#{_ID}"))


def record_cursor(scope: UserScope) -> ListCursor:
    """Return the cursors of a user's records."""
    return ListCursor(scope.tenant, scope.user, re.compile(r"\d{15}#[^#]{1,128}"))


def _refused() -> BadRequest:
    return BadRequest("The cursor does not belong to this list.", code="invalid_cursor")

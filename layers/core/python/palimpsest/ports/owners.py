"""Who has anything stored, over all tenants: for the operator's work alone, no request reads this."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from palimpsest.domain.scope import SessionScope, UserScope


class Owners(Protocol):
    """Each list is in an order of the store's own, which stays. With every one comes the place at which a later call
    goes on after it, also if it is gone by then. Read page by page as the caller goes on. What is there throughout is
    told exactly once; a change of the last moments may be missing. Every call raises `Unavailable`.
    """

    def sessions(self, *, after: str | None = None) -> Iterator[tuple[SessionScope, str]]:
        """Sessions that can be listed."""

    def users(self, *, after: str | None = None) -> Iterator[tuple[UserScope, str]]:
        """Users of whom something was committed to long-term memory since they were last erased."""

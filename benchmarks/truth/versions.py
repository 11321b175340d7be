"""Lists what the service knows of a user, for the checks of a benchmark."""

from __future__ import annotations

from collections.abc import Iterator

from palimpsest.memory.filters import MemoryFilter
from palimpsest.memory.versions import Version
from palimpsest.scope import UserScope
from palimpsest.service.service import Service

PAGE = 100


def versions(service: Service, user: UserScope, *, superseded: bool) -> Iterator[Version]:
    """Yield the user's current versions, or the superseded ones, the oldest first."""
    after = None
    while True:
        page, after = service.show.listed(
            user,
            where=MemoryFilter(),
            limit=PAGE,
            after=after,
            newest_first=False,
            superseded=superseded,
        )
        yield from page
        if after is None:
            return

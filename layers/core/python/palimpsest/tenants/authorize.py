"""Find the API key that a request was made with; what its holder may do is decided elsewhere."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field

from palimpsest.clock import Clock, seconds
from palimpsest.tenants.ports import ApiKey, Tenants

BEARER = re.compile(r"(?:Bearer|Token) (pal_[A-Za-z0-9_-]{43})", re.IGNORECASE)

KNOWN_SECONDS = 60  # how long a key that was revoked may still be good
MOST_KNOWN = 1_000


def key_id(secret: str) -> str:
    """What a key is stored under: its SHA-256, in hex."""
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Authorize:
    """A key that was found is not looked up again for `KNOWN_SECONDS`, in this process."""

    tenants: Tenants
    clock: Clock
    known: dict[str, tuple[int, ApiKey]] = field(default_factory=dict)

    def __call__(self, authorization: str | None) -> ApiKey | None:
        """The key behind `Authorization: Bearer pal_…` (`Token pal_…` from clients of mem0); None for anything
        malformed, unknown, revoked or expired.
        """
        match = BEARER.fullmatch(authorization or "")
        if match is None:
            return None
        now = seconds(self.clock.now())
        key = self._found(key_id(match[1]), now)
        is_over = key is None or key.revoked or (key.expires_at is not None and key.expires_at <= now)
        return None if is_over else key

    def _found(self, id_: str, now: int) -> ApiKey | None:
        since, key = self.known.get(id_, (0, None))
        if key is not None and now - since < KNOWN_SECONDS:
            return key
        if found := self.tenants.api_key(id_):
            if len(self.known) >= MOST_KNOWN:
                self.known.clear()
            self.known[id_] = (now, found)
        return found

"""Find the API key that a request was made with; what its holder may do is decided elsewhere."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import ClassVar

from palimpsest.clock import Clock, seconds
from palimpsest.errors import Forbidden, Unauthenticated
from palimpsest.tenants.ports import ApiKey, Tenants

BEARER = re.compile(r"(?:Bearer|Token) (pal_[A-Za-z0-9_-]{43})", re.IGNORECASE)

KNOWN_SECONDS = 60  # how long a key that was revoked may still be good
MOST_KNOWN = 1_000


def key_id(secret: str) -> str:
    """What a key is stored under: its SHA-256, in hex."""
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Authorize:
    """A key that was found is not looked up again for `KNOWN_SECONDS`, in this process. Nobody issues tokens."""

    issuer: ClassVar[str] = ""
    tenants: Tenants
    clock: Clock
    known: dict[str, tuple[int, ApiKey]] = field(default_factory=dict)

    def __call__(self, authorization: str | None) -> ApiKey:
        """The key behind `Authorization: Bearer pal_…` (`Token pal_…` from clients of mem0).

        Raises `Unauthenticated` without a credential, `Forbidden` for one that is malformed, unknown, revoked or
        expired, and `Unavailable`.
        """
        if not authorization:
            raise Unauthenticated("The call carries no key.")
        match, now = BEARER.fullmatch(authorization), seconds(self.clock.now())
        key = self._found(key_id(match[1]), now) if match else None
        if key is None or key.revoked or (key.expires_at is not None and key.expires_at <= now):
            raise Forbidden("The key is not valid.")
        return key

    def _found(self, id_: str, now: int) -> ApiKey | None:
        since, key = self.known.get(id_, (0, None))
        if key is not None and now - since < KNOWN_SECONDS:
            return key
        if found := self.tenants.api_key(id_):
            if len(self.known) >= MOST_KNOWN:
                self.known.clear()
            self.known[id_] = (now, found)
        return found

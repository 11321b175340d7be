"""The authorization of a call by its API key, which determines the tenant."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from palimpsest.clock import Clock, seconds
from palimpsest.errors import InvalidKey, Unauthenticated
from palimpsest.tenants.keys import ApiKey, key_id
from palimpsest.tenants.ports import Tenants

BEARER = re.compile(r"(?:Bearer|Token) (pal_[A-Za-z0-9_-]{43})", re.IGNORECASE)

KNOWN_SECONDS = 60  # how long a revoked key may still be accepted

MOST_KEYS = 1_000  # a caller who tries keys must not fill the memory


@dataclass(frozen=True, slots=True)
class Authorize:
    """Authorizes callers by API keys. A valid key is cached in the process for `KNOWN_SECONDS`.
    `issuer` is empty, because this authorizer accepts no tokens.
    """

    issuer: ClassVar[str] = ""
    tenants: Tenants
    clock: Clock
    known: dict[str, tuple[int, ApiKey]] = field(default_factory=dict)

    def __call__(self, authorization: str | None) -> ApiKey:
        """Return the API key in `Authorization: Bearer pal_…` (or `Token pal_…`, which clients of
        mem0 send). Raises `Unauthenticated` without a key, `InvalidKey` for a malformed, unknown,
        revoked or expired key, and `Unavailable`.
        """
        if not authorization:
            raise Unauthenticated("The call carries no key.")
        match, now = BEARER.fullmatch(authorization), seconds(self.clock.now())
        key = self._found(key_id(match[1]), now) if match else None
        if key is None or key.revoked or (key.expires_at is not None and key.expires_at <= now):
            raise InvalidKey("The key is not valid.")
        return key

    def _found(self, id_: str, now: int) -> ApiKey | None:
        since, key = self.known.get(id_, (0, None))
        if key is not None and now - since < KNOWN_SECONDS:
            return key
        if stored := self.tenants.api_key(id_):
            if len(self.known) >= MOST_KEYS:
                self.known.clear()
            self.known[id_] = (now, stored)
        return stored

"""Find the API key that a request was made with; what its holder may do is decided elsewhere."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from palimpsest.clock import Clock, seconds
from palimpsest.tenants.ports import ApiKey, Tenants

BEARER = re.compile(r"(?:Bearer|Token) (pal_[A-Za-z0-9_-]{43})", re.IGNORECASE)


def key_id(secret: str) -> str:
    """What a key is stored under: its SHA-256, in hex."""
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Authorize:
    tenants: Tenants
    clock: Clock

    def __call__(self, authorization: str | None) -> ApiKey | None:
        """The key behind `Authorization: Bearer pal_…` (`Token pal_…` from clients of mem0); None for anything
        malformed, unknown, revoked or expired.
        """
        match = BEARER.fullmatch(authorization or "")
        if match is None:
            return None
        key = self.tenants.api_key(key_id(match[1]))
        if key is None or key.revoked:
            return None
        is_over = key.expires_at is not None and key.expires_at <= seconds(self.clock.now())
        return None if is_over else key

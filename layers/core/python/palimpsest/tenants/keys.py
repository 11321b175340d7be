"""API keys: who calls. A key is stored under its SHA-256."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ApiKey:
    """`id` is the SHA-256 (hex) of the key; `expires_at` is in epoch seconds, None = never."""

    id: str
    tenant: str
    scopes: frozenset[str]
    expires_at: int | None = None
    revoked: bool = False
    label: str = ""
    created_at: str = ""


def key_id(secret: str) -> str:
    """The SHA-256 of a key, in hex, under which it is stored."""
    return hashlib.sha256(secret.encode()).hexdigest()

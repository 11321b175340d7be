"""The API keys, which identify callers. A key is stored by its SHA-256."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key. `id` is its SHA-256 (hex). `expires_at` is in epoch seconds, None = never."""

    id: str
    tenant: str
    scopes: frozenset[str]
    expires_at: int | None = None
    revoked: bool = False
    label: str = ""
    created_at: str = ""


def key_id(secret: str) -> str:
    """Return the SHA-256 of a key in hex, under which the key is stored."""
    return hashlib.sha256(secret.encode()).hexdigest()

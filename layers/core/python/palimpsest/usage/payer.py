"""Whose model calls these are: known to whoever asks a model, and read where the call is counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from palimpsest.scope import UserScope

_PAYER: ContextVar[UserScope | None] = ContextVar("PAYER", default=None)


@contextmanager
def paid_by(scope: UserScope) -> Iterator[None]:
    """Every model call within is this user's, also on threads that begin within."""
    token = _PAYER.set(scope)
    try:
        yield
    finally:
        _PAYER.reset(token)


def payer() -> UserScope | None:
    """Whose calls are made now; None: nobody's, they are not counted."""
    return _PAYER.get()

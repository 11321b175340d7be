"""A time limit for the model calls of one piece of work. The calls read it from their context, so
it is not passed to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TypeVar

from palimpsest import parallel
from palimpsest.errors import ModelUnavailable

GRACE = 1.0  # seconds in which a call that keeps the limit by itself ends by itself
_UNTIL: ContextVar[float | None] = ContextVar("UNTIL", default=None)

Made = TypeVar("Made")


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Limit all model calls within the block to `seconds` seconds together. None sets no limit."""
    token = _UNTIL.set(None if seconds is None else monotonic() + seconds)
    try:
        yield
    finally:
        _UNTIL.reset(token)


def until(seconds: float) -> float:
    """Return when a call that begins now must end, in monotonic seconds. That is the limit of the
    present work. If the work has no limit, it is `seconds` from now.
    """
    limit = _UNTIL.get()
    return monotonic() + seconds if limit is None else limit


def kept(ask: Callable[[], Made]) -> Made:
    """Return the result of a model call, and end by the limit of the present work, even if the
    model does not observe limits. Raises `ModelUnavailable`.
    """
    limit = _UNTIL.get()
    if limit is None:
        return ask()
    if monotonic() >= limit:
        late = ModelUnavailable("There is no time left to ask the model.")
        late.was_called = False
        raise late
    try:
        return parallel.begin(ask, until=limit + GRACE).result()
    except TimeoutError as error:
        raise ModelUnavailable("The model took too long.") from error

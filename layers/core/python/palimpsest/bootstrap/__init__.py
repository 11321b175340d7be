"""The composition root: builds the use cases from settings. Each function loads only the part that it needs."""

from __future__ import annotations

from collections.abc import Callable

from palimpsest import settings


def warm(build: Callable[[], object]) -> None:
    """In Lambda, call `build` while the function starts, so that the first request need not wait. Else do nothing."""
    if settings.runs_in_lambda():
        build()

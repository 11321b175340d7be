"""The composition root: builds the use cases from settings. Each function loads only the part that it needs."""

from __future__ import annotations

import gc
from collections.abc import Callable

from palimpsest.bootstrap import compiled

compiled.use()  # before settings load pydantic, which declares dataclasses of its own

from palimpsest import settings  # noqa: E402

if settings.runs_in_lambda():
    gc.disable()  # until `warm` is done: what a function loads at its start is no garbage


def warm(build: Callable[[], object]) -> None:
    """In Lambda, call `build` while the function starts, so that the first request need not wait. Else do nothing."""
    if settings.runs_in_lambda():
        build()
        gc.freeze()  # nor will it be later: no collection looks at it again
        gc.enable()

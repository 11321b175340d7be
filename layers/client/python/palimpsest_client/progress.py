"""Shows the progress of a loop on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Counted(Generic[Item]):
    """Iterates over the items, and shows a line that counts them if this is wanted."""

    def __init__(self, items: Sequence[Item], *, wanted: bool) -> None:
        self._items, self._wanted = items, wanted

    def __iter__(self) -> Iterator[Item]:
        for number, item in enumerate(self._items):
            self._show(number)
            yield item
        self._show(len(self._items), end="\n")

    def _show(self, done: int, *, end: str = "") -> None:
        if self._wanted:
            sys.stderr.write(f"\r{done} of {len(self._items)} conversations{end}")
            sys.stderr.flush()

"""What was read once and is kept within the process, as much as there is room for."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Kept(Generic[Key, Value]):
    """The values that were asked for last, up to `most` in weight together. Safe to use from many threads."""

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._weight = 0
        self._values: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def put(self, key: Key, value: Value, *, weight: int = 1) -> None:
        """Keep it in the place of what is kept under the key. What weighs too much by itself is not kept."""
        with self._lock:
            _, before = self._values.pop(key, (None, 0))
            self._weight += weight - before
            self._values[key] = (value, weight)
            while self._weight > self._most:
                _, (_, gone) = self._values.popitem(last=False)
                self._weight -= gone

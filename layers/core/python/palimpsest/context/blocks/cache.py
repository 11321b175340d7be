"""A cache within the process that holds a limited weight of values."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Cache(Generic[Key, Value]):
    """Holds the values that were used last, at most `most` in weight together. Safe to use from many threads."""

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
        """Store the value in place of the one under this key. A value that weighs more than `most` is not stored."""
        with self._lock:
            _, before = self._values.pop(key, (None, 0))
            self._weight += weight - before
            self._values[key] = (value, weight)
            while self._weight > self._most:
                _, (_, gone) = self._values.popitem(last=False)
                self._weight -= gone

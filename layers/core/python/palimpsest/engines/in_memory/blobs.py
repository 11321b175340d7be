"""Large things within one process, under the same contract as the bucket."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from palimpsest.engines.in_memory.state import State


class InMemoryBlobs:
    """`Blobs` in a dictionary; safe to use from many threads. A crash may come before or after each write."""

    def __init__(self, state: State | None = None) -> None:
        self._state = state or State()
        self._blobs: dict[str, bytes] = {}

    def put(self, key: str, data: bytes) -> None:
        with self._state.write("put blob"):
            self._blobs[key] = data

    def get(self, key: str) -> bytes | None:
        with self._state.lock:
            return self._blobs.get(key)

    def keys(self, prefix: str, *, first: str = "") -> Iterator[str]:
        with self._state.lock:
            found = sorted(key for key in self._blobs if key.startswith(prefix) and key > prefix + first)
        yield from found

    def remove(self, keys: Sequence[str]) -> None:
        with self._state.write("remove blobs"):
            for key in keys:
                self._blobs.pop(key, None)

    def link(self, key: str, *, seconds: int) -> str:
        return f"memory:{quote(key)}?seconds={seconds}"

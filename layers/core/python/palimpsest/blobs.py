"""Large things outside the tables, each under a key: what a table's item can't hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol


class Blobs(Protocol):
    """A store of bytes by key. Each key is given once: what it names never changes until it is removed.

    Every read is strongly consistent. Every call raises `Unavailable` if the store can't answer after bounded retries.
    """

    def put(self, key: str, data: bytes) -> None:
        """Store the bytes, whole or not at all. Safe to repeat."""

    def get(self, key: str) -> bytes | None:
        """The bytes; None if there are none under this key."""

    def keys(self, prefix: str, *, first: str = "") -> Iterator[str]:
        """The keys that begin with `prefix`, in order, from `prefix + first` on (itself not)."""

    def remove(self, keys: Sequence[str]) -> None:
        """Remove what is stored under these keys. Safe to repeat: a key without anything is passed over."""

    def link(self, key: str, *, seconds: int) -> str:
        """An address under which anybody can read the bytes for so many seconds, and nothing else."""

"""Vectors that callers store, their namespaces, and the store of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from palimpsest.scope import UserScope


@dataclass(frozen=True, slots=True)
class StoredVector:
    """A vector under its id; its numbers have single precision. `text` is what it was made of, if a
    model made it.
    """

    id: str
    values: Sequence[float]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Namespace:
    """The vectors of a user that can be compared: all of one dimension, and of one embedding model
    (None: of the caller's own making). Emptying it begins the next `generation`, which sees nothing
    of the one before.
    """

    name: str
    dimension: int
    model: str | None = None
    count: int = 0
    generation: int = 1
    epoch: int = 0  # of the user
    version: int = 0  # as read; 0 = there is none yet


class VectorStore(Protocol):
    """Reads are strongly consistent, and hold nothing of an earlier epoch of the user. Every call
    raises `Unavailable` if the store can't answer.
    """

    def namespaces(self, scope: UserScope) -> tuple[Namespace, ...]:
        """All namespaces that were ever used since the user was last erased, by name."""

    def namespace(self, scope: UserScope, name: str) -> Namespace | None:
        """The namespace; None if it was never used."""

    def vectors(self, scope: UserScope, namespace: Namespace) -> Iterator[StoredVector]:
        """The vectors of this generation of the namespace, by id."""

    def existing(
        self, scope: UserScope, namespace: Namespace, ids: Sequence[str]
    ) -> frozenset[str]:
        """Those of the ids (at most 99) that this generation of the namespace has."""

    def commit(
        self,
        scope: UserScope,
        namespace: Namespace,
        *,
        put: Sequence[StoredVector] = (),
        removed: Sequence[str] = (),
    ) -> None:
        """Store the namespace as it shall be, put these vectors, and remove those ids: all or
        nothing, at most 50 vectors. The store raises the namespace's version by one. Raises
        `CommitLost` if that is not the one at which it was read, or if its epoch is not the user's.
        """

    def clear(self, scope: UserScope, namespace: Namespace) -> None:
        """Delete what is stored of earlier generations of the namespace. Safe to repeat."""

"""The vectors that callers store, their namespaces, and the port of their store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from palimpsest.scope import UserScope


@dataclass(frozen=True, slots=True)
class StoredVector:
    """A stored vector. Its numbers have single precision. `text` is the text that a model made it
    from, if one did.
    """

    id: str
    values: Sequence[float]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Namespace:
    """A set of a user's vectors that can be compared. All have one dimension and one embedding
    model (None if the caller made them). When a namespace is emptied, its next `generation` begins;
    vectors of earlier generations are no longer visible.
    """

    name: str
    dimension: int
    model: str | None = None
    count: int = 0
    generation: int = 1
    epoch: int = 0  # of the user
    version: int = 0  # as read; 0 = there is none yet


class VectorStore(Protocol):
    """The store of callers' vectors. Reads are strongly consistent and return nothing from before
    the user's last erasure. Every call raises `Unavailable` if the store can't answer.
    """

    def namespaces(self, scope: UserScope) -> tuple[Namespace, ...]:
        """Return all namespaces used since the user was last erased, ordered by name. Empty ones
        are included.
        """

    def namespace(self, scope: UserScope, name: str) -> Namespace | None:
        """Return the namespace; None if it was never used."""

    def vectors(self, scope: UserScope, namespace: Namespace) -> Iterator[StoredVector]:
        """Yield the vectors of this generation of the namespace, ordered by id."""

    def existing(
        self, scope: UserScope, namespace: Namespace, ids: Sequence[str]
    ) -> frozenset[str]:
        """Return which of these ids (at most 99) exist in this generation of the namespace."""

    def commit(
        self,
        scope: UserScope,
        namespace: Namespace,
        *,
        put: Sequence[StoredVector] = (),
        removed: Sequence[str] = (),
    ) -> None:
        """Store the new state of the namespace, put these vectors, and remove those ids. All is
        done or nothing; at most 50 vectors are allowed. The store raises the namespace's version by
        one. Raises `CommitLost` if the stored version is not the one in `namespace`, or if its
        epoch is not the user's.
        """

    def clear(self, scope: UserScope, namespace: Namespace) -> None:
        """Delete the stored vectors of earlier generations of the namespace. Safe to repeat."""

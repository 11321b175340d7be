"""The use cases that store, delete and search callers' vectors."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import mul
from typing import Any

from palimpsest.clock import Clock
from palimpsest.errors import Conflict, FieldError, ModelFailed, Unavailable, Unprocessable
from palimpsest.memory.conditions import conditions, metadata_terms
from palimpsest.memory.ports import Memories
from palimpsest.memory.removal.transactions import RemovesExports, no_exports
from palimpsest.models.ports import Embedder, Vector
from palimpsest.models.vectors import unit
from palimpsest.retry import until_committed
from palimpsest.scope import UserScope, checked_id, paid_by
from palimpsest.vectors.cache import VectorCache
from palimpsest.vectors.ports import Namespace, StoredVector, VectorStore

DEFAULT_NAMESPACE = "default"

MOST_VECTORS = 5_000  # in a namespace, because a search compares all that pass its filter

MOST_NAMESPACES = 100  # of a user

MAX_DIMENSION = 4_096

AT_ONCE = 50  # vectors in one transaction


@dataclass(frozen=True, slots=True)
class NewVector:
    """A vector to store. It has either `values`, or a `text` from which the embedding model makes
    the values.
    """

    id: str
    values: Sequence[float] | None = None
    text: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Match:
    """A vector that was found. `score` is the cosine similarity, -1 to 1."""

    vector: StoredVector
    score: float


@dataclass(frozen=True, slots=True)
class ManageVectors:
    """Stores, deletes and searches vectors. `embedder` returns the embedding model, or None if
    there is none. Every method raises `BadRequest` (`invalid_id`) for a name that can't be an id,
    and `Unavailable`.
    """

    store: VectorStore
    memories: Memories
    embedder: Callable[[], Embedder | None]
    clock: Clock
    cache: VectorCache
    exports: RemovesExports = no_exports

    def upsert(self, scope: UserScope, name: str, vectors: Sequence[NewVector]) -> Namespace:
        """Store 1 to 5,000 vectors and return the namespace. A vector with the same id is replaced.
        The vectors are written 50 at a time. If a write fails, the vectors written before stay.

        The first vector of a namespace fixes its dimension and model. Vectors of another dimension
        or model are refused before anything is written.

        Raises `Unprocessable` (`other_dimension`, `other_model`, `invalid_vector`, `duplicate_id`,
        or `no_vectors` for a text if there is no model) and `Conflict` (`too_many_vectors`,
        `too_many_namespaces`).
        """
        checked_id(name, field="namespace")
        model, made = self._made(scope, vectors)
        first = Namespace(name, len(made[0].values), model)
        before = self._namespace(scope, name)
        if before.count:
            _check_same(before, first)
        for number, vector in enumerate(made):
            if len(vector.values) != first.dimension:
                raise _refused(
                    "other_dimension",
                    f"vectors.{number}.values",
                    f"must have {first.dimension} numbers",
                )
        parts = [made[start : start + AT_ONCE] for start in range(0, len(made), AT_ONCE)]
        self._count_with(scope, before, parts)
        stored = [
            until_committed(partial(self._put, scope, first, part), clock=self.clock)
            for part in parts
        ]
        return stored[-1]

    def _put(self, scope: UserScope, first: Namespace, part: Sequence[StoredVector]) -> Namespace:
        before = self._namespace(scope, first.name)
        if before.count:
            _check_same(before, first)
        if not before.version and len(self.store.namespaces(scope)) >= MOST_NAMESPACES:
            raise Conflict(
                f"A user has at most {MOST_NAMESPACES} namespaces.", code="too_many_namespaces"
            )
        count = self._count_with(scope, before, [part])
        after = replace(before, dimension=first.dimension, model=first.model, count=count)
        self.store.commit(scope, after, put=part)
        return replace(after, version=after.version + 1)

    def _count_with(
        self, scope: UserScope, before: Namespace, parts: Sequence[Sequence[StoredVector]]
    ) -> int:
        """Return the number of vectors in the namespace after these vectors are stored. Raises
        `Conflict` (`too_many_vectors`).
        """
        there = 0
        if before.version:
            for part in parts:
                ids = [vector.id for vector in part]
                there += len(self.store.existing(scope, before, ids))
        count = before.count + sum(map(len, parts)) - there
        if count > MOST_VECTORS:
            raise Conflict(
                f"A namespace has at most {MOST_VECTORS} vectors.", code="too_many_vectors"
            )
        return count

    def search(
        self,
        scope: UserScope,
        name: str,
        *,
        values: Sequence[float] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        k: int = 10,
        min_score: float = -1.0,
    ) -> tuple[Match, ...]:
        """Return the k nearest vectors of the namespace, nearest first. Each meets the conditions
        on metadata and has a cosine of at least `min_score`. An empty namespace has no matches.

        All vectors of the namespace are compared. Raises `Unprocessable` (`other_dimension`,
        `other_model`, `invalid_vector`, `no_vectors`).
        """
        namespace = self._namespace(scope, checked_id(name, field="namespace"))
        model, (question_vector,) = self._made(scope, [NewVector("asked", values, text)], field="")
        if not namespace.count:
            return ()
        _check_same(namespace, Namespace(name, len(question_vector.values), model))
        tests = [condition.test for condition in conditions(metadata or {})]
        question = unit(question_vector.values)

        def passes(vector: StoredVector) -> bool:
            terms = metadata_terms(vector.metadata) if tests else ()
            return all(test.passes(terms) for test in tests)

        matches = (
            Match(vector, max(-1.0, min(1.0, sum(map(mul, direction, question)))))
            for vector, direction in self.cache.of(self.store, scope, namespace)
            if passes(vector)
        )
        near = (match for match in matches if match.score >= min_score)
        return tuple(heapq.nsmallest(k, near, key=lambda match: (-match.score, match.vector.id)))

    def delete(self, scope: UserScope, name: str, ids: Sequence[str] | None = None) -> int:
        """Delete vectors of the namespace by id (at most 100), or all of them if `ids` is None.
        Every export that may have them is deleted too. Returns the number of vectors that existed.
        An empty namespace accepts a new dimension.
        """
        gone = self._delete(scope, checked_id(name, field="namespace"), ids)
        if self._namespace(scope, name).version:
            # also if an earlier call deleted them but stopped before this
            self.exports(scope)
        return gone

    def _delete(self, scope: UserScope, name: str, ids: Sequence[str] | None) -> int:
        if ids is None:
            return until_committed(lambda: self._empty(scope, name), clock=self.clock)
        wanted = list(dict.fromkeys(checked_id(vector_id, field="ids") for vector_id in ids))
        parts = [wanted[start : start + AT_ONCE] for start in range(0, len(wanted), AT_ONCE)]
        return sum(
            until_committed(partial(self._remove, scope, name, part), clock=self.clock)
            for part in parts
        )

    def _remove(self, scope: UserScope, name: str, ids: Sequence[str]) -> int:
        before = self._namespace(scope, name)
        there = self.store.existing(scope, before, ids) if before.count else frozenset()
        if there:
            self.store.commit(
                scope, replace(before, count=before.count - len(there)), removed=sorted(there)
            )
        return len(there)

    def _empty(self, scope: UserScope, name: str) -> int:
        before = self._namespace(scope, name)
        after = replace(before, count=0, generation=before.generation + 1)
        if before.count:
            self.store.commit(scope, after)
        if before.version:
            self.store.clear(scope, after if before.count else before)
        return before.count

    def stats(self, scope: UserScope) -> tuple[Namespace, ...]:
        """Return the namespaces that have vectors, ordered by name."""
        return tuple(namespace for namespace in self.store.namespaces(scope) if namespace.count)

    def _namespace(self, scope: UserScope, name: str) -> Namespace:
        namespace = self.store.namespace(scope, name)
        return namespace or Namespace(name, 0, epoch=self.memories.user(scope).epoch)

    def _made(
        self, scope: UserScope, new_vectors: Sequence[NewVector], *, field: str = "vectors.{}."
    ) -> tuple[str | None, list[StoredVector]]:
        """Return the name of the embedding model and the vectors with their values. The name is
        None if the caller gave the values.
        """
        seen: set[str] = set()
        for number, new_vector in enumerate(new_vectors):
            if new_vector.id in seen:
                raise _refused(
                    "duplicate_id", f"{field.format(number)}id", "is the id of another vector too"
                )
            seen.add(new_vector.id)
            if (new_vector.text is None) != (new_vectors[0].text is None):
                raise _refused(
                    "other_model",
                    f"{field.format(number)}text",
                    "must be given for all vectors or for none",
                )
        model, vectors = self._embedded(
            scope, [vector.text for vector in new_vectors if vector.text is not None]
        )
        values = vectors or [vector.values or () for vector in new_vectors]
        for number, vector_values in enumerate(values):
            if not _is_vector(vector_values):
                raise _refused(
                    "invalid_vector",
                    f"{field.format(number)}values",
                    "must be finite numbers, not all zero",
                )
        return model, [
            StoredVector(vector.id, array("f", value), vector.metadata, vector.text)
            for vector, value in zip(new_vectors, values, strict=True)
        ]

    def _embedded(
        self, scope: UserScope, texts: Sequence[str]
    ) -> tuple[str | None, Sequence[Vector]]:
        if not texts:
            return None, ()
        embedder = self.embedder()
        if embedder is None:
            raise Unprocessable(
                "This service has no embedding model: give values.", code="no_vectors"
            )
        try:
            with paid_by(scope):
                parts = [texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE)]
                return embedder.space.model, [
                    vector for part in parts for vector in embedder.embed(part)
                ]
        except ModelFailed as failure:
            raise Unavailable("The embedding model failed. Try again.", code="vector") from failure


def _is_vector(values: Sequence[float]) -> bool:
    try:
        unit(array("f", values))
    except (ValueError, OverflowError):
        return False
    return 0 < len(values) <= MAX_DIMENSION


def _check_same(namespace: Namespace, other: Namespace) -> None:
    """Raise `Unprocessable` unless vectors of both namespaces can be compared."""
    if namespace.model != other.model:
        made_by = "the caller" if namespace.model is None else f"the model {namespace.model}"
        raise Unprocessable(
            f"The vectors of this namespace were made by {made_by}.", code="other_model"
        )
    if namespace.dimension != other.dimension:
        raise Unprocessable(
            f"The vectors of this namespace have {namespace.dimension} numbers.",
            code="other_dimension",
        )


def _refused(code: str, name: str, message: str) -> Unprocessable:
    return Unprocessable(
        "The vectors can't be stored.", code=code, errors=(FieldError(name, message),)
    )

"""A user's preferences, vectors and graph, which `AgentMemory` has as attributes. Each method is a
method of the client's user, with a shorter name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from palimpsest_client import User
from palimpsest_client.types import GraphRows


class PreferencesOfUser:
    """The preferences of one user: at most 500 JSON values of at most 16 KB under keys, kept until
    they are deleted. Contexts show them and recall finds them.
    """

    def __init__(self, user: User) -> None:
        self._user = user

    def set(self, key: str, value: Any) -> None:
        """Set the value under this key. Raises `Invalid` and `TooManyPreferences`."""
        self._user.prefer({key: value})

    def get(self, key: str) -> Any:
        """Return the value under this key. Raises `PreferenceNotFound`."""
        return self._user.preference(key)["value"]

    def all(self) -> dict[str, Any]:
        """Return every value by its key."""
        return {preference["key"]: preference["value"] for preference in self._user.preferences()}

    def delete(self, key: str) -> None:
        """Remove a preference with all its versions. Raises `PreferenceNotFound`."""
        self._user.delete_preference(key)


class VectorsOfUser:
    """Vectors of one user, in namespaces and under ids that the caller chooses. The fields are
    those of the API.
    """

    def __init__(self, user: User) -> None:
        self._user = user

    def upsert(
        self, vectors: Sequence[Mapping[str, Any]], *, namespace: str | None = None
    ) -> dict[str, Any]:
        """Store vectors (`id`, `values` or `text`, `metadata`), 100 at a time. A vector replaces a
        stored one with the same id. Return the namespace.
        """
        return self._user.put_vectors(vectors, namespace=namespace)

    def search(self, **options: Any) -> list[dict[str, Any]]:
        """Return the vectors that are nearest to `values` or `text`, nearest first. Other fields
        are `top_k`, `min_score`, `namespace`, and `filter` for conditions on metadata.
        """
        return self._user.search_vectors(**options)

    def delete(self, *ids: str, namespace: str | None = None) -> int:
        """Remove vectors by id, or without any id all vectors of the namespace. Return how many
        were removed.
        """
        count: int = self._user.delete_vectors(*ids, namespace=namespace)["count"]
        return count

    def stats(self) -> list[dict[str, Any]]:
        """Return the namespaces that hold vectors, and how many each holds."""
        namespaces: list[dict[str, Any]] = self._user.vector_stats()["namespaces"]
        return namespaces


class GraphOfUser:
    """The knowledge graph of one user (docs/graph.md)."""

    def __init__(self, user: User) -> None:
        self._user = user
        self.put_entities = user.put_entities
        self.put_relationships = user.put_relationships
        self.entities = user.entities
        self.relationships = user.relationships
        self.change_entity = user.change_entity
        self.change_relationship = user.change_relationship
        self.delete_entity = user.delete_entity
        self.delete_relationship = user.delete_relationship
        self.neighbors = user.neighbors

    def query(
        self, cypher: str, /, *, around: Mapping[str, Any] | None = None, **parameters: Any
    ) -> GraphRows:
        """Return the result of a read-only query in Cypher over the current graph, or over the part
        `around` an entity (`entity_id`, `depth`). `$userId` is the user's id. Raises `InvalidQuery`
        and `QueryWrites`. Needs `pip install palimpsest[graph]`.
        """
        return self._user.query_graph(cypher, parameters, around=around)

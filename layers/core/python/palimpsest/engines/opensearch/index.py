"""The search index on OpenSearch, with k-NN on the Lucene engine. OpenSearch is a managed domain or
a server on loopback. Each search filters and routes by its owner. An answer holds keys and scores.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from palimpsest.engines.opensearch import queries
from palimpsest.engines.opensearch.client import IndexFamily, Named, NoIndex, translated
from palimpsest.errors import Unavailable
from palimpsest.memory.filters import MemoryFilter
from palimpsest.models.ports import Space, Vector
from palimpsest.models.vectors import check_vector
from palimpsest.scope import UserScope
from palimpsest.search.ports import ANYTHING, Document, Gone, Hit, check_vectors
from palimpsest.text.analyser import query_terms

Made = TypeVar("Made")
BULK_SECONDS = 10.0
BULK_ACTIONS = 200  # the body of a request stays below the 10 MB of small domains
BULK_BYTES = 5_000_000  # small domains take 10 MB
CONFLICT = 409


class OpenSearchIndex:
    """Implements `SearchIndex`. `client` is a client that `connected` returned. Nothing is sent
    before the first call.
    """

    def __init__(self, client: Any, *, family: str, space: Space | None, shards: int = 1) -> None:
        self._client = client
        self._space = space
        self._family = IndexFamily(client, family, space=space, shards=shards)

    @property
    def space(self) -> Space | None:
        return self._space

    def write(self, owner: UserScope, changes: Sequence[Document | Gone]) -> tuple[str, ...]:
        from opensearchpy.helpers import streaming_bulk

        check_vectors(changes, self._space)
        keys = {document_id(owner, change.key): change.key for change in changes}
        if not keys:
            return ()
        indexes = self._family.all()
        if not any(index.is_read for index in indexes):
            raise NoIndex
        with translated():
            results = list(
                streaming_bulk(
                    self._client,
                    self._actions(owner, changes, indexes),
                    chunk_size=BULK_ACTIONS,
                    max_chunk_bytes=BULK_BYTES,
                    raise_on_error=False,
                    request_timeout=BULK_SECONDS,
                    require_alias=True,
                )
            )
        failed = {
            keys[change["_id"]]
            for is_ok, result in results
            for change in result.values()
            if not _is_done(change, is_ok)
        }
        return tuple(sorted(failed))

    def by_words(
        self, owner: UserScope, text: str, *, where: MemoryFilter = ANYTHING, k: int
    ) -> tuple[Hit, ...]:
        return self._found(lambda: self._by_words(owner, text, where=where, k=k)) or ()

    def by_vector(
        self, owner: UserScope, vector: Vector, *, where: MemoryFilter = ANYTHING, k: int
    ) -> tuple[Hit, ...]:
        check_vector(vector, self._space)
        return self._found(lambda: self._by_vector(owner, vector, where=where, k=k)) or ()

    def _found(self, search: Callable[[], Made]) -> Made | None:
        """Return the result of the search. None if OpenSearch answers and the family has no index,
        because nothing was ever written.
        """
        try:
            return search()
        except NoIndex:
            if self._family.all():
                raise
            return None

    def _by_words(
        self, owner: UserScope, text: str, *, where: MemoryFilter, k: int
    ) -> tuple[Hit, ...]:
        query = query_terms(text)
        if not query.words:
            return ()
        name, alias = owner_id(owner), self._family.alias
        statistics = self._asked(owner, alias, queries.statistics(query, owner=name))
        body = queries.by_words(query, statistics, owner=name, where=where, k=k)
        return tuple(_hit(hit, hit["_score"]) for hit in self._search(owner, alias, body))

    def _by_vector(
        self, owner: UserScope, vector: Vector, *, where: MemoryFilter, k: int
    ) -> tuple[Hit, ...]:
        body = queries.by_vector(vector, owner=owner_id(owner), where=where, k=k)
        try:
            hits = self._search(owner, self._index_of_vectors(again=False), body)
        except NoIndex:
            # the alias may have moved since
            hits = self._search(owner, self._index_of_vectors(again=True), body)
        return tuple(_hit(hit, 2 * hit["_score"] - 1) for hit in hits)

    def keys(self, owner: UserScope, *, after: str = "", limit: int) -> tuple[str, ...]:
        return (
            self._found(
                lambda: self._keys(owner, queries.listed(owner_id(owner), after=after, limit=limit))
            )
            or ()
        )

    def _keys(self, owner: UserScope, body: dict[str, Any]) -> tuple[str, ...]:
        with translated():
            self._client.indices.refresh(index=self._family.alias)
        return tuple(_hit(hit, 0).key for hit in self._search(owner, self._family.alias, body))

    def count(self, owner: UserScope) -> int:
        return self._found(lambda: self._count(owner_id(owner))) or 0

    def _count(self, name: str) -> int:
        with translated():
            answer = self._client.count(
                index=self._family.alias, routing=name, body={"query": queries.owned(name)}
            )
        return int(answer["count"])

    def prepare(self, *, afresh: bool = False) -> None:
        self._family.add(afresh=afresh)

    def switch(self) -> None:
        self._family.read_newest()

    def indexes(self) -> tuple[str, ...]:
        return tuple(index.name for index in self._family.all())

    def _index_of_vectors(self, *, again: bool) -> str:
        index = self._family.index_read(again=again)
        if index.label != self._family.label and not again:
            index = self._family.index_read(again=True)
        if index.label != self._family.label:
            raise Unavailable("The search index has vectors of another embedding model.")
        return index.name

    def _search(self, owner: UserScope, index: str, body: dict[str, Any]) -> list[dict[str, Any]]:
        hits: list[dict[str, Any]] = self._asked(owner, index, body)["hits"]["hits"]
        return hits

    def _asked(self, owner: UserScope, index: str, body: dict[str, Any]) -> dict[str, Any]:
        with translated():
            answer: dict[str, Any] = self._client.search(
                index=index,
                body=body,
                routing=owner_id(owner),
                params={"_source": "false", "allow_partial_search_results": "false"},
            )
        if answer["timed_out"]:
            raise Unavailable("The search took too long; try again.")
        return answer

    def _actions(
        self, owner: UserScope, changes: Sequence[Document | Gone], indexes: Sequence[Named]
    ) -> Iterator[dict[str, Any]]:
        name = owner_id(owner)
        for change in changes:
            guard = {"version": change.version, "version_type": "external"}
            action = {"_id": document_id(owner, change.key), "routing": name, **guard}
            if isinstance(change, Gone):
                yield from (
                    {**action, "_op_type": "delete", "_index": index.write_alias}
                    for index in indexes
                )
                continue
            fields = queries.fields(change, owner=name)
            for index in indexes:
                vector = queries.vector_field(change) if index.label == self._family.label else {}
                yield {
                    **action,
                    "_op_type": "index",
                    "_index": index.write_alias,
                    "_source": fields | vector,
                }


def owner_id(owner: UserScope) -> str:
    """Return the owner's id in OpenSearch. Documents are filtered and routed by it."""
    return _digest(owner.tenant, owner.user)


def document_id(owner: UserScope, key: str) -> str:
    """Return the id that the owner's document has in every index of the family."""
    return _digest(owner_id(owner), key)


def _digest(*names: str) -> str:
    """Return one id for several names, which may hold any characters."""
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()[:40]


def _is_done(result: dict[str, Any], is_ok: bool) -> bool:  # noqa: FBT001
    """Return whether a write needs no retry. That includes a write when a higher version is already
    stored, and the deletion of a document that does not exist.
    """
    return is_ok or result["status"] == CONFLICT or result.get("result") == "not_found"


def _hit(hit: dict[str, Any], score: float) -> Hit:
    return Hit(key=hit["fields"]["key"][0], score=score)

"""The port over a cluster: owners become filters and routes, answers become keys and scores."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from palimpsest.engines.opensearch import queries
from palimpsest.engines.opensearch.client import NoIndex, translated
from palimpsest.engines.opensearch.family import Family, Named
from palimpsest.errors import Unavailable
from palimpsest.models.ports import Space, Vector
from palimpsest.models.vectors import check
from palimpsest.search.ports import ANYTHING, Document, Filter, Gone, Hit, Owner
from palimpsest.text.analyser import query_terms

BULK_SECONDS = 10.0
BULK_ACTIONS = 200
BULK_BYTES = 5_000_000  # small domains take 10 MB
FORGET_SECONDS = 20.0
FORGOTTEN_AT_ONCE = 5_000
FORGET_ROUNDS = 20
CONFLICT = 409


class OpenSearchIndex:
    """Implements `SearchIndex`. `client` is what `connected` gives; nothing is sent before the first call."""

    def __init__(self, client: Any, *, family: str, space: Space | None, shards: int = 1) -> None:
        self._client = client
        self._space = space
        self._family = Family(client, family, space=space, shards=shards)

    @property
    def space(self) -> Space | None:
        return self._space

    def of(self, owner: Owner) -> _OwnedPart:
        return _OwnedPart(owner, client=self._client, family=self._family, space=self._space)

    def prepare(self, *, afresh: bool = False) -> None:
        self._family.add(afresh=afresh)

    def switch(self) -> None:
        self._family.read_newest()

    def indexes(self) -> tuple[str, ...]:
        return tuple(index.name for index in self._family.all())


class _OwnedPart:
    """Implements `OwnedIndex`."""

    def __init__(self, owner: Owner, *, client: Any, family: Family, space: Space | None) -> None:
        self._owner = _digest(owner.tenant, owner.user)
        self._client = client
        self._family = family
        self._space = space

    def write(self, changes: Sequence[Document | Gone]) -> tuple[str, ...]:
        from opensearchpy.helpers import streaming_bulk

        for change in changes:
            if isinstance(change, Document) and change.vector is not None:
                check(change.vector, self._space)
        keys = {self._id(change.key): change.key for change in changes}
        if not keys:
            return ()
        indexes = self._family.all()
        if not any(index.is_read for index in indexes):
            raise NoIndex
        with translated():
            results = list(
                streaming_bulk(
                    self._client,
                    self._actions(changes, indexes),
                    chunk_size=BULK_ACTIONS,
                    max_chunk_bytes=BULK_BYTES,
                    raise_on_error=False,
                    request_timeout=BULK_SECONDS,
                    require_alias=True,
                )
            )
        failed = {
            keys[each["_id"]] for is_ok, result in results for each in result.values() if not _is_done(each, is_ok)
        }
        return tuple(sorted(failed))

    def by_words(self, text: str, *, where: Filter = ANYTHING, k: int) -> tuple[Hit, ...]:
        query = query_terms(text)
        if not query.words:
            self._family.index_read()
            return ()
        body = queries.by_words(query, owner=self._owner, where=where, k=k)
        return tuple(_hit(each, each["_score"]) for each in self._search(self._family.alias, body))

    def by_vector(self, vector: Vector, *, where: Filter = ANYTHING, k: int) -> tuple[Hit, ...]:
        check(vector, self._space)
        body = queries.by_vector(vector, owner=self._owner, where=where, k=k)
        try:
            found = self._search(self._index_of_vectors(again=False), body)
        except NoIndex:
            found = self._search(self._index_of_vectors(again=True), body)  # the alias may have moved since
        return tuple(_hit(each, 2 * each["_score"] - 1) for each in found)

    def count(self) -> int:
        with translated():
            answer = self._client.count(
                index=self._family.alias, routing=self._owner, body={"query": queries.owned(self._owner)}
            )
        return int(answer["count"])

    def forget(self) -> int:
        with translated():
            self._client.indices.refresh(index=self._family.every, request_timeout=FORGET_SECONDS)
        found = self.count()
        for _ in range(FORGET_ROUNDS):
            if self._forget_some() == 0:
                return found
        raise Unavailable("There is more to delete; try again.")

    def _forget_some(self) -> int:
        """How many may be left: as many as were found."""
        with translated():
            answer = self._client.delete_by_query(
                index=self._family.every,
                routing=self._owner,
                body={"query": queries.owned(self._owner)},
                params={
                    "conflicts": "proceed",
                    "max_docs": FORGOTTEN_AT_ONCE,
                    "refresh": "true",
                    "request_timeout": FORGET_SECONDS,
                },
            )
        if answer["failures"] or answer["timed_out"]:
            raise Unavailable("Not everything could be deleted; try again.")
        return int(answer["total"])

    def _index_of_vectors(self, *, again: bool) -> str:
        index = self._family.index_read(again=again)
        if index.label != self._family.label and not again:
            index = self._family.index_read(again=True)
        if index.label != self._family.label:
            raise Unavailable("The search index that is read holds vectors of another model.")
        return index.name

    def _search(self, index: str, body: dict[str, Any]) -> list[dict[str, Any]]:
        with translated():
            answer = self._client.search(
                index=index,
                body=body,
                routing=self._owner,
                params={"_source": "false", "allow_partial_search_results": "false"},
            )
        if answer["timed_out"]:
            raise Unavailable("The search took too long; try again.")
        hits: list[dict[str, Any]] = answer["hits"]["hits"]
        return hits

    def _actions(self, changes: Sequence[Document | Gone], indexes: Sequence[Named]) -> Iterator[dict[str, Any]]:
        for change in changes:
            guard = {"version": change.version, "version_type": "external"}
            action = {"_id": self._id(change.key), "routing": self._owner, **guard}
            if isinstance(change, Gone):
                yield from ({**action, "_op_type": "delete", "_index": index.write_alias} for index in indexes)
                continue
            fields = queries.fields(change, owner=self._owner)
            for index in indexes:
                vector = queries.vector_field(change) if index.label == self._family.label else {}
                yield {**action, "_op_type": "index", "_index": index.write_alias, "_source": fields | vector}

    def _id(self, key: str) -> str:
        return _digest(self._owner, key)


def _digest(*names: str) -> str:
    """One id for several names, whatever stands in them."""
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()[:40]


def _is_done(result: dict[str, Any], is_ok: bool) -> bool:  # noqa: FBT001
    """Also where a higher version is there already, and where what shall go is not there."""
    return is_ok or result["status"] == CONFLICT or result.get("result") == "not_found"


def _hit(found: dict[str, Any], score: float) -> Hit:
    fields = found["fields"]
    return Hit(key=fields["key"][0], kind=fields["kind"][0], score=score)

"""Requests as plain data: the fields of an index, documents as terms, and searches, each of which names the owner.

Text is only ever matched, and filters come from typed values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from palimpsest.memory.filters import Filter
from palimpsest.models.ports import Space, Vector
from palimpsest.search.ports import Document
from palimpsest.text.analyser import PART_WEIGHT, QueryTerms, document_terms, needed

SEARCHED_BESIDE = 50  # neighbours looked at beyond k: the graph is approximate, and this makes it nearly exact
TIMEOUT = "2s"

VECTOR = "vector"
LONGEST_KEYWORD = 8_000  # characters; a longer one can't be filtered by. Lucene takes 32,766 bytes
_KEYWORD = {"type": "keyword", "ignore_above": LONGEST_KEYWORD}
# Texts come as terms (text/analyser.py), divided by spaces: the engine has nothing left to analyse.
_TERMS = {"type": "text", "analyzer": "whitespace", "index_options": "freqs"}
_FIELDS = {
    "owner": {"type": "keyword"},
    "key": {"type": "keyword"},
    "kind": {"type": "keyword"},
    "words": _TERMS,
    "parts": _TERMS,
    "created_at": {"type": "long"},
    "importance": {"type": "double"},
    "subject": _KEYWORD,
    "session": _KEYWORD,
    "agent": _KEYWORD,
    "metadata": _KEYWORD,
}


def index_body(space: Space | None, *, write_alias: str, shards: int) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "number_of_shards": shards,
        "auto_expand_replicas": "0-1",
        "refresh_interval": "1s",  # explicit, so that an idle index refreshes too
        "gc_deletes": "10m",  # how long a deleted document's version is remembered
    }
    fields: dict[str, Any] = dict(_FIELDS)
    if space:
        settings["knn"] = True
        fields[VECTOR] = {
            "type": "knn_vector",
            "dimension": space.dimension,
            "method": {"name": "hnsw", "space_type": "cosinesimil", "engine": "lucene"},
        }
    return {
        "settings": {"index": settings},
        "mappings": {"dynamic": "strict", "_source": {"enabled": False}, "properties": fields},
        "aliases": {write_alias: {}},
    }


def fields(document: Document, *, owner: str) -> dict[str, Any]:
    terms = document_terms(document.text)
    values = {
        "owner": owner,
        "key": document.key,
        "kind": document.kind,
        "words": " ".join(terms.words),
        "parts": " ".join(terms.parts),
        "created_at": document.created_at,
        "importance": document.importance,
        "subject": document.subject,
        "session": document.session,
        "agent": document.agent,
        "metadata": list(document.metadata),
    }
    return {name: value for name, value in values.items() if value is not None}


def vector_field(document: Document) -> dict[str, Any]:
    return {} if document.vector is None else {VECTOR: list(document.vector)}


def owned(owner: str) -> dict[str, Any]:
    return {"bool": {"filter": [{"term": {"owner": owner}}]}}


def by_words(query: QueryTerms, *, owner: str, where: Filter, k: int) -> dict[str, Any]:
    should: list[dict[str, Any]] = [{"match": {"words": {"query": " ".join(query.words)}}}]
    for group in query.parts:
        share = {"minimum_should_match": needed(group), "boost": PART_WEIGHT / len(group)}
        should.append({"match": {"parts": {"query": " ".join(group), **share}}})
    conditions = _conditions(owner, where)
    return _request({"bool": {"filter": conditions, "should": should, "minimum_should_match": 1}}, k)


def by_vector(vector: Vector, *, owner: str, where: Filter, k: int) -> dict[str, Any]:
    conditions = {"bool": {"filter": _conditions(owner, where)}}
    neighbours = {"vector": list(vector), "k": k + SEARCHED_BESIDE, "filter": conditions}
    return _request({"knn": {VECTOR: neighbours}}, k)


def _request(query: dict[str, Any], k: int) -> dict[str, Any]:
    return {
        "query": query,
        "size": k,
        "sort": ["_score", {"key": "asc"}],
        "docvalue_fields": ["key"],
        "track_total_hits": False,
        "timeout": TIMEOUT,
    }


def _conditions(owner: str, where: Filter) -> list[dict[str, Any]]:
    return [{"term": {"owner": owner}}, *_terms(where), *_ranges(where)]


def _terms(where: Filter) -> Iterator[dict[str, Any]]:
    if where.types:
        yield {"terms": {"kind": sorted(where.types)}}
    for field, value in (("subject", where.subject), ("session", where.session), ("agent", where.agent)):
        if value is not None:
            yield {"term": {field: value}}
    for term in where.metadata_terms:
        yield {"term": {"metadata": term}}


def _ranges(where: Filter) -> Iterator[dict[str, Any]]:
    for field, comparison, value in (
        ("importance", "gte", where.min_importance),
        ("created_at", "gte", where.created_after),
        ("created_at", "lte", where.created_before),
    ):
        if value is not None:
            yield {"range": {field: {comparison: value}}}

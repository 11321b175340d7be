"""The requests to OpenSearch as plain data: the fields of an index, documents as terms, and
searches. Each search names the owner. Text is only matched, never parsed as a query; filters come
from typed values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from palimpsest.memory.filters import MemoryFilter
from palimpsest.models.ports import Space, Vector
from palimpsest.search.ports import Document
from palimpsest.text.analyser import QueryTerms, asked, document_terms
from palimpsest.text.bm25 import BASE, Field

SEARCHED_BESIDE = 50  # neighbours compared beyond k, which make the approximate search nearly exact
TIMEOUT = "2s"

VECTOR = "vector"
LONGEST_KEYWORD = 8_000  # characters; a longer one can't be filtered by. Lucene takes 32,766 bytes
_KEYWORD = {"type": "keyword", "ignore_above": LONGEST_KEYWORD}
# Texts are terms (text/__init__.py) separated by spaces, so the engine need not analyse them.
_TERMS = {"type": "text", "analyzer": "whitespace", "index_options": "freqs"}
FIELDS = {
    "owner": {"type": "keyword"},
    "key": {"type": "keyword"},
    "kind": {"type": "keyword"},
    "words": _TERMS,
    "parts": _TERMS,
    "word_count": {"type": "integer"},
    "part_count": {"type": "integer"},
    "created_at": {"type": "long"},
    "importance": {"type": "double"},
    "subject": _KEYWORD,
    "session": _KEYWORD,
    "agent": _KEYWORD,
    "metadata": _KEYWORD,
}
# A script that computes the score of one document by the rules of `Field` and `rounded`.
_SCORE = """
double rounded(double length) {
    int over = (int) length - 24;
    if (over < 0) return length;
    int shift = 0;
    while ((over >> shift) > 15) shift++;
    return 24 + (over >> shift << shift);
}
double words = params.base + params.word_slope * (
    doc['word_count'].size() == 0 ? 0 : rounded(doc['word_count'].value)
);
double parts = params.base + params.part_slope * (
    doc['part_count'].size() == 0 ? 0 : rounded(doc['part_count'].value)
);
double score = 0;
for (def group : params.groups) {
    double sum = 0;
    int found = 0;
    for (def one : group.weights.entrySet()) {
        double times = termFreq(group.words ? 'words' : 'parts', one.getKey());
        if (times > 0) {
            found++;
            sum += one.getValue() * times / (times + (group.words ? words : parts));
        }
    }
    if (found >= group.needed) score += sum;
}
return score;
"""


def index_body(space: Space | None, *, write_alias: str, shards: int) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "number_of_shards": shards,
        "auto_expand_replicas": "0-1",
        "refresh_interval": "1s",  # explicit, so that an idle index refreshes too
        "gc_deletes": "10m",  # how long a deleted document's version is remembered
    }
    fields: dict[str, Any] = dict(FIELDS)
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
        "word_count": len(terms.words),
        "part_count": len(terms.parts),
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


def listed(owner: str, *, after: str, limit: int) -> dict[str, Any]:
    """Return the request for the keys of the owner's documents after `after`, in order."""
    behind = {"search_after": [after]} if after else {}
    return {
        "query": owned(owner),
        "size": limit,
        "sort": ["key"],
        "docvalue_fields": ["key"],
        **behind,
    }


def statistics(query: QueryTerms, *, owner: str) -> dict[str, Any]:
    """Return the request for statistics of the owner's documents: the lengths of the fields, and
    the number of documents that have each term.
    """
    terms = {
        _name(group.is_word, term): _has(group.is_word, term)
        for group in asked(query)
        for term in group.terms
    }
    fields = {
        name: {"filter": {"range": {name: {"gt": 0}}}, "aggs": {"terms": {"sum": {"field": name}}}}
        for name in ("word_count", "part_count")
    }
    return {
        "query": owned(owner),
        "size": 0,
        "aggs": {**fields, "having": {"filters": {"filters": terms}}},
        "timeout": TIMEOUT,
    }


def by_words(
    query: QueryTerms, answer: dict[str, Any], *, owner: str, where: MemoryFilter, k: int
) -> dict[str, Any]:
    """Return the request for the search. The weights of the terms come from the answer to
    `statistics`. The statistics of the whole index are not used, because it holds the words of
    other owners.
    """
    words, parts = (_field(answer["aggregations"][name]) for name in ("word_count", "part_count"))
    having = answer["aggregations"]["having"]["buckets"]
    groups: list[dict[str, Any]] = []
    should: list[dict[str, Any]] = []
    for group in asked(query):
        field = words if group.is_word else parts
        counts = {term: having[_name(group.is_word, term)]["doc_count"] for term in group.terms}
        weights = {
            term: group.share * field.weight(count) for term, count in counts.items() if count
        }
        if len(weights) >= group.needed:
            groups.append({"words": group.is_word, "needed": group.needed, "weights": weights})
            matches = [_has(group.is_word, term) for term in weights]
            should.append({"bool": {"should": matches, "minimum_should_match": group.needed}})
    matching = {"bool": {"filter": [*_conditions(owner, where), {"bool": {"should": should}}]}}
    params = {"groups": groups, "base": BASE, "word_slope": words.slope, "part_slope": parts.slope}
    score = {"script_score": {"query": matching, "script": {"source": _SCORE, "params": params}}}
    return _request(score if should else {"match_none": {}}, k)


def _has(is_word: bool, term: str) -> dict[str, Any]:  # noqa: FBT001
    return {"term": {"words" if is_word else "parts": term}}


def _name(is_word: bool, term: str) -> str:  # noqa: FBT001
    return f"{'w' if is_word else 'p'} {term}"


def _field(bucket: dict[str, Any]) -> Field:
    return Field(bucket["doc_count"], int(bucket["terms"]["value"]))


def by_vector(vector: Vector, *, owner: str, where: MemoryFilter, k: int) -> dict[str, Any]:
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


def _conditions(owner: str, where: MemoryFilter) -> list[dict[str, Any]]:
    return [{"term": {"owner": owner}}, *_terms(where), *_ranges(where)]


def _terms(where: MemoryFilter) -> Iterator[dict[str, Any]]:
    if where.types:
        yield {"terms": {"kind": sorted(where.types)}}
    if where.subjects:
        yield {"terms": {"subject": [*where.subjects]}}
    for field, value in (("session", where.session), ("agent", where.agent)):
        if value is not None:
            yield {"term": {field: value}}
    for test in where.tests:
        any_of = [{"terms": {"metadata": sorted(test.any_of)}}] if test.any_of else []
        ranges = [{"range": {"metadata": {"gte": low, "lt": high}}} for low, high in test.ranges]
        yield {"bool": {"must_not" if test.negated else "should": [*any_of, *ranges]}}


def _ranges(where: MemoryFilter) -> Iterator[dict[str, Any]]:
    for field, comparison, value in (
        ("importance", "gte", where.min_importance),
        ("created_at", "gte", where.created_after),
        ("created_at", "lte", where.created_before),
    ):
        if value is not None:
            yield {"range": {field: {comparison: value}}}

"""The fields of an index: terms instead of texts, digests instead of owners, typed fields to filter by, a vector."""

from __future__ import annotations

from typing import Any

from palimpsest.models.ports import Space

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

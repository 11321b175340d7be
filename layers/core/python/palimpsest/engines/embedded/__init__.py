"""The search index in one SQLite file, for one machine: exact BM25 and exact cosine, several processes at once."""

from palimpsest.engines.embedded.index import EmbeddedIndex

__all__ = ["EmbeddedIndex"]

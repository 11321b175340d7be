"""The search index on OpenSearch with k-NN on the Lucene engine: a managed domain, or a server on loopback."""

from palimpsest.adapters.opensearch.client import connected
from palimpsest.adapters.opensearch.index import OpenSearchIndex

__all__ = ["OpenSearchIndex", "connected"]

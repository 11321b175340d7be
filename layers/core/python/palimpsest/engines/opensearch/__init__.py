"""The search index on OpenSearch with k-NN on the Lucene engine: a managed domain, or a server on loopback."""

from palimpsest.engines.opensearch.client import connected
from palimpsest.engines.opensearch.index import OpenSearchIndex

__all__ = ["OpenSearchIndex", "connected"]

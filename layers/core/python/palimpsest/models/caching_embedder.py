"""An embedder that remembers: the same text is embedded once, as long as the process lives and there is room."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence

from cachetools import LRUCache

from palimpsest.models.ports import Embedder, Space, Vector

MAX_VECTORS = 512


class CachingEmbedder:
    """Implements `Embedder` over another one. `kept` is how many vectors are cached: those that were used last.

    The cache holds the SHA-256 of each text, never the text. It is safe to use from many threads.
    """

    def __init__(self, embedder: Embedder, *, kept: int = MAX_VECTORS) -> None:
        self._embedder = embedder
        self._cache: LRUCache[bytes, Vector] = LRUCache(kept)
        self._lock = threading.Lock()

    @property
    def space(self) -> Space:
        return self._embedder.space

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        digests = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        with self._lock:
            found = {digest: self._cache[digest] for digest in digests if digest in self._cache}
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in found}
        if missing:
            made = dict(zip(missing, self._embedder.embed(list(missing.values())), strict=True))
            with self._lock:
                self._cache.update(made)
            found |= made
        return [found[digest] for digest in digests]

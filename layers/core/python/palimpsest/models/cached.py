"""An embedder that embeds each text once per process."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence

from cachetools import LRUCache

from palimpsest.models.ports import Embedder, Space, Vector

MAX_VECTORS = 512  # questions and messages of the last minutes


class CachingEmbedder:
    """Implements `Embedder` over another embedder. As long as the process lives, the same text is
    embedded once. Texts count as the same if only their white space differs, because a question is
    one line, and the index has the message as it was written.

    `kept` is the number of vectors in the cache, which keeps the vectors that were used last. With
    `questions_differ` false, the model makes the same vector of a text as a question and as a
    passage, so it is made once for both.

    The cache's keys are SHA-256 digests of the texts, so no text is kept. Safe for many threads.
    """

    def __init__(
        self, embedder: Embedder, *, kept: int = MAX_VECTORS, questions_differ: bool = True
    ) -> None:
        self._embedder = embedder
        self._questions_differ = questions_differ
        self._cache: LRUCache[tuple[bool, bytes], Vector] = LRUCache(kept)
        self._lock = threading.Lock()

    @property
    def space(self) -> Space:
        return self._embedder.space

    def embed(self, texts: Sequence[str], *, as_questions: bool = False) -> list[Vector]:
        is_question = as_questions and self._questions_differ
        keys = [
            (is_question, hashlib.sha256(_one_line(text).encode("utf-8", "surrogatepass")).digest())
            for text in texts
        ]
        with self._lock:
            vectors_by_key = {key: self._cache[key] for key in keys if key in self._cache}
        missing = {
            key: text for key, text in zip(keys, texts, strict=True) if key not in vectors_by_key
        }
        if missing:
            vectors = self._embedder.embed(list(missing.values()), as_questions=as_questions)
            made = dict(zip(missing, vectors, strict=True))
            with self._lock:
                self._cache.update(made)
            vectors_by_key |= made
        return [vectors_by_key[key] for key in keys]


def _one_line(text: str) -> str:
    return " ".join(text.split())

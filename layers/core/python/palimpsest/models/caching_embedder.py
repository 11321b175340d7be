"""An embedder that remembers: the same text is embedded once, as long as the process lives and there is room."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

from palimpsest.models.ports import Embedder, Space, Vector

VECTORS_KEPT = 512


class CachingEmbedder:
    """Implements `Embedder` over another. Texts are kept as their SHA-256 alone. Safe between threads."""

    def __init__(self, embedder: Embedder, *, kept: int = VECTORS_KEPT) -> None:
        self._embedder = embedder
        self._most = kept
        self._kept: OrderedDict[bytes, Vector] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def space(self) -> Space:
        return self._embedder.space

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        marks = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        found = self._known(marks)
        missing = {mark: text for mark, text in zip(marks, texts, strict=True) if mark not in found}
        if missing:
            made = dict(zip(missing, self._embedder.embed(list(missing.values())), strict=True))
            self._keep(made)
            found |= made
        return [found[mark] for mark in marks]

    def _known(self, marks: Sequence[bytes]) -> dict[bytes, Vector]:
        with self._lock:
            for mark in marks:
                if mark in self._kept:
                    self._kept.move_to_end(mark)
            return {mark: self._kept[mark] for mark in marks if mark in self._kept}

    def _keep(self, made: dict[bytes, Vector]) -> None:
        with self._lock:
            self._kept |= made
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

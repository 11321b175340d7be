"""Which extractor: the model's if there is a key for it, else the one that needs none."""

from __future__ import annotations

from palimpsest.domain.extraction import Chunk
from palimpsest.ports.extractor import Extraction, Extractor
from palimpsest.ports.secrets import Secret


class Extractors:
    """Implements `Extractor` by choosing one. A model that fails is a failure: nothing else answers in its place."""

    def __init__(self, *, key: Secret, model: Extractor, offline: Extractor) -> None:
        self._key = key
        self._model = model
        self._offline = offline

    def capacity(self, *, prompt: str | None) -> int:
        return self._chosen().capacity(prompt=prompt)

    def extract(self, chunk: Chunk, *, prompt: str | None, whole: bool = False) -> Extraction:
        return self._chosen().extract(chunk, prompt=prompt, whole=whole)

    def _chosen(self) -> Extractor:
        return self._model if (self._key.value() or "").strip() else self._offline

"""Models that never receive secrets. Each text is masked before it is sent to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from palimpsest.models.calls import ModelOverAnother, ModelRequest
from palimpsest.models.ports import Completion, Embedder, Reranker, Space, Vector
from palimpsest.privacy.secrets import masked


@dataclass(frozen=True, slots=True)
class MaskedModel(ModelOverAnother):
    """Implements `LanguageModel` over another model, with masked texts."""

    def answer(self, request: ModelRequest) -> Completion:
        return replace(request, text=masked(request.text)).send_to(self.model)


@dataclass(frozen=True, slots=True)
class MaskedEmbedder:
    """Implements `Embedder` over another embedder, with masked texts."""

    embedder: Embedder

    @property
    def space(self) -> Space:
        return self.embedder.space

    def embed(self, texts: Sequence[str], *, as_questions: bool = False) -> list[Vector]:
        return self.embedder.embed([masked(text) for text in texts], as_questions=as_questions)


@dataclass(frozen=True, slots=True)
class MaskedReranker:
    """Implements `Reranker` over another reranker, with masked texts."""

    reranker: Reranker

    def scores(self, question: str, texts: Sequence[str], *, until: float) -> Sequence[float]:
        shown = [masked(text) for text in texts]
        return self.reranker.scores(masked(question), shown, until=until)

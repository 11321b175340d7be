"""Models that never receive secrets. Each text is masked before it is sent to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.models.ports import (
    Completion,
    Embedder,
    LanguageModel,
    Reranker,
    Schema,
    Space,
    Vector,
)
from palimpsest.privacy.secrets import masked


@dataclass(frozen=True, slots=True)
class MaskedModel:
    """Implements `LanguageModel` over another model, with masked texts."""

    model: LanguageModel

    def capacity(self, model: str | None = None) -> int:
        return self.model.capacity(model)

    def complete(
        self, *, instructions: str, text: str, max_tokens: int, model: str | None = None
    ) -> Completion:
        return self.model.complete(
            instructions=instructions, text=masked(text), max_tokens=max_tokens, model=model
        )

    def complete_json(
        self,
        *,
        instructions: str,
        text: str,
        schema: Schema,
        max_tokens: int,
        model: str | None = None,
    ) -> Completion:
        return self.model.complete_json(
            instructions=instructions,
            text=masked(text),
            schema=schema,
            max_tokens=max_tokens,
            model=model,
        )


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

"""Models whose calls are spans, with OpenTelemetry's names for calls of generative AI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest import tracing
from palimpsest.models.calls import ModelOverAnother, ModelRequest
from palimpsest.models.ports import Completion, Embedder, Reranker, Space, Vector


@dataclass(frozen=True, slots=True)
class TracedModel(ModelOverAnother):
    """Implements `LanguageModel` over another model, whose default model is `name`. `provider` is
    its name in OpenTelemetry's list.
    """

    name: str
    provider: str

    def answer(self, request: ModelRequest) -> Completion:
        name = request.model or self.name
        about = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self.provider,
            "gen_ai.request.model": name,
        }
        with tracing.span(f"chat {name}", kind="client", attributes=about) as span:
            completion = request.send_to(self.model)
            span.note("gen_ai.response.model", completion.model)
            span.note("gen_ai.usage.input_tokens", completion.usage.tokens_in)
            span.note("gen_ai.usage.output_tokens", completion.usage.tokens_out)
        return completion


@dataclass(frozen=True, slots=True)
class TracedEmbedder:
    """Implements `Embedder` over another embedder."""

    embedder: Embedder
    provider: str

    @property
    def space(self) -> Space:
        return self.embedder.space

    def embed(self, texts: Sequence[str], *, as_questions: bool = False) -> list[Vector]:
        space = self.embedder.space
        about: dict[str, tracing.Value] = {
            "gen_ai.operation.name": "embeddings",
            "gen_ai.provider.name": self.provider,
            "gen_ai.request.model": space.model,
            "gen_ai.embeddings.dimension.count": space.dimension,
            "palimpsest.texts": len(texts),
        }
        with tracing.span(f"embeddings {space.model}", kind="client", attributes=about):
            return self.embedder.embed(texts, as_questions=as_questions)


@dataclass(frozen=True, slots=True)
class TracedReranker:
    """Implements `Reranker` over another reranker."""

    reranker: Reranker

    def scores(self, question: str, texts: Sequence[str], *, until: float) -> Sequence[float]:
        about = {"palimpsest.texts": len(texts)}
        with tracing.span("rerank", kind="client", attributes=about) as span:
            scores = self.reranker.scores(question, texts, until=until)
            span.note("palimpsest.scores", len(scores))
        return scores

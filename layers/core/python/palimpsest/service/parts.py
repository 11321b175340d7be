"""The parts of a `Service`: its stores and its models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from palimpsest.conversations.ports import Blobs, Sessions
from palimpsest.idempotency import KeyedCalls
from palimpsest.jobs.ports import Jobs
from palimpsest.memory.ports import Memories
from palimpsest.memory.removal.epochs import EpochGuard
from palimpsest.models.ports import ChatModel, Embedder, JsonModel, LanguageModel, Reranker
from palimpsest.search.ports import SearchIndex
from palimpsest.tenants.ports import StaticFacts, Tenants
from palimpsest.usage import Usages
from palimpsest.vectors.ports import VectorStore

if TYPE_CHECKING:
    from palimpsest.graph.ports import GraphEngine
    from palimpsest.models.ports import ReportUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """The stores that the service reads and writes. `index`, `vectors` and `graphs` are made at
    their first use, because their libraries are heavy. `recalled_from` is the store that recall
    reads memories from, if it is not `memories`.

    The store of sessions is always wrapped here in the guard that hides sessions of erased users.
    """

    sessions: Sessions
    jobs: Jobs
    calls: KeyedCalls
    tenants: Tenants
    blobs: Blobs
    usages: Usages
    memories: Memories
    facts: StaticFacts
    index: Callable[[], SearchIndex]
    vectors: Callable[[], VectorStore]
    graphs: Callable[[], GraphEngine]
    recalled_from: Memories | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.sessions, EpochGuard):
            object.__setattr__(self, "sessions", EpochGuard(self.sessions))


def _none() -> None:
    """Return None, because there is no such model."""


def _not_reported(tenant: str, used: Mapping[str, int], *, is_counted: bool = True) -> None:
    """Report usage to nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The models in use. They are looked up for every call, because a key may be stored or removed
    at any time. `may_name` lists the models that callers may name; None: any. `report` says in the
    log what a call used.
    """

    embedder: Callable[[], Embedder | None] = _none
    answerer: Callable[[], JsonModel | None] = _none
    selector: ChatModel | None = None
    reranker: Callable[[], Reranker | None] = _none
    may_name: tuple[str, ...] | None = None
    report: ReportUsage = _not_reported

    @classmethod
    def fixed(
        cls,
        *,
        embedder: Embedder | None,
        chat: LanguageModel | None,
        reranker: Reranker | None = None,
    ) -> Models:
        """Return models that stay the same for every call."""
        return cls(
            embedder=lambda: embedder,
            answerer=lambda: chat,
            selector=chat,
            reranker=lambda: reranker,
        )

"""The composition root: builds the use cases from settings. Each function loads only the part that it needs."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from palimpsest import settings

if TYPE_CHECKING:
    from palimpsest.bootstrap.engines import authorizer, embedder, search_index
    from palimpsest.bootstrap.indexing import EmbedWorker, embed_worker, reindex_starter, reindex_worker
    from palimpsest.bootstrap.memories import MemoriesApp, memories_app, wire_memories
    from palimpsest.bootstrap.sessions import SessionsApp, Stores, sessions_app, wire_sessions
    from palimpsest.bootstrap.workers import (
        Worker,
        dispatcher,
        extract_worker,
        remove_worker,
        summarize_worker,
        sweeper,
        wire_summarize,
        wire_sweep,
    )

__all__ = [
    "EmbedWorker",
    "MemoriesApp",
    "SessionsApp",
    "Stores",
    "Worker",
    "authorizer",
    "dispatcher",
    "embed_worker",
    "embedder",
    "extract_worker",
    "memories_app",
    "reindex_starter",
    "reindex_worker",
    "remove_worker",
    "search_index",
    "sessions_app",
    "summarize_worker",
    "sweeper",
    "warm",
    "wire_memories",
    "wire_sessions",
    "wire_summarize",
    "wire_sweep",
]
_PARTS = {
    "sessions": ("SessionsApp", "Stores", "sessions_app", "wire_sessions"),
    "engines": ("authorizer", "embedder", "search_index"),
    "indexing": ("EmbedWorker", "embed_worker", "reindex_starter", "reindex_worker"),
    "memories": ("MemoriesApp", "memories_app", "wire_memories"),
    "workers": (
        "Worker",
        "dispatcher",
        "extract_worker",
        "remove_worker",
        "summarize_worker",
        "sweeper",
        "wire_summarize",
        "wire_sweep",
    ),
}
_PART_OF = {name: part for part, names in _PARTS.items() for name in names}


def warm(build: Callable[[], object]) -> None:
    """In Lambda, call `build` while the function starts, so that the first request need not wait. Else do nothing."""
    if settings.runs_in_lambda():
        build()


def __getattr__(name: str) -> Any:
    """Load the part that defines the name when the name is first used."""
    if name not in _PART_OF:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_PART_OF[name]}"), name)

"""What keeps the search index up to date with the tables: the functions `embed` and `reindex`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from palimpsest import settings
from palimpsest.bootstrap.engines import (
    embedder,
    embeds_here,
    memory_store,
    model_key,
    search_index,
    session_store,
    system_clock,
)
from palimpsest.ports.embedder import Embedder
from palimpsest.ports.queues import Changed
from palimpsest.ports.search_index import SearchIndex
from palimpsest.usecases.embed import Embed


@dataclass(frozen=True, slots=True)
class EmbedWorker:
    """`embed` returns what must be tried again; `hide` says when."""

    embed: Callable[[Sequence[Changed]], tuple[Changed, ...]]
    hide: Callable[..., None]


@cache
def embed_worker() -> EmbedWorker:
    told = settings.EmbedSettings.read()
    from palimpsest.adapters.sqs import SqsVisibility

    sessions, _ = session_store(told.sessions_table)
    memories = memory_store(told.memories_table, told.sessions_table)

    def embed(changes: Sequence[Changed]) -> tuple[Changed, ...]:
        return Embed(memories, sessions, _prepared(told), _embedder(told), system_clock())(changes)

    return EmbedWorker(embed, SqsVisibility(told.embed_queue_url).hide)


@cache
def _prepared(told: settings.SearchSettings) -> SearchIndex:
    """The index, made if there is none. Raises `Unavailable`, and is then asked again by the next batch."""
    index = search_index(told)
    index.prepare()
    return index


def _embedder(told: settings.SearchSettings) -> Embedder | None:
    """None while the model stands behind a key that nobody has stored: then what is indexed has words alone."""
    if embeds_here(told) or model_key(told.openai_key_parameter).value():
        return embedder(told)
    return None

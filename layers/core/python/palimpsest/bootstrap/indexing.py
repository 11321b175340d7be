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
    owners,
    search_index,
    session_store,
    system_clock,
)
from palimpsest.bootstrap.workers import Worker
from palimpsest.jobs.ports import Changed, JobNotice
from palimpsest.jobs.restart import RestartSteps
from palimpsest.jobs.steps import UserSteps
from palimpsest.models.ports import Embedder
from palimpsest.search.embed import Embed
from palimpsest.search.ports import SearchIndex
from palimpsest.search.rebuild import GiveUpReindexStep, Reindex, ReindexStep, StartReindex


@dataclass(frozen=True, slots=True)
class EmbedWorker:
    """`embed` returns what must be tried again; `hide` says when."""

    embed: Callable[[Sequence[Changed]], tuple[Changed, ...]]
    hide: Callable[..., None]


@cache
def embed_worker() -> EmbedWorker:
    told = settings.EmbedSettings.read()
    from palimpsest.engines.sqs import SqsVisibility

    sessions, _ = session_store(told.sessions_table)
    memories = memory_store(told.memories_table, told.sessions_table)

    def embed(changes: Sequence[Changed]) -> tuple[Changed, ...]:
        return Embed(memories, sessions, _prepared(told), _embedder(told), system_clock())(changes)

    return EmbedWorker(embed, SqsVisibility(told.embed_queue_url).hide)


@cache
def reindex_worker() -> Worker:
    told = settings.ReindexSettings.read()
    from palimpsest.engines.sqs import SqsVisibility

    sessions, jobs = session_store(told.sessions_table)
    memories = memory_store(told.memories_table, told.sessions_table)
    clock, index = system_clock(), search_index(told)
    steps = UserSteps(jobs, RestartSteps(jobs, clock), clock)
    space = f"{told.embedding_model} {told.embedding_dimension}"

    def step(notice: JobNotice) -> None:
        embed = Embed(memories, sessions, index, _embedder(told), clock)
        reindex = Reindex(owners(told.sessions_table, told.memories_table), memories, sessions, index, embed)
        ReindexStep(reindex, jobs, steps, clock, space)(notice)

    return Worker(step, GiveUpReindexStep(jobs, clock), SqsVisibility(told.reindex_queue_url).hide)


@cache
def reindex_starter() -> StartReindex:
    _, jobs = session_store(settings.ReindexSettings.read().sessions_table)
    return StartReindex(jobs, system_clock())


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

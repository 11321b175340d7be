"""Builds the workers of the functions `embed` and `reindex`, which keep the search index up to
date.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from palimpsest import settings
from palimpsest.clock import SystemClock
from palimpsest.jobs.events import Changed, JobNotice
from palimpsest.jobs.handling import CountedTries, Worker
from palimpsest.jobs.ports import Hide
from palimpsest.jobs.steps import RestartSteps, UserSteps
from palimpsest.models.ports import Embedder, Vector
from palimpsest.search.embed import Embed
from palimpsest.search.ports import SearchIndex
from palimpsest.search.rebuild import GiveUpReindexStep, Reindex, ReindexStep, StartReindex
from palimpsest.wiring.models import embeds_here, embeds_without_key, index_embedder, model_key
from palimpsest.wiring.search import search_index
from palimpsest.wiring.stores import memory_store, owners, session_store


@dataclass(frozen=True, slots=True)
class EmbedWorker:
    """The worker of the function `embed`. `embed` indexes changes and returns the changes to try
    again. `hide` sets when a message is delivered again. `vectors` answers a function that asks for
    vectors.
    """

    embed: Callable[[Sequence[Changed]], tuple[Changed, ...]]
    hide: Hide
    vectors: Callable[..., list[Vector]]


@cache
def embed_worker() -> EmbedWorker:
    environment = settings.EmbedSettings.read()
    from palimpsest.engines.aws.queues import SqsVisibility

    sessions, jobs = session_store(environment.sessions_table)
    memories, clock = (
        memory_store(environment.memories_table, environment.sessions_table),
        SystemClock(),
    )
    steps = UserSteps(jobs, RestartSteps(jobs, clock), clock)
    if embeds_here(environment):
        # the model begins to load now, because a context that asks for a vector waits at most some
        # seconds
        index_embedder(environment)

    def embed(changes: Sequence[Changed]) -> tuple[Changed, ...]:
        index, model = _prepared(environment), _embedder(environment)
        return Embed(memories, sessions, index, model, clock, steps)(changes)

    def vectors(texts: Sequence[str], *, as_questions: bool) -> list[Vector]:
        return index_embedder(environment).embed(texts, as_questions=as_questions)

    return EmbedWorker(embed, SqsVisibility(environment.embed_queue_url).hide, vectors)


@cache
def reindex_worker() -> Worker:
    environment = settings.ReindexSettings.read()
    from palimpsest.engines.aws.queues import SqsVisibility

    sessions, jobs = session_store(environment.sessions_table)
    memories = memory_store(environment.memories_table, environment.sessions_table)
    clock, index = SystemClock(), search_index(environment)
    steps = UserSteps(jobs, RestartSteps(jobs, clock), clock)
    space = f"{environment.embedding_model} {environment.embedding_dimension}"

    def step(notice: JobNotice) -> None:
        embed = Embed(memories, sessions, index, _embedder(environment), clock)
        reindex = Reindex(
            owners(environment.sessions_table, environment.memories_table),
            memories,
            sessions,
            index,
            embed,
        )
        ReindexStep(reindex, jobs, steps, clock, space)(notice)

    hide = SqsVisibility(environment.reindex_queue_url).hide
    return Worker(
        step,
        GiveUpReindexStep(jobs, clock),
        hide,
        CountedTries(jobs, clock),
        free_place=_nothing_waits,
    )


def _nothing_waits(_: JobNotice) -> None:
    """Do nothing, because only one rebuild runs at a time and none waits for a place."""


@cache
def reindex_starter() -> StartReindex:
    _, jobs = session_store(settings.ReindexSettings.read().sessions_table)
    return StartReindex(jobs, SystemClock())


@cache
def _prepared(environment: settings.SearchSettings) -> SearchIndex:
    """Return the index, which is created if it does not exist. Raises `Unavailable`, and then the
    next batch tries again.
    """
    index = search_index(environment)
    index.prepare()
    return index


def _embedder(environment: settings.SearchSettings) -> Embedder | None:
    """Return the embedding model, or None if it needs a key and none is stored. The index then
    holds words only.
    """
    if embeds_without_key(environment) or model_key(environment).value():
        return index_embedder(environment)
    return None

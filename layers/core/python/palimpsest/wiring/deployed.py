"""Builds the service over deployed stores and models, for the functions that answer the API."""

from __future__ import annotations

from functools import cache

from palimpsest import settings
from palimpsest.clock import SystemClock
from palimpsest.observability import log_usage
from palimpsest.privacy import asks, told
from palimpsest.service.parts import Models, Stores
from palimpsest.service.service import Service
from palimpsest.wiring.models import (
    has_key,
    metered_model,
    question_embedder,
    reranker,
    token_counter,
)
from palimpsest.wiring.search import search_index
from palimpsest.wiring.stores import (
    blob_store,
    fact_store,
    graph_engine,
    keyed_calls,
    memory_store,
    session_store,
    tenant_store,
    usage_store,
    vector_store,
)

OF_EVERY_TURN = ("append", "context", "history", "manage", "read_job")
OF_MEMORIES = (
    "context",
    "erase",
    "facts",
    "forget",
    "graph",
    "import_foreign",
    "imports",
    "index",
    "ingest_outside",
    "preferences",
    "query_graph",
    "show",
    "vectors",
)
"""The use cases that a function builds while it starts, because it has more CPU time then."""


@cache
def sessions_service() -> Service:
    """Return the service of the function `sessions`. No model selects memories, because this
    function answers every turn. If the settings name a function that makes vectors, the service
    calls that function.
    """
    environment = settings.SessionsSettings.read()
    function = environment.embed_function
    models = Models(
        embedder=lambda: question_embedder(environment, function=function),
        may_name=environment.models,
        report=log_usage,
    )
    for learned in (asks.learned, told.learned):
        learned()  # now, so that the first message does not wait for it
    return _service(environment, models, OF_EVERY_TURN)


@cache
def memories_service() -> Service:
    environment = settings.MemoriesSettings.read()
    model = metered_model(environment)
    models = Models(
        embedder=lambda: question_embedder(environment),
        answerer=lambda: model if has_key(environment) else None,
        selector=model,
        reranker=lambda: reranker(environment),
        may_name=environment.models,
        report=log_usage,
    )
    return _service(environment, models, OF_MEMORIES)


def _service(
    environment: settings.ServiceSettings, models: Models, built: tuple[str, ...]
) -> Service:
    """Return the service. The use cases named in `built` are built at once."""
    stores, days = _stores(environment), environment.log_days
    service = Service(stores, models, token_counter(), SystemClock(), log_days=days)
    for name in built:
        getattr(service, name)
    return service


def _stores(environment: settings.ServiceSettings) -> Stores:
    sessions_table, memories_table = environment.sessions_table, environment.memories_table
    sessions, jobs = session_store(sessions_table, memories_table)
    return Stores(
        sessions=sessions,
        jobs=jobs,
        calls=keyed_calls(sessions_table),
        tenants=tenant_store(environment.tenants_table, sessions_table),
        blobs=blob_store(environment.contents_bucket),
        usages=usage_store(sessions_table),
        memories=memory_store(memories_table, sessions_table),
        facts=fact_store(environment.tenants_table),
        index=lambda: search_index(environment),
        vectors=lambda: vector_store(memories_table),
        graphs=graph_engine,
    )

"""The engines behind the ports, from a function's settings; each is made once. What is heavy is imported here, late."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from palimpsest import settings
from palimpsest.clock import Clock
from palimpsest.jobs.ports import Jobs
from palimpsest.memory.ports import Expiries, Memories, Owners
from palimpsest.models.ports import Embedder, Secret, Space, TokenCounter
from palimpsest.search.ports import SearchIndex
from palimpsest.tenants.authorize import Authorize
from palimpsest.tenants.ports import StaticFacts, Tenants

if TYPE_CHECKING:
    from palimpsest.engines.dynamodb.sessions.store import DynamoDbSessions
    from palimpsest.models.openai.chat import OpenAIChatModel

SEARCH_FAMILY = "palimpsest"


@cache
def tenant_store(table: str) -> Tenants:
    from palimpsest.engines.dynamodb.tenants import DynamoDbTenants

    tenants = DynamoDbTenants(table)
    tenants.warm()
    return tenants


@cache
def fact_store(tenants_table: str) -> StaticFacts:
    from palimpsest.engines.dynamodb.tenants import DynamoDbStaticFacts

    return DynamoDbStaticFacts(tenants_table)


@cache
def session_store(table: str, memories: str | None = None) -> tuple[DynamoDbSessions, Jobs]:
    """`memories` is the table that sessions are begun beside."""
    from palimpsest.engines.dynamodb.sessions.jobs import DynamoDbJobs
    from palimpsest.engines.dynamodb.sessions.store import DynamoDbSessions

    sessions = DynamoDbSessions(table, memories=memories)
    sessions.warm()
    return sessions, DynamoDbJobs(table)


@cache
def memory_store(table: str, jobs_table: str) -> Memories:
    from palimpsest.engines.dynamodb.memories.store import DynamoDbMemories

    memories = DynamoDbMemories(table, jobs_table)
    memories.warm()
    return memories


@cache
def expiry_store(memories_table: str) -> Expiries:
    from palimpsest.engines.dynamodb.background import DynamoDbExpiries

    return DynamoDbExpiries(memories_table)


@cache
def owners(sessions_table: str, memories_table: str) -> Owners:
    from palimpsest.engines.dynamodb.background import DynamoDbOwners

    return DynamoDbOwners(sessions_table, memories_table)


@cache
def model_key(parameter: str) -> Secret:
    """The key of the models' server; while there is none, what can do without a model does."""
    from palimpsest.engines.ssm import Parameter

    return Parameter(parameter)


@cache
def chat_model(environment: settings.ChatSettings) -> OpenAIChatModel:
    from palimpsest.models.openai.chat import OpenAIChatModel

    key = model_key(environment.openai_key_parameter)
    return OpenAIChatModel(key=key, base_url=environment.openai_base_url, model=environment.chat_model)


@cache
def embedder(environment: settings.EmbeddingSettings) -> Embedder:
    """The model of the settings: the one on this machine by its name, any other from the server."""
    if embeds_here(environment):
        from palimpsest.models.minilm import MiniLM

        return MiniLM(_folder_of("minilm"))
    from palimpsest.models.openai.embedder import OpenAIEmbedder

    space = Space(environment.embedding_model, environment.embedding_dimension)
    return OpenAIEmbedder(
        key=model_key(environment.openai_key_parameter), space=space, base_url=environment.openai_base_url
    )


def embeds_here(environment: settings.EmbeddingSettings) -> bool:
    """Whether the model is the one on this machine, which needs no key."""
    from palimpsest.models.minilm import SPACE

    return environment.embedding_model == SPACE.model


@cache
def search_index(environment: settings.SearchSettings) -> SearchIndex:
    """The index of the settings; one that answers nothing where the stage has none."""
    if not environment.search_url:
        from palimpsest.engines.no_search import AbsentIndex

        return AbsentIndex()
    space = Space(environment.embedding_model, environment.embedding_dimension)
    if environment.search_url.startswith("file:"):
        from palimpsest.engines.embedded import EmbeddedIndex

        return EmbeddedIndex(Path(urlsplit(environment.search_url).path), space=space)
    import boto3

    from palimpsest.engines.opensearch import OpenSearchIndex
    from palimpsest.engines.opensearch.client import connected

    region = boto3.Session().region_name if environment.search_url.startswith("https:") else None
    return OpenSearchIndex(connected(environment.search_url, region=region), family=SEARCH_FAMILY, space=space)


def _folder_of(package: str) -> Path:
    """Where the layer puts a package that is only data; a place that isn't there, where it does not."""
    found = find_spec(package)
    places = list(found.submodule_search_locations or ()) if found else []
    return Path(places[0]) if places else Path(package)


@cache
def token_counter() -> TokenCounter:
    from palimpsest.models.tiktoken_counter import TiktokenCounter

    counter = TiktokenCounter()
    counter.warm()
    return counter


@cache
def system_clock() -> Clock:
    from palimpsest.clock import SystemClock

    return SystemClock()


@cache
def authorizer() -> Authorize:
    """The use case of the function `authorize`, which needs no other part of the service."""
    return Authorize(tenant_store(settings.AuthorizeSettings.read().tenants_table), system_clock())

"""Builds each model once, from a function's settings: language model, embedder, reranker and token
counter. Heavy libraries are imported at the first use of their model.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from palimpsest import settings, tracing
from palimpsest.clock import SystemClock
from palimpsest.errors import Unavailable
from palimpsest.models.ports import Embedder, LanguageModel, Reranker, Secret, Space, TokenCounter
from palimpsest.observability import log_usage
from palimpsest.tenants.ports import Tenants

if TYPE_CHECKING:
    from palimpsest.engines.bedrock.place import BedrockPlace
    from palimpsest.models.metered import Meter
    from palimpsest.models.openai.chat import OpenAIChatModel
from palimpsest.wiring.stores import tenant_store, usage_store


def model_key(environment: settings.ModelSettings) -> Secret:
    """Return the key of the model server. While no key is stored, features that need no model still
    work. The key of Bedrock's server is a token of the function's role.
    """
    if environment.models_from == "bedrock":
        return _token(bedrock_place(environment))
    return _stored_key(environment.openai_key_parameter)


@cache
def _stored_key(parameter: str) -> Secret:
    from palimpsest.engines.aws.parameters import Parameter

    return Parameter(parameter)


@cache
def _token(place: BedrockPlace) -> Secret:
    from palimpsest.engines.bedrock.token import BedrockToken

    return BedrockToken(place)


def bedrock_place(environment: settings.ModelSettings) -> BedrockPlace:
    """Return the region and credentials with which the settings allow calls of Bedrock's models."""
    from palimpsest.engines.bedrock.place import BedrockPlace

    return BedrockPlace(
        region=environment.bedrock_region,
        profile=environment.bedrock_profile,
        url=environment.bedrock_url,
    )


@cache
def chat_model(environment: settings.ChatSettings) -> OpenAIChatModel:
    from palimpsest.models.openai.chat import MAX_OUTPUT_FIELDS, OpenAIChatModel

    key = model_key(environment)
    if environment.models_from == "bedrock":
        return OpenAIChatModel(
            key=key,
            base_url=bedrock_place(environment).chat_url,
            model=environment.chat_model,
            limit_field=MAX_OUTPUT_FIELDS[0],
        )
    return OpenAIChatModel(
        key=key, base_url=environment.openai_base_url, model=environment.chat_model
    )


def metered_model(environment: settings.PaidSettings) -> LanguageModel:
    """Return the language model, whose calls are counted and kept within the tenant's limit."""
    tenants = tenant_store(environment.tenants_table, environment.sessions_table)
    model: LanguageModel = chat_model(environment)
    if tracing.is_on():
        from palimpsest.models.traced import TracedModel

        model = TracedModel(model, environment.chat_model, _provider(environment))
    return metered(model, _meter(environment.sessions_table), tenants=tenants)


def _provider(environment: settings.ModelSettings) -> str:
    """Return the name of the model server in OpenTelemetry's list of providers."""
    return "aws.bedrock" if environment.models_from == "bedrock" else "openai"


def metered(model: LanguageModel, meter: Meter, *, tenants: Tenants) -> LanguageModel:
    """Return `model` as a model whose calls `meter` counts, and which the settings of tenants
    limit.
    """
    from palimpsest.models.masked import MaskedModel
    from palimpsest.models.metered import MeteredModel
    from palimpsest.models.recorded import RecordedModel

    return MeteredModel(
        MaskedModel(RecordedModel(model)),
        meter,
        lambda scope: tenants.settings(scope).limits.model_cost,
    )


def _meter(table: str) -> Meter:
    from palimpsest.models.metered import Meter

    return Meter(usage_store(table), SystemClock(), log_usage)


@cache
def embedder(environment: settings.EmbeddingSettings) -> Embedder:
    """Return the embedding model that the settings name: the built-in one, one of the model server,
    or one of Bedrock.
    """
    from palimpsest.models.masked import MaskedEmbedder

    made = _embedder(environment)
    if tracing.is_on():
        from palimpsest.models.traced import TracedEmbedder

        made = TracedEmbedder(made, _embedding_provider(environment))
    return MaskedEmbedder(made)


def _embedding_provider(environment: settings.EmbeddingSettings) -> str:
    if embeds_here(environment):
        return "palimpsest"
    return "aws.bedrock" if _embeds_by_bedrock(environment) else "openai"


def _embedder(environment: settings.EmbeddingSettings) -> Embedder:
    if embeds_here(environment):
        from palimpsest.models.builtin import BuiltinEmbedder

        made = BuiltinEmbedder(_folder_of("builtin_models"))
        made.load_soon()
        return made
    space = Space(environment.embedding_model, environment.embedding_dimension)
    count = _meter(environment.sessions_table)
    if _embeds_by_bedrock(environment):
        from palimpsest.engines.bedrock.embeddings import BedrockEmbedder

        return BedrockEmbedder(bedrock_place(environment), space=space, count=count)
    from palimpsest.models.openai.embeddings import OpenAIEmbedder

    key, url = model_key(environment), environment.openai_base_url
    return OpenAIEmbedder(key=key, space=space, base_url=url, count=count)


@cache
def reranker(environment: settings.MemoriesSettings) -> Reranker | None:
    """Return the model that reranks results: one of Bedrock if the settings name it, or else the
    built-in one. Return None if the functions ship without models.
    """
    from palimpsest.models.masked import MaskedReranker

    made = _reranker(environment)
    if made is not None and tracing.is_on():
        from palimpsest.models.traced import TracedReranker

        made = TracedReranker(made)
    return None if made is None else MaskedReranker(made)


def _reranker(environment: settings.MemoriesSettings) -> Reranker | None:
    if environment.rerank_model:
        from palimpsest.engines.bedrock.reranking import BedrockReranker

        count = _meter(environment.sessions_table)
        place, model = bedrock_place(environment), environment.rerank_model
        return BedrockReranker(place, model=model, count=count)
    if not embeds_here(environment):
        return None
    from palimpsest.models.builtin import BuiltinReranker

    made = BuiltinReranker(_folder_of("builtin_models"))
    made.load_soon()
    return made


def question_embedder(
    environment: settings.EmbeddingSettings, *, function: str = ""
) -> Embedder | None:
    """Return the embedding model with a cache of its recent vectors, or None if it needs a key and
    none is stored. With `function`, the function of that name makes the vectors, and alone reads
    the key.
    """
    if function or embeds_without_key(environment) or has_key(environment):
        return _caching(environment, function)
    return None


def embeds_without_key(environment: settings.EmbeddingSettings) -> bool:
    """Return whether the embedding model needs no stored key. Models of Bedrock and the built-in
    one need none.
    """
    return embeds_here(environment) or _embeds_by_bedrock(environment)


@cache
def _caching(environment: settings.EmbeddingSettings, function: str) -> Embedder:
    from palimpsest.engines.aws.functions import FunctionEmbedder
    from palimpsest.models.cached import CachingEmbedder
    from palimpsest.models.masked import MaskedEmbedder

    space = Space(environment.embedding_model, environment.embedding_dimension)
    made = FunctionEmbedder(function, space=space) if function else embedder(environment)
    return CachingEmbedder(MaskedEmbedder(made), questions_differ=_asks_apart(environment))


@cache
def index_embedder(environment: settings.EmbeddingSettings) -> Embedder:
    """Return the embedding model of the function `embed`, with a cache of its recent vectors. A
    message's vector is needed again for the message after it, and a context may have made it
    already.
    """
    from palimpsest.models.cached import CachingEmbedder

    return CachingEmbedder(embedder(environment), questions_differ=_asks_apart(environment))


def _asks_apart(environment: settings.EmbeddingSettings) -> bool:
    """Return whether the model makes one vector of a text as a question, and another vector of it
    as a passage.
    """
    return embeds_here(environment) or environment.embedding_model.startswith("cohere.")


def has_key(environment: settings.ModelSettings) -> bool:
    """Return whether the key of the model server is stored. Return False also if it can't be read
    now.
    """
    try:
        return bool((model_key(environment).value() or "").strip())
    except Unavailable:
        return False


def embeds_here(environment: settings.EmbeddingSettings) -> bool:
    """Return whether the settings name the built-in model, which needs no key."""
    from palimpsest.models.builtin import SPACE

    return environment.embedding_model == SPACE.model


def _embeds_by_bedrock(environment: settings.EmbeddingSettings) -> bool:
    """Return whether the settings name an embedding model of Bedrock, which needs no key."""
    return environment.embedding_model.startswith(("amazon.titan-embed-", "cohere.embed-"))


def _folder_of(package: str) -> Path:
    """Return the folder of a package that holds only data. If the package is not installed, return
    a path that does not exist.
    """
    spec = find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else Path(package)


@cache
def token_counter() -> TokenCounter:
    from palimpsest.models.tiktoken_counter import TiktokenCounter

    counter = TiktokenCounter()
    counter.warm()
    return counter

"""All environment variables that the functions read, one model for each function. No other module
reads them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

Text = Annotated[str, Field(min_length=1)]
Names = Annotated[
    tuple[Text, ...], BeforeValidator(lambda listed: tuple(filter(None, listed.split(","))))
]


class FunctionSettings(BaseModel):
    """The variables that every function reads from its environment. A field has the name of its
    variable in lower case. A bad value stops the cold start.

    With `traces_endpoint`, the address of a collector that takes OTLP over HTTP, spans are sent
    there. `traces_share` is the share of traces that are recorded, among the traces that begin
    here.
    """

    # built at its first use, because a function reads only one of these models
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    stage: Text
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    powertools_service_name: Text
    traces_endpoint: str = ""
    traces_share: float = Field(default=1.0, ge=0, le=1)

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Read the settings from the environment. Raises `RuntimeError`, which names each variable
        that is missing or wrong.
        """
        source = os.environ if environment is None else environment
        values = {name: source[name.upper()] for name in cls.model_fields if name.upper() in source}
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            faults = "; ".join(
                f"{str(fault['loc'][0]).upper()}: {fault['msg']}" for fault in error.errors()
            )
            message = f"Bad settings: {faults}"
            raise RuntimeError(message) from error


class ModelSettings(FunctionSettings):
    """The settings of functions that call a model server with the OpenAI API. Without an address,
    they call OpenAI's server.

    With `models_from=bedrock`, the server is that of Amazon Bedrock, and there is no key.
    `bedrock_region` is a region to use instead of the function's own, `bedrock_profile` a profile
    of this machine, and `bedrock_url` an address to use instead of Bedrock's own.
    """

    models_from: Literal["openai", "bedrock"] = "openai"
    openai_key_parameter: str = Field(default="", validate_default=True)
    openai_base_url: str = ""
    bedrock_region: str = ""
    bedrock_profile: str = ""
    bedrock_url: str = ""

    @field_validator("openai_key_parameter")
    @classmethod
    def _a_key_for_its_server(cls, value: str, info: ValidationInfo) -> str:
        if not value and info.data.get("models_from") == "openai":
            raise ValueError("must name the key's parameter, unless MODELS_FROM is bedrock")
        return value


class ChatSettings(ModelSettings):
    chat_model: Text


class PaidSettings(ChatSettings):
    """The settings of functions that count the usage of their model calls and keep it within the
    tenant's limits.
    """

    tenants_table: Text
    sessions_table: Text


class EmbeddingSettings(ModelSettings):
    """The settings of the embedding model: its name, the dimension of its vectors, and the table
    that counts its calls.
    """

    sessions_table: Text
    embedding_model: Text
    embedding_dimension: int = Field(gt=0)


class SearchSettings(EmbeddingSettings):
    """The address of the search index. `https://…` is a domain, `dynamodb://words/vectors` names
    two tables, and `file:///…` is a file of this machine. If the address is empty, there is no
    index.
    """

    search_url: str = Field(
        default="", pattern=r"^(?:|https?://.+|dynamodb://[^/]+/[^/]+|file:///.+)$"
    )

    @field_validator("search_url")
    @classmethod
    def _no_file_in_the_cloud(cls, value: str, info: ValidationInfo) -> str:
        if value.startswith("file:") and info.data.get("stage") != "local":
            raise ValueError(
                "the index can be a file only in the stage local, because functions on AWS "
                "share no file"
            )
        return value


class NamedModelsSettings(FunctionSettings):
    """The models that callers may name, separated by commas. Without the variable, callers may name
    none.
    """

    models: Names = ()


class AuthorizeSettings(FunctionSettings):
    """With `jwt_issuer`, the service accepts tokens of that issuer for one of `jwt_audience`,
    instead of API keys. In each process and minute, `refusals_answered` refused calls get a problem
    as their answer. The gateway refuses the others.
    """

    tenants_table: Text
    jwt_issuer: str = ""
    jwt_audience: Names = ()
    refusals_answered: int = Field(default=20, ge=0)


class ServiceSettings(SearchSettings, NamedModelsSettings):
    """The tables and buckets of functions that serve the API."""

    tenants_table: Text
    sessions_table: Text
    memories_table: Text
    contents_bucket: Text


class SessionsSettings(ServiceSettings):
    """The settings of the function `sessions`. `embed_function` makes the vectors. Without it
    there is no index.
    """

    embed_function: str = ""


class MemoriesSettings(ServiceSettings, PaidSettings):
    """The settings of the function `memories`, which also calls a language model. `rerank_model` is
    a model of Bedrock that reranks results in place of the built-in one.
    """

    rerank_model: str = ""


class SharedQueueSettings(FunctionSettings):
    """The settings of functions that send the messages of jobs. At most `tenant_jobs_at_once` jobs
    of one tenant are in a queue at a time. The other jobs wait in the table of sessions.
    """

    sessions_table: Text
    tenant_jobs_at_once: int = Field(default=4, gt=0)


class JobQueueSettings(SharedQueueSettings):
    """The queues of jobs. Without a search index there is no queue for reindexing."""

    summarize_queue_url: Text
    extract_queue_url: Text
    reindex_queue_url: str = ""
    sweep_queue_url: Text


class DispatchSettings(JobQueueSettings):
    """The settings of the dispatcher. Without a search index there is no queue for changes either.
    The table of sessions holds the counts.
    """

    embed_queue_url: str = ""
    events_queue_url: Text
    parked_queue_url: Text
    event_bus: Text


class SummarizeSettings(PaidSettings, NamedModelsSettings, SharedQueueSettings):
    contents_bucket: Text
    summarize_queue_url: Text


class ExtractSettings(PaidSettings, SharedQueueSettings):
    memories_table: Text
    contents_bucket: Text
    extract_queue_url: Text


class EmbedSettings(SearchSettings):
    sessions_table: Text
    memories_table: Text
    embed_queue_url: Text


class ReindexSettings(SearchSettings):
    sessions_table: Text
    memories_table: Text
    reindex_queue_url: Text


class SweepSettings(JobQueueSettings):
    embed_queue_url: str = ""
    tenants_table: Text
    memories_table: Text
    contents_bucket: Text


class SiteSettings(FunctionSettings):
    jwt_issuer: str = ""  # empty: API keys are taken, not tokens


BY_FUNCTION: dict[str, type[FunctionSettings]] = {
    "authorize": AuthorizeSettings,
    "sessions": SessionsSettings,
    "memories": MemoriesSettings,
    "dispatch": DispatchSettings,
    "summarize": SummarizeSettings,
    "extract": ExtractSettings,
    "embed": EmbedSettings,
    "reindex": ReindexSettings,
    "sweep": SweepSettings,
    "site": SiteSettings,
}


def is_traced() -> bool:
    """Return whether the settings of this process say where to send spans."""
    return bool(os.environ.get("TRACES_ENDPOINT"))


def runs_in_lambda() -> bool:
    """Return whether this process is a Lambda runtime (or its emulator)."""
    return "AWS_LAMBDA_RUNTIME_API" in os.environ

"""All environment variables that the functions read, one model for each function. No other module
reads them.

The text below a field says what its variable means, once for each name. The page
`docs/reference/environment.md` shows these texts.
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
    """

    # built at its first use, because a function reads only one of these models
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    stage: Text
    """The stage of the stack: `local`, `dev` or `prod`."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """The lowest level of lines that are logged: `DEBUG`, `INFO`, `WARNING` or `ERROR`."""
    powertools_service_name: Text
    """The name of the service in logs and traces."""
    traces_endpoint: str = ""
    """The address of a collector that takes OTLP over HTTP. Spans are sent there. If it is empty,
    nothing is traced.
    """
    traces_share: float = Field(default=1.0, ge=0, le=1)
    """The share of traces that are recorded (0 to 1), among the traces that begin here."""

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
    """The settings of functions that may call a model server."""

    models_from: Literal["openai", "bedrock"] = "openai"
    """The server of the language models: `openai` is any server with OpenAI's API, and `bedrock` is
    Amazon Bedrock, which needs no key.
    """
    openai_key_parameter: str = Field(default="", validate_default=True)
    """The name of the parameter in AWS Systems Manager that holds the key of the model server.
    With `MODELS_FROM=openai` it is required.
    """
    openai_base_url: str = ""
    """The address of the model server. If it is empty, the server is OpenAI's."""
    bedrock_region: str = ""
    """The region in which models of Bedrock are called. If it is empty, it is the function's own
    region.
    """
    bedrock_profile: str = ""
    """A profile of this machine. Bedrock is called with its credentials. Only the stage `local` has
    one.
    """
    bedrock_url: str = ""
    """An address to call instead of Bedrock's own."""

    @field_validator("openai_key_parameter")
    @classmethod
    def _a_key_for_its_server(cls, value: str, info: ValidationInfo) -> str:
        if not value and info.data.get("models_from") == "openai":
            raise ValueError("must name the key's parameter, unless MODELS_FROM is bedrock")
        return value


class ChatSettings(ModelSettings):
    chat_model: Text
    """The language model for summaries, extraction and answers."""


class PaidSettings(ChatSettings):
    """The settings of functions that count the usage of their model calls and keep it within the
    tenant's limits.
    """

    tenants_table: Text
    """The table of API keys, settings of tenants, and static facts."""
    sessions_table: Text
    """The table of conversations, jobs and counts of usage."""


class EmbeddingSettings(ModelSettings):
    """The settings of the embedding model, and the table that counts its calls."""

    sessions_table: Text
    embedding_model: Text
    """The model that makes vectors: the built-in one, one of the model server, or one of
    Bedrock.
    """
    embedding_dimension: int = Field(gt=0)
    """How many numbers a vector has."""


class SearchSettings(EmbeddingSettings):
    """The settings of functions that use the search index."""

    search_url: str = Field(
        default="", pattern=r"^(?:|https?://.+|dynamodb://[^/]+/[^/]+|file:///.+)$"
    )
    """The address of the search index. `https://…` is a domain, `dynamodb://words/vectors` names
    two tables, and `file:///…` is a file of this machine, only in the stage `local`. If it is
    empty, there is no index.
    """

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
    """The settings of functions that accept the names of models from callers."""

    models: Names = ()
    """The language models that callers may name, separated by commas. If it is empty, callers may
    name none.
    """


class AuthorizeSettings(FunctionSettings):
    """The settings of the function that checks the credentials of callers."""

    tenants_table: Text
    jwt_issuer: str = ""
    """The issuer whose tokens are accepted instead of API keys. If it is empty, the service accepts
    API keys.
    """
    jwt_audience: Names = ()
    """The audiences, separated by commas. The claim `aud` of a token must be one of them."""
    refusals_answered: int = Field(default=20, ge=0)
    """How many refused calls get a problem as their answer, in each process and minute. The gateway
    refuses the others.
    """


class ServiceSettings(SearchSettings, NamedModelsSettings):
    """The tables and buckets of functions that serve the API."""

    tenants_table: Text
    sessions_table: Text
    memories_table: Text
    """The table of memories."""
    contents_bucket: Text
    """The bucket of contents that an item of a table can't hold, and of exports."""
    log_days: int = Field(default=90, gt=0)
    """For how many days logs are kept. Receipts of erasures say when the last of them expire."""


class SessionsSettings(ServiceSettings):
    """The settings of the function `sessions`."""

    embed_function: str = ""
    """The function that makes vectors for `sessions`. If it is empty, there is no index."""


class MemoriesSettings(ServiceSettings, PaidSettings):
    """The settings of the function `memories`, which also calls a language model."""

    rerank_model: str = ""
    """A model of Bedrock that reranks results in place of the built-in one."""


class SharedQueueSettings(FunctionSettings):
    """The settings of functions that send the messages of jobs."""

    sessions_table: Text
    tenant_jobs_at_once: int = Field(default=4, gt=0)
    """How many jobs of one tenant may be in a queue at a time. The other jobs wait in the table of
    sessions.
    """


class JobQueueSettings(SharedQueueSettings):
    """The queues of jobs."""

    summarize_queue_url: Text
    """The queue of jobs that summarize."""
    extract_queue_url: Text
    """The queue of jobs that extract memories."""
    reindex_queue_url: str = ""
    """The queue of jobs that rebuild the search index. If it is empty, there is no index."""
    sweep_queue_url: Text
    """The queue of jobs that remove data, export and import it, or apply a changed retention."""


class DispatchSettings(JobQueueSettings):
    """The settings of the dispatcher. The table of sessions holds the counts."""

    embed_queue_url: str = ""
    """The queue of changes for the search index. If it is empty, there is no index."""
    events_queue_url: Text
    """The queue of events that the bus refused. They are published from it later."""
    parked_queue_url: Text
    """The queue of stream records that `dispatch` could not read."""
    event_bus: Text
    """The EventBridge bus that gets the service's events."""


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
    jwt_issuer: str = ""


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

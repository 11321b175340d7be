"""Describes the stages as data: everything that differs between them, and what a deployer can
choose.
"""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from infra.bedrock import Bedrock, bedrock_of, of_bedrock
from infra.layer_build import ON_AWS, Wheels, on_this_machine
from infra.tags import tags_of
from infra.traces import Traces, traces_of


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of a stage. `worker_concurrency` is how many messages of a queue are processed at once.
    The next two limit the HTTP API. `refusals_answered` is how many refused calls a process of the
    authorizer lets through in a minute, so that they get a problem as their answer.
    """

    worker_concurrency: int
    requests_per_second: int
    burst: int
    refusals_answered: int = 20


def tenant_jobs_at_once(worker_concurrency: int) -> int:
    """Return how many jobs of one tenant may be in a queue at a time. A fifth of the workers is
    left to the other tenants. If there are few workers, the number is large enough to keep them
    busy.
    """
    return max(4, worker_concurrency * 4 // 5)


SearchTier = Literal["none", "embedded", "dynamodb", "opensearch"]
"""The tiers of search. `none` has no index. `embedded` is a file that functions on one machine
share. `dynamodb` is two tables, one of them with a vector index, and costs nothing while idle.
`opensearch` is a managed domain.
"""


@dataclass(frozen=True, slots=True)
class DomainSize:
    """The size of the managed search domain, for stages that have one. Its nodes are spread over up
    to three zones.
    """

    instance: str
    nodes: int
    volume_gb: int


@dataclass(frozen=True, slots=True)
class Embedding:
    """The model that makes vectors, the dimension of the vectors, and who runs the model: a
    function itself, the model server, or Amazon Bedrock.
    """

    model: str
    dimension: int
    runs: Literal["here", "server", "bedrock"] = "server"


BUILTIN = Embedding("bge-small-en-v1.5-int8", 384, "here")
OPENAI = Embedding("text-embedding-3-small", 1_536)
EMBEDDINGS = {
    "builtin": BUILTIN,
    "openai": OPENAI,
    "titan": Embedding("amazon.titan-embed-text-v2:0", 1_024, "bedrock"),
    "cohere": Embedding("cohere.embed-multilingual-v3", 1_024, "bedrock"),
}
"""The embedding models by the value of `embedding` in the context."""


@dataclass(frozen=True, slots=True)
class RestoredTable:
    """A table that was restored from a backup and serves in place of the stack's own. `stream` is
    the ARN of its stream, or empty.
    """

    name: str
    stream: str = ""


TABLES = ("Tenants", "Sessions", "Memories")
TABLES_CONTEXT = "tables:"
LOCAL = "local"
LOG_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 180, 365)
"""The days for which CloudWatch can keep logs, up to a year."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One environment of the stack. Parts of the stack decide by these fields, never by the name of
    the stage.
    """

    name: str
    wheels: Wheels
    https_only: (
        bool  # queues and topics refuse plain HTTP, the only thing that the local AWS speaks
    )
    sizes: Sizes
    log_days: int
    keeps_data: bool  # tables, keys and logs outlive the stack, and tables refuse to be deleted
    is_on_aws: bool  # in an account, which pays for it
    # tables, queues, the topic and the domain are encrypted with a key of the account's own
    customer_key: bool
    search: SearchTier
    domain: DomainSize
    embedding: Embedding
    restored: Mapping[str, RestoredTable] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices of a deployer, from the CDK context. With `jwt_issuer`, tokens of that issuer
    replace API keys.
    """

    openai_base_url: str = ""  # empty: OpenAI's own
    chat_model: str = "gpt-4.1-nano"
    models: tuple[str, ...] = ()  # models that callers may name besides this one
    bedrock: Bedrock = field(default_factory=Bedrock)
    traces: Traces = field(default_factory=Traces)
    jwt_issuer: str = ""
    jwt_audience: tuple[str, ...] = ()
    alarm_email: str = ""
    budget_usd: int = 50  # US dollars a month for the whole account; 0: no budget
    has_canary: bool = False  # new versions get a tenth of the calls first
    domain_name: str = ""  # of the API, besides the name that the gateway gives it
    certificate: str = ""  # the ARN of that name's certificate
    tags: Mapping[str, str] = field(default_factory=dict)  # of every resource


def _local() -> Stage:
    """Return the local stage. It has at most two workers of a kind, because each is a process of
    this machine.
    """
    return Stage(
        name=LOCAL,
        wheels=on_this_machine(),
        https_only=False,
        sizes=Sizes(2, 2_000, 4_000, refusals_answered=100_000),
        log_days=7,
        keeps_data=False,
        is_on_aws=False,
        customer_key=False,
        search="embedded",
        domain=DomainSize("t3.small.search", 1, 10),
        embedding=BUILTIN,
    )


def _dev() -> Stage:
    return Stage(
        name="dev",
        wheels=ON_AWS,
        https_only=True,
        sizes=Sizes(5, 50, 100),
        log_days=7,
        keeps_data=False,
        is_on_aws=True,
        customer_key=False,
        search="dynamodb",
        domain=DomainSize("t3.small.search", 1, 10),
        embedding=BUILTIN,
    )


def _prod() -> Stage:
    return Stage(
        name="prod",
        wheels=ON_AWS,
        https_only=True,
        sizes=Sizes(5, 100, 200),
        log_days=90,
        keeps_data=True,
        is_on_aws=True,
        customer_key=True,
        search="opensearch",
        domain=DomainSize("t3.medium.search", 2, 20),
        embedding=BUILTIN,
    )


STAGES: dict[str, Callable[[], Stage]] = {"local": _local, "dev": _dev, "prod": _prod}


class Given:
    """A CDK context that notes which of a stage's choices the deployer has made."""

    def __init__(self, context: Callable[[str], Any]) -> None:
        self._context = context
        self._noted: dict[str, str] = {}

    def __call__(self, key: str) -> Any:
        value = self._context(key)
        if value not in (None, "") and not key.startswith(TABLES_CONTEXT):
            self._noted[key] = str(value)
        return value

    def flags(self, stage: str) -> str:
        """Return the choices that were read so far as flags of the CDK's command line, with the
        stage before them. The restored tables are not among them, because the CDK reads these from
        a file.
        """
        return context_flags({**self._noted, "stage": stage})


def context_flags(choices: Mapping[str, str]) -> str:
    """Return those choices as flags of the CDK's command line, for a shell."""
    words = [word for name in sorted(choices) for word in ("-c", f"{name}={choices[name]}")]
    return shlex.join(words)


def chosen_by(flags: Sequence[str]) -> dict[str, str]:
    """Return the choices in words such as `-c`, `search=dynamodb`. Of two values for one choice,
    the last counts.
    """
    pairs = (word.partition("=") for word in flags if word != "-c")
    return {name: value for name, _, value in pairs}


def _nothing(_: str) -> None:
    """Return None for every key. This is a CDK context in which nothing is set."""


def stage_named(name: str, context: Callable[[str], Any] = _nothing) -> Stage:
    """Return the stage with that name. The CDK context may set its `search`, its `embedding`, the
    server's model, how long logs are kept, that no data is kept, and the restored tables that
    serve.
    """
    if name not in STAGES:
        raise SystemExit(f"There is no stage {name!r}; the stages are {', '.join(STAGES)}.")
    stage = STAGES[name]()
    stage = replace(
        stage,
        search=context("search") or stage.search,
        embedding=_embedding(context) or stage.embedding,
        log_days=_log_days(context) or stage.log_days,
        keeps_data=stage.keeps_data and _keeps_data(context),
        restored=_restored(context(tables_context(name))),
    )
    if stage.search not in get_args(SearchTier):
        raise SystemExit(f"The context `search` is one of {', '.join(get_args(SearchTier))}.")
    if stage.name != LOCAL and stage.search == "embedded":
        raise SystemExit(
            "The embedded index is only for the stage `local`: functions in AWS share no file."
        )
    return stage


def tables_context(stage: str) -> str:
    """Return the key in the CDK context under which `make restore` writes the tables that serve."""
    return f"{TABLES_CONTEXT}{stage}"


def _restored(tables: Any) -> Mapping[str, RestoredTable]:
    """Return the restored tables by the names of the stack's own. The context has all of them or
    none, because they hold parts of the same data.
    """
    if not tables:
        return {}
    names = json.loads(tables) if isinstance(tables, str) else tables
    if set(names) != set(TABLES):
        raise SystemExit(f"The context of restored tables must name {', '.join(TABLES)}.")
    return {name: RestoredTable(**table) for name, table in names.items()}


def _log_days(context: Callable[[str], Any]) -> int | None:
    days = context("log_days")
    if not days:
        return None
    if str(days) not in map(str, LOG_DAYS):
        raise SystemExit(f"The context `log_days` is one of {', '.join(map(str, LOG_DAYS))}.")
    return int(days)


def _keeps_data(context: Callable[[str], Any]) -> bool:
    """Return False if the deployer is about to remove the stack with all that it stores."""
    if (context("keep_data") or "yes") not in ("yes", "no"):
        raise SystemExit("The context `keep_data` is `yes` or `no`.")
    return bool(context("keep_data") != "no")


def _embedding(context: Callable[[str], Any]) -> Embedding | None:
    """Return the embedding model of the context: `embedding=builtin|openai`, or any model of the
    server, by name and dimension.
    """
    kind, model, dimension = (
        context(name) for name in ("embedding", "embedding_model", "embedding_dimension")
    )
    if kind and kind not in EMBEDDINGS:
        raise SystemExit(f"The context `embedding` is one of {', '.join(EMBEDDINGS)}.")
    if not model:
        embedding = EMBEDDINGS[kind] if kind else None
        return _without_a_key(embedding, context)
    if kind == "builtin" or model == BUILTIN.model:
        raise SystemExit(
            "The context `embedding_model` must name a model of the server. Leave it out with "
            "`embedding=builtin`, which needs no server."
        )
    if not str(dimension or "").isdecimal():
        raise SystemExit(
            "The context `embedding_model` needs `embedding_dimension`: how many numbers a vector "
            "has."
        )
    return _without_a_key(Embedding(model, int(dimension)), context)


def _without_a_key(embedding: Embedding | None, context: Callable[[str], Any]) -> Embedding | None:
    """Return the embedding model. Refuse a model of the model server if the server is Bedrock's,
    which has another API for embeddings.
    """
    if embedding is not None and embedding.runs == "server" and context("models_from") == "bedrock":
        raise SystemExit(
            "With the context `models_from=bedrock`, `embedding` is `builtin`, `titan` or `cohere`."
        )
    return embedding


def stack_name(stage: str) -> str:
    return f"Palimpsest-{stage}"


def choices(context: Callable[[str], Any]) -> Choices:
    """Read the choices from the CDK context (`cdk deploy -c chat_model=…`). A choice that is absent
    or empty has its default.
    """
    texts = {
        name: context(name)
        for name in ("openai_base_url", "chat_model", "alarm_email")
        if context(name)
    }
    models = tuple(
        name
        for name_in_list in str(context("models") or "").split(",")
        if (name := name_in_list.strip())
    )
    bedrock = bedrock_of(context)
    if bedrock.chats:
        texts = of_bedrock(texts, models)
    return Choices(
        **texts,
        models=models,
        bedrock=bedrock,
        traces=traces_of(context),
        budget_usd=_budget(context),
        has_canary=_has_canary(context),
        tags=tags_of(context),
        **_own_domain(context),
        **_jwt(context),
    )


def _own_domain(context: Callable[[str], Any]) -> dict[str, Any]:
    name, certificate = (str(context(key) or "") for key in ("domain_name", "certificate"))
    if bool(name) != bool(certificate):
        raise SystemExit("The contexts `domain_name` and `certificate` need each other.")
    return {"domain_name": name, "certificate": certificate}


def _has_canary(context: Callable[[str], Any]) -> bool:
    if (context("deploy") or "all") not in ("all", "canary"):
        raise SystemExit("The context `deploy` is `all` or `canary`.")
    return bool(context("deploy") == "canary")


def _budget(context: Callable[[str], Any]) -> int:
    dollars = context("budget_usd")
    if dollars in (None, ""):
        return Choices().budget_usd
    if not str(dollars).isdecimal():
        raise SystemExit("The context `budget_usd` is a whole number of US dollars a month.")
    return int(dollars)


def _jwt(context: Callable[[str], Any]) -> dict[str, Any]:
    if (context("auth") or "keys") not in ("keys", "jwt"):
        raise SystemExit("The context `auth` is `keys` or `jwt`.")
    if context("auth") != "jwt":
        return {}
    audience = tuple(filter(None, str(context("audience") or "").split(",")))
    if not (context("issuer") and audience):
        raise SystemExit(
            "The context `auth=jwt` needs `issuer` and `audience` (several with commas)."
        )
    if not str(context("issuer")).startswith("https://"):
        raise SystemExit("The context `auth=jwt` needs an `issuer` that begins with https://.")
    return {"jwt_issuer": context("issuer"), "jwt_audience": audience}

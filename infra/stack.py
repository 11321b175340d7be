"""Composes the whole system from its parts, and grants each function the permissions it needs."""

from collections.abc import Mapping, Sequence

from aws_cdk import ArnFormat, CfnOutput, Duration, RemovalPolicy, Stack, Tags
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.config import BUILTIN, Choices, Stage, stack_name
from infra.parts.accepted import accept
from infra.parts.contents import ADD, LIST, PASSING, READ, REMOVE, Contents
from infra.parts.graph import Graph
from infra.parts.http_api import HttpFront, asking
from infra.parts.layers import Layers
from infra.parts.monitoring import Monitoring
from infra.parts.python_function import PythonFunction
from infra.parts.queues import UNTOLD, Line, Queues
from infra.parts.search import Search
from infra.parts.streams import (
    CHANGED_RECORDS,
    FAILED_JOBS,
    GONE_MESSAGES,
    GONE_RECORDS,
    MOVED_POINTERS,
    NEW_COMPACTIONS,
    NEW_JOBS,
    NEW_MESSAGES,
    NEW_RECORDS,
    follow,
)
from infra.parts.tables import DELETES, READS, WRITES, Tables

GRAPH = "NEPTUNE_GRAPH"
"""The environment variable that names the graph; who has it stands in its network."""
REQUEST_SECONDS = 29  # the HTTP API itself gives up after 30
LINES = {"summarize": Line(seconds=90), "extract": Line(seconds=90), "sweep": Line(seconds=90)}
INDEXING = {"embed": Line(seconds=60, batch=10, receives=50), "reindex": Line(seconds=90)}
"""Queues of a stage with a search index. `embed` keeps trying for hours while the index or its model is down."""


class Palimpsest(Stack):
    """The stack of one stage."""

    def __init__(self, scope: Construct, *, stage: Stage, choices: Choices) -> None:
        super().__init__(scope, stack_name(stage.name), description="Palimpsest: memory for agents")
        self._stage = stage
        self._choices = choices
        self._key = self._encryption_key()
        self._layers = Layers(self, stage=stage)
        self.tables = Tables(self, stage=stage, key=self._key)
        self.contents = Contents(self, stage=stage, key=self._key)
        self.search = Search(self, stage=stage, key=self._key)
        self.graph = Graph(self, stage=stage, key=self._key)
        self._lines = LINES | (INDEXING if self.search.url else {})
        self.queues = Queues(self, stage=stage, key=self._key, lines=self._lines)
        self.bus = events.EventBus(self, "Events", description="What happened to memories and jobs: ids alone")
        self.functions: dict[str, PythonFunction] = {}
        self._add_front()
        self._add_workers()
        self._watch()
        self._add_outputs()
        Tags.of(self).add("service", "palimpsest")
        Tags.of(self).add("stage", stage.name)

    @property
    def key_parameter(self) -> str:
        """The name of the SecureString parameter for the OpenAI key; the stack does not create it."""
        return f"/palimpsest/{self._stage.name}/openai-api-key"

    def _encryption_key(self) -> kms.Key | None:
        if not self._stage.customer_key:
            return None
        kept = RemovalPolicy.RETAIN if self._stage.keeps_data else RemovalPolicy.DESTROY
        key = kms.Key(self, "Key", enable_key_rotation=True, removal_policy=kept)
        groups = self.format_arn(
            service="logs", resource="log-group", resource_name="*", arn_format=ArnFormat.COLON_RESOURCE_NAME
        )
        own = {"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}}
        key.grant_encrypt_decrypt(iam.ServicePrincipal(f"logs.{self.region}.amazonaws.com", conditions=own))
        return key

    def _function(
        self,
        name: str,
        *,
        seconds: int,
        memory_mb: int,
        layers: Sequence[lambda_.ILayerVersion] = (),
        environment: Mapping[str, str] | None = None,
    ) -> PythonFunction:
        environment = environment or {}
        function = PythonFunction(
            self, name, stage=self._stage, layers=[*self._layers.every, *layers], timeout_seconds=seconds,
            memory_mb=memory_mb, environment=environment, key=self._key,
            network=self.graph.network if GRAPH in environment else None,
        )  # fmt: skip
        self.functions[name] = function
        return function

    def _add_front(self) -> None:
        """Add the HTTP API and the functions behind it."""
        tables = self.tables
        environment = (
            self._names(tables.tenants, tables.sessions, tables.memories)
            | self._contents()
            | self._searching()
            | self._nameable()
        )
        sessions = self._function(
            "sessions", seconds=REQUEST_SECONDS, memory_mb=1024, layers=self._layers.models, environment=environment
        )
        tables.grant_tenants(sessions.role, *WRITES)
        tables.grant(sessions.role, tables.sessions, READS, WRITES, indexes=["by_user", "by_owner"])
        tables.grant(sessions.role, tables.memories, READS, WRITES, indexes=["by_created"])
        self.contents.grant(sessions.role, READ, ADD, LIST)
        self.search.grant(sessions.role, makes_indexes=False)
        self._grant_openai_key(sessions.role)
        memories = self._add_memories()
        issuer = {"JWT_ISSUER": self._choices.jwt_issuer}
        site = self._function("site", seconds=10, memory_mb=512, environment=issuer)
        self.front = HttpFront(self, stage=self._stage, key=self._key, authorizer=self._authorizer())
        self.front.route({"site": site.function, "sessions": sessions.function, "memories": memories.function})

    def _add_memories(self) -> PythonFunction:
        tables = self.tables
        environment = (
            self._names(tables.tenants, tables.sessions, tables.memories)
            | self._contents()
            | self._searching()
            | self._chatting()
            | {GRAPH: self.graph.id}
        )
        memories = self._function(
            "memories",
            seconds=REQUEST_SECONDS,
            memory_mb=1024,
            layers=[*self._layers.embedding, *self._layers.graph],
            environment=environment,
        )
        tables.grant_tenants(memories.role, *WRITES, "dynamodb:DeleteItem")
        tables.grant(memories.role, tables.sessions, READS, WRITES, indexes=["by_user", "by_owner"])
        tables.grant(memories.role, tables.memories, READS, WRITES, DELETES, indexes=["by_created", "by_tenant"])
        self.contents.grant(memories.role, READ, ADD, LIST)
        self.search.grant(memories.role, makes_indexes=False)
        self.graph.grant(memories.role, writes=False)
        self._grant_openai_key(memories.role)
        return memories

    def _authorizer(self) -> gateway.IHttpRouteAuthorizer:
        """Add the function that says who calls; where it takes tokens, it sees no key."""
        issuer, audience = self._choices.jwt_issuer, ",".join(self._choices.jwt_audience)
        environment = self._names(self.tables.tenants) | {"JWT_ISSUER": issuer, "JWT_AUDIENCE": audience}
        layers = self._layers.tokens() if issuer else ()
        authorize = self._function("authorize", seconds=10, memory_mb=512, layers=layers, environment=environment)
        if not issuer:
            self.tables.grant_keys(authorize.role)
        return asking(authorize.function)

    def _add_workers(self) -> None:
        """Add the functions that streams, queues and the schedule start."""
        self._add_dispatch()
        sessions = self._names(self.tables.sessions)
        environment = self._names(self.tables.tenants) | sessions | self._chatting() | self._nameable()
        summarize = self._worker("summarize", memory_mb=512, layers=self._layers.models, environment=environment)
        self.tables.grant_tenants(summarize.role)
        self.tables.grant(summarize.role, self.tables.sessions, READS, WRITES)
        self._grant_openai_key(summarize.role)
        self._add_extract()
        if self.search.url:
            self._add_embed()
            self._add_reindex()
        else:
            self._have_embedded(None)
        self._add_sweep()

    def _add_sweep(self) -> None:
        """Add the function that each minute looks for what has expired, got stuck, or was lost on its way."""
        tables, lines = self.tables, self.queues.of
        environment = self._names(tables.tenants, tables.sessions, tables.memories) | _urls(lines) | self._contents()
        sweep = self._worker("sweep", memory_mb=512, environment=environment)
        for queue in lines.values():
            self.queues.grant_send(queue, sweep.role)
        tables.grant_tenants(sweep.role)
        tables.grant(sweep.role, tables.sessions, READS, WRITES, DELETES, indexes=["by_user", "by_owner", "due"])
        indexes = ["by_created", "by_tenant", "due"]
        tables.grant(sweep.role, tables.memories, READS, WRITES, DELETES, indexes=indexes)
        self.contents.grant(sweep.role, READ, ADD, REMOVE, LIST)
        every_minute = events.Schedule.rate(Duration.minutes(1))
        target = targets.LambdaFunction(sweep.function, retry_attempts=0, max_event_age=Duration.minutes(1))
        events.Rule(self, "Round", schedule=every_minute, targets=[target])

    def _add_extract(self) -> None:
        tables = self.tables
        environment = (
            self._names(tables.tenants, tables.sessions, tables.memories)
            | self._contents()
            | self._chatting()
            | {GRAPH: self.graph.id}
        )
        extract = self._worker("extract", memory_mb=512, layers=self._layers.models, environment=environment)
        tables.grant_tenants(extract.role)
        tables.grant(extract.role, tables.sessions, READS, WRITES)
        tables.grant(extract.role, tables.memories, READS, WRITES, ["dynamodb:DeleteItem"])
        self.contents.grant(extract.role, READ, REMOVE, LIST, under=PASSING)
        self.graph.grant(extract.role, writes=False)
        self._grant_openai_key(extract.role)

    def _add_embed(self) -> None:
        """Add the function that keeps the search index up to date; it marks records as indexed and ends redactions."""
        environment = (
            self._names(self.tables.sessions, self.tables.memories) | self._searching() | {GRAPH: self.graph.id}
        )
        embed = self._worker("embed", memory_mb=1024, layers=self._layers.embedding, environment=environment)
        self.tables.grant(embed.role, self.tables.sessions, READS)
        self.tables.grant_jobs(embed.role)
        self.tables.grant_usage(embed.role)
        self.tables.grant(embed.role, self.tables.memories, READS, ["dynamodb:UpdateItem"])
        self.search.grant(embed.role, makes_indexes=True)
        self.graph.grant(embed.role, writes=True)
        self._grant_openai_key(embed.role)
        self._have_embedded(embed.function)

    def _have_embedded(self, embed: lambda_.Function | None) -> None:
        """Where models ship with the functions, the path of every turn does not carry them: it asks `embed`."""
        sessions = self.functions["sessions"]
        asked = embed if self._stage.embedding == BUILTIN else None
        sessions.function.add_environment("EMBED_FUNCTION", asked.function_name if asked else "")
        if asked:
            arns = [asked.function_arn]
            iam.Grant.add_to_principal(grantee=sessions.role, actions=["lambda:InvokeFunction"], resource_arns=arns)

    def _add_reindex(self) -> None:
        """Add the function that rebuilds the search index of all tenants; it alone may scan the lists of owners."""
        environment = (
            self._names(self.tables.sessions, self.tables.memories) | self._searching() | {GRAPH: self.graph.id}
        )
        reindex = self._worker("reindex", memory_mb=1024, layers=self._layers.embedding, environment=environment)
        self.tables.grant(reindex.role, self.tables.sessions, READS, WRITES, indexes=["by_owner"])
        self.tables.grant(reindex.role, self.tables.memories, READS, ["dynamodb:UpdateItem"], indexes=["by_created"])
        self.tables.grant_scan(reindex.role, self.tables.sessions, "by_user")
        self.tables.grant_scan(reindex.role, self.tables.memories, "by_tenant")
        self.search.grant(reindex.role, makes_indexes=True)
        self.graph.grant(reindex.role, writes=True)
        self._grant_openai_key(reindex.role)

    def _add_dispatch(self) -> None:
        queues = {**self.queues.of, "events": self.queues.events, "parked": self.queues.parked}
        environment = _urls(queues) | self._names(self.tables.sessions) | {"EVENT_BUS": self.bus.event_bus_name}
        dispatch = self._function("dispatch", seconds=30, memory_mb=512, environment=environment)
        self.bus.grant_put_events_to(dispatch.role)
        self.tables.grant_usage(dispatch.role)
        for queue in queues.values():
            self.queues.grant_send(queue, dispatch.role)
        self._receive(dispatch, self.queues.events, UNTOLD)
        searched = bool(self.search.url)
        messages = [NEW_MESSAGES, GONE_MESSAGES] if searched else [NEW_MESSAGES]
        changes = [NEW_JOBS, FAILED_JOBS, NEW_COMPACTIONS, *messages]
        follow(self.tables.sessions, dispatch.function, filters=changes, parked=self.queues.parked)
        changes = [CHANGED_RECORDS if searched else NEW_RECORDS, GONE_RECORDS, MOVED_POINTERS]
        follow(self.tables.memories, dispatch.function, filters=changes, parked=self.queues.parked)
        accept(dispatch.role, "IAM5[Resource::*]", because="Lambda lists streams, by name, to find the table's own.")
        for action in ("ReEncrypt*", "GenerateDataKey*") if self._key else ():
            accept(dispatch.role, f"IAM5[Action::kms:{action}]", because="Kinds of one action, on the stack's own key.")

    def _worker(
        self, name: str, *, memory_mb: int, environment: Mapping[str, str], layers: Sequence[lambda_.ILayerVersion] = ()
    ) -> PythonFunction:
        """A function that processes the messages of the queue with its name."""
        queue, line = self.queues.of[name], self._lines[name]
        environment = {**environment, f"{name.upper()}_QUEUE_URL": queue.queue_url}
        worker = self._function(name, seconds=line.seconds, memory_mb=memory_mb, layers=layers, environment=environment)
        self.queues.grant_back_off(queue, worker.role)
        self._receive(worker, queue, line)
        return worker

    def _receive(self, worker: PythonFunction, queue: sqs.Queue, line: Line) -> None:
        """Have the function get the messages of the queue."""
        worker.function.add_event_source(
            sources.SqsEventSource(
                queue, batch_size=line.batch, report_batch_item_failures=True,
                max_concurrency=self._stage.sizes.worker_concurrency,
            )
        )  # fmt: skip

    def _names(self, *tables: dynamodb.Table) -> dict[str, str]:
        """The environment variables that hold the names of those tables."""
        return {f"{table.node.id.upper()}_TABLE": table.table_name for table in tables}

    def _contents(self) -> dict[str, str]:
        return {"CONTENTS_BUCKET": self.contents.bucket.bucket_name}

    def _model_server(self) -> dict[str, str]:
        return {"OPENAI_KEY_PARAMETER": self.key_parameter, "OPENAI_BASE_URL": self._choices.openai_base_url}

    def _chatting(self) -> dict[str, str]:
        return self._model_server() | {"CHAT_MODEL": self._choices.chat_model}

    def _nameable(self) -> dict[str, str]:
        """Which models callers may name, as an environment variable: the configured one, and the operator's list."""
        return {"MODELS": ",".join(dict.fromkeys((self._choices.chat_model, *self._choices.models)))}

    def _searching(self) -> dict[str, str]:
        """The environment variables for the address of the index and for the model that makes its vectors."""
        model = self._stage.embedding
        return self._model_server() | {
            "SEARCH_URL": self.search.url, "EMBEDDING_MODEL": model.model, "EMBEDDING_DIMENSION": str(model.dimension),
        }  # fmt: skip

    def _grant_openai_key(self, reader: iam.IGrantable) -> None:
        arn = self.format_arn(service="ssm", resource="parameter", resource_name=self.key_parameter.removeprefix("/"))
        iam.Grant.add_to_principal(grantee=reader, actions=["ssm:GetParameter"], resource_arns=[arn])
        if self._key is not None:
            self._key.grant_decrypt(reader)

    def _watch(self) -> None:
        monitoring = Monitoring(self, stage=self._stage, choices=self._choices, key=self._key)
        monitoring.watch_api(self.front.api)
        functions = {name: function.function for name, function in self.functions.items()}
        monitoring.watch_functions(functions, alone=("dispatch", "sweep"))
        monitoring.watch_stream(functions["dispatch"])
        monitoring.watch_queues(self.queues)
        monitoring.watch_tables(self.tables)

    def _add_outputs(self) -> None:
        """Write the outputs: what callers, operators and tests need to know about a deployed stack."""
        outputs = {
            "Endpoint": self.front.api.api_endpoint,
            "ApiId": self.front.api.api_id,
            "TenantsTable": self.tables.tenants.table_name,
            "SessionsTable": self.tables.sessions.table_name,
            "SessionsStream": self.tables.sessions.table_stream_arn or "",
            "MemoriesTable": self.tables.memories.table_name,
            "MemoriesStream": self.tables.memories.table_stream_arn or "",
            "ContentsBucket": self.contents.bucket.bucket_name,
            "ClientLayer": self._layers.client.layer_version_arn,
            "EventBus": self.bus.event_bus_name,
            "DeadLettersUrl": self.queues.dead_letters.queue_url,
            "EventsQueueUrl": self.queues.events.queue_url,
            "ParkedQueueUrl": self.queues.parked.queue_url,
            "OpenAiKeyParameter": self.key_parameter,
        }
        outputs |= {f"{name.capitalize()}QueueUrl": queue.queue_url for name, queue in self.queues.of.items()}
        outputs |= {
            f"{name.capitalize()}Function": each.function.function_name for name, each in self.functions.items()
        }
        if self._key is not None:
            outputs["KeyArn"] = self._key.key_arn
        for name, value in outputs.items():
            CfnOutput(self, name, value=value)


def _urls(queues: Mapping[str, sqs.Queue]) -> dict[str, str]:
    """The environment variables that hold the addresses of those queues."""
    return {f"{name.upper()}_QUEUE_URL": queue.queue_url for name, queue in queues.items()}

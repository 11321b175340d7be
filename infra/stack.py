"""Composes the whole system from its parts, and grants each function the permissions that it
needs.
"""

from collections.abc import Mapping, Sequence

from aws_cdk import ArnFormat, CfnOutput, Duration, Stack, Tags
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.config import Choices, Stage, context_flags, stack_name, tenant_jobs_at_once
from infra.parts.accepted import accept
from infra.parts.bedrock import grant_chat, grant_invoking, grant_reranking
from infra.parts.canary import Canary
from infra.parts.contents import ADD, CALLS, EXPORTS, LIST, PASSING, READ, REMOVE, REVIEWS, Contents
from infra.parts.http_api import HttpFront, asking
from infra.parts.layers import Layers
from infra.parts.monitoring import Monitoring
from infra.parts.python_function import SERVICE, PythonFunction
from infra.parts.queues import UNTOLD, Line, Queues
from infra.parts.retention import removal_policy
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
from infra.parts.traces import grant_spans
from infra.traces import UNTRACED, XRAY

MODEL_KEY = "OPENAI_KEY_PARAMETER"
"""The environment variable that names the key of the model server."""
SHARE = "TENANT_JOBS_AT_ONCE"
STORES = ("TENANTS_TABLE", "SESSIONS_TABLE", "MEMORIES_TABLE", "CONTENTS_BUCKET")
SERVER = (
    "MODELS_FROM",
    MODEL_KEY,
    "OPENAI_BASE_URL",
    "BEDROCK_REGION",
    "BEDROCK_PROFILE",
    "BEDROCK_URL",
)
CHATTING = (*SERVER, "CHAT_MODEL")
SEARCHING = (*SERVER, "SEARCH_URL", "EMBEDDING_MODEL", "EMBEDDING_DIMENSION")
INDEXED = ("SESSIONS_TABLE", "MEMORIES_TABLE", *SEARCHING)
WHOLE_CPU_MB = 1769
"""With this memory, a function has a whole processor. `embed` has it because `sessions` waits for
its vectors. `memories` has it because two models and two graphs are in its memory at once.
"""
GOES_BACK_ON = ("ServerErrors", "Latency", "DeadLetters", "Parked", "StreamLag", "SweepErrors")
"""The alarms at which a canary deployment goes back to the earlier version."""
REQUEST_SECONDS = 29  # the HTTP API itself gives up after 30
LINES = {"summarize": Line(seconds=90), "extract": Line(seconds=90), "sweep": Line(seconds=90)}
INDEXING = {"embed": Line(seconds=60, batch=10, receives=480), "reindex": Line(seconds=90)}
"""Queues of a stage with a search index. `embed` tries again for hours while the index or its model
is unavailable.
"""


class Palimpsest(Stack):
    """The stack of one stage. `flags` are the deployer's choices as the CDK's command line takes
    them; without them it is the stage alone. The stack has them as an output, so that a later
    deployment can repeat them.
    """

    def __init__(
        self, scope: Construct, *, stage: Stage, choices: Choices, flags: str = ""
    ) -> None:
        tags = {"service": SERVICE, "stage": stage.name, **choices.tags}
        super().__init__(
            scope,
            stack_name(stage.name),
            description="Palimpsest: memory for agents",
            termination_protection=stage.keeps_data,
            # CloudFormation gives these to resources that the CDK makes on its own, too.
            tags=tags,
        )
        self._stage = stage
        self._choices = choices
        self._flags = flags or context_flags({"stage": stage.name})
        self._key = self._encryption_key()
        self._layers = Layers(self, stage=stage, traces=choices.traces)
        self.tables = Tables(self, stage=stage, key=self._key)
        self.contents = Contents(self, stage=stage, key=self._key)
        self.search = Search(self, stage=stage, key=self._key)
        self._lines = LINES | (INDEXING if self.search.url else {})
        self.queues = Queues(self, stage=stage, key=self._key, lines=self._lines)
        self.bus = events.EventBus(
            self, "Events", description="What happened to memories and jobs: ids alone"
        )
        self._variables = self._environment()
        self.functions: dict[str, PythonFunction] = {}
        self._add_front()
        self._add_workers()
        self._watch()
        self._add_outputs()
        for key, value in tags.items():
            Tags.of(self).add(key, value)

    @property
    def key_parameter(self) -> str:
        """Return the name of the SecureString parameter for the OpenAI key. The stack does not
        create it.
        """
        return f"/palimpsest/{self._stage.name}/openai-api-key"

    def _encryption_key(self) -> kms.Key | None:
        if not self._stage.customer_key:
            return None
        kept = removal_policy(self._stage)
        key = kms.Key(self, "Key", enable_key_rotation=True, removal_policy=kept)
        groups = self.format_arn(
            service="logs",
            resource="log-group",
            resource_name="*",
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        own = {"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}}
        key.grant_encrypt_decrypt(
            iam.ServicePrincipal(f"logs.{self.region}.amazonaws.com", conditions=own)
        )
        return key

    def _environment(self) -> dict[str, str]:
        """Return every environment variable that a function may have."""
        tables, embedding, choices = self.tables, self._stage.embedding, self._choices
        named = {f"{name}_TABLE": table.table_name for name, table in tables.by_name.items()}
        return (
            named
            | _urls(self._queues_by_name)
            | {
                "CONTENTS_BUCKET": self.contents.bucket.bucket_name,
                "LOG_DAYS": str(self._stage.log_days),
                "EVENT_BUS": self.bus.event_bus_name,
                "SEARCH_URL": self.search.url,
                "EMBEDDING_MODEL": embedding.model,
                "EMBEDDING_DIMENSION": str(embedding.dimension),
                "CHAT_MODEL": choices.chat_model,
                # models that callers may name
                "MODELS": ",".join(dict.fromkeys((choices.chat_model, *choices.models))),
                "MODELS_FROM": choices.bedrock.models_from,
                "OPENAI_BASE_URL": choices.openai_base_url,
                "BEDROCK_REGION": choices.bedrock.region or self.region,
                "BEDROCK_PROFILE": choices.bedrock.profile,
                "BEDROCK_URL": choices.bedrock.url,
                "RERANK_MODEL": choices.bedrock.reranker,
                "REFUSALS_ANSWERED": str(self._stage.sizes.refusals_answered),
                "JWT_ISSUER": choices.jwt_issuer,
                "JWT_AUDIENCE": ",".join(choices.jwt_audience),
                SHARE: str(tenant_jobs_at_once(self._stage.sizes.worker_concurrency)),
                MODEL_KEY: "" if choices.bedrock.chats else self.key_parameter,
            }
        )

    @property
    def _queues_by_name(self) -> dict[str, sqs.Queue]:
        return {**self.queues.of, "events": self.queues.events, "parked": self.queues.parked}

    def _function(
        self,
        name: str,
        *variables: str,
        seconds: int,
        memory_mb: int,
        layers: Sequence[lambda_.ILayerVersion] = (),
        sends_to_itself: bool = False,
    ) -> PythonFunction:
        """Return a function that has those environment variables."""
        traces, collector, endpoint = self._choices.traces, self._layers.collector, ""
        if name in UNTRACED:
            collector = []
        else:
            endpoint = traces.endpoint(self.region)
        function = PythonFunction(
            self,
            name,
            stage=self._stage,
            layers=[*self._layers.every, *layers, *collector],
            timeout_seconds=seconds,
            memory_mb=memory_mb,
            environment={
                **{variable: self._variables[variable] for variable in variables},
                "TRACES_ENDPOINT": endpoint,
                "TRACES_SHARE": traces.share,
            },
            key=self._key,
            sends_to_itself=sends_to_itself,
            has_alias=self._choices.has_canary,
        )
        self.functions[name] = function
        if self._asks_server(name, variables):
            self._grant_openai_key(function.role)
        self._grant_bedrock(name, variables, function.role)
        if endpoint and traces.sink == XRAY:
            grant_spans(function.role)
        return function

    def _asks_server(self, name: str, variables: Sequence[str]) -> bool:
        """Return whether a function calls a model server with a key, and so reads the key. The
        function `sessions` never does: `embed` makes its vectors.
        """
        embeds = name in INDEXING and self._stage.embedding.runs == "server"
        asks = MODEL_KEY in variables and (embeds or "CHAT_MODEL" in variables)
        return asks and not self._choices.bedrock.chats

    def _grant_bedrock(self, name: str, variables: Sequence[str], role: iam.Role) -> None:
        """Let a function call the models of Bedrock that it uses, and no others."""
        bedrock = self._choices.bedrock
        if bedrock.chats and "CHAT_MODEL" in variables:
            grant_chat(role, (self._choices.chat_model, *self._choices.models), bedrock)
        embeds = name in INDEXING or name == "memories"
        if embeds and self._stage.embedding.runs == "bedrock":
            grant_invoking(role, (self._stage.embedding.model,), bedrock)
        if bedrock.reranker and "RERANK_MODEL" in variables:
            grant_reranking(role, bedrock.reranker, bedrock)

    def _add_front(self) -> None:
        """Add the HTTP API and its functions."""
        functions = {
            "sessions": self._add_sessions(),
            "memories": self._add_memories(),
            "site": self._function(
                "site", "JWT_ISSUER", seconds=10, memory_mb=256, layers=self._layers.pages
            ),
        }
        self.front = HttpFront(
            self,
            stage=self._stage,
            key=self._key,
            authorizer=self._authorizer(),
            choices=self._choices,
        )
        self.front.route({name: function.serving for name, function in functions.items()})

    def _add_sessions(self) -> PythonFunction:
        tables, variables = self.tables, (*STORES, *SEARCHING, "MODELS", "LOG_DAYS")
        sessions = self._function(
            "sessions",
            *variables,
            seconds=REQUEST_SECONDS,
            memory_mb=1024,
            layers=self._layers.models,
        )
        tables.grant_tenants(sessions.role, *WRITES)
        tables.grant(sessions.role, tables.sessions, READS, WRITES, indexes=["by_user", "by_owner"])
        tables.grant(sessions.role, tables.memories, READS, WRITES, indexes=["by_created"])
        self.contents.grant(sessions.role, READ, ADD, LIST)
        self.search.grant(sessions.role, makes_indexes=False)
        return sessions

    def _add_memories(self) -> PythonFunction:
        used = (*STORES, *SEARCHING, *CHATTING, "MODELS", "RERANK_MODEL", "LOG_DAYS")
        tables, variables = self.tables, dict.fromkeys(used)
        layers = [*self._layers.embedding, *self._layers.graph]
        memories = self._function(
            "memories", *variables, seconds=REQUEST_SECONDS, memory_mb=WHOLE_CPU_MB, layers=layers
        )
        tables.grant_tenants(memories.role, *WRITES, "dynamodb:DeleteItem")
        tables.grant(memories.role, tables.sessions, READS, WRITES, indexes=["by_user", "by_owner"])
        tables.grant(
            memories.role,
            tables.memories,
            READS,
            WRITES,
            DELETES,
            indexes=["by_created", "by_tenant"],
        )
        self.contents.grant(memories.role, READ, ADD, LIST)
        self.contents.grant(memories.role, REMOVE, under=EXPORTS)
        self.contents.grant(memories.role, REMOVE, under=REVIEWS)
        self.contents.grant(memories.role, REMOVE, under=CALLS)
        self.search.grant(memories.role, makes_indexes=False)
        return memories

    def _authorizer(self) -> gateway.IHttpRouteAuthorizer:
        """Add the function that authorizes callers. If it checks tokens, it can't read keys."""
        takes_tokens = bool(self._choices.jwt_issuer)
        layers = self._layers.tokens() if takes_tokens else ()
        variables = ("TENANTS_TABLE", "JWT_ISSUER", "JWT_AUDIENCE", "REFUSALS_ANSWERED")
        authorize = self._function(
            "authorize", *variables, seconds=10, memory_mb=512, layers=layers
        )
        if not takes_tokens:
            self.tables.grant_keys(authorize.role)
        return asking(authorize.serving)

    def _add_workers(self) -> None:
        """Add the functions that streams, queues and the schedule start."""
        self._add_dispatch()
        variables = ("TENANTS_TABLE", "SESSIONS_TABLE", "CONTENTS_BUCKET", *CHATTING, "MODELS")
        summarize = self._worker("summarize", *variables, memory_mb=512, layers=self._layers.models)
        self.tables.grant_tenants(summarize.role)
        self.tables.grant(summarize.role, self.tables.sessions, READS, WRITES)
        self.contents.grant(summarize.role, ADD, REMOVE, LIST, under=CALLS)
        self._add_extract()
        if self.search.url:
            self._add_embed()
            self._add_reindex()
        else:
            self._have_embedded(None)
        self._add_sweep()

    def _add_sweep(self) -> None:
        """Add the function that looks for expired, stuck and lost work every minute."""
        tables, lines = self.tables, self.queues.of
        sweep = self._worker("sweep", *STORES, *_urls(lines), memory_mb=512)
        for name, queue in lines.items():
            if name != "sweep":
                self.queues.grant_send(queue, sweep.role)
        tables.grant_tenants(sweep.role)
        tables.grant(
            sweep.role,
            tables.sessions,
            READS,
            WRITES,
            DELETES,
            indexes=["by_user", "by_owner", "due"],
        )
        indexes = ["by_created", "by_tenant", "due"]
        tables.grant(sweep.role, tables.memories, READS, WRITES, DELETES, indexes=indexes)
        for table in (tables.sessions, tables.memories):
            tables.grant_scan(sweep.role, table, "due")
        self.contents.grant(sweep.role, READ, ADD, REMOVE, LIST)
        every_minute = events.Schedule.rate(Duration.minutes(1))
        # The next round does the same work, so a failed round is not repeated.
        target = targets.LambdaFunction(
            sweep.serving, retry_attempts=0, max_event_age=Duration.minutes(1)
        )
        events.Rule(self, "Round", schedule=every_minute, targets=[target])

    def _add_extract(self) -> None:
        tables = self.tables
        extract = self._worker(
            "extract", *STORES, *CHATTING, memory_mb=512, layers=self._layers.models
        )
        tables.grant_tenants(extract.role)
        tables.grant(extract.role, tables.sessions, READS, WRITES)
        tables.grant(
            extract.role,
            tables.memories,
            READS,
            WRITES,
            ["dynamodb:DeleteItem"],
            indexes=["by_created"],
        )
        self.contents.grant(extract.role, READ, REMOVE, LIST, under=PASSING)
        self.contents.grant(extract.role, ADD, REMOVE, under=CALLS)

    def _add_embed(self) -> None:
        """Add the function that keeps the search index up to date. It marks records as indexed and
        ends redactions.
        """
        embed = self._worker(
            "embed", *INDEXED, memory_mb=WHOLE_CPU_MB, layers=self._layers.embedding
        )
        self.tables.grant(embed.role, self.tables.sessions, READS)
        self.tables.grant_jobs(embed.role)
        self.tables.grant_usage(embed.role)
        self.tables.grant(embed.role, self.tables.memories, READS, ["dynamodb:UpdateItem"])
        self.search.grant(embed.role, makes_indexes=True)
        self._have_embedded(embed.serving)

    def _have_embedded(self, embed: lambda_.IFunction | None) -> None:
        """Let the function `sessions` ask `embed` for vectors. `sessions` itself contains no model
        and may read no key, because every turn calls it.
        """
        sessions = self.functions["sessions"]
        sessions.function.add_environment("EMBED_FUNCTION", embed.function_name if embed else "")
        if embed:
            arns = [embed.function_arn]
            iam.Grant.add_to_principal(
                grantee=sessions.role, actions=["lambda:InvokeFunction"], resource_arns=arns
            )

    def _add_reindex(self) -> None:
        """Add the function that rebuilds the search index of all tenants. Only this function may
        scan the lists of owners.
        """
        reindex = self._worker("reindex", *INDEXED, memory_mb=1024, layers=self._layers.embedding)
        self.tables.grant(reindex.role, self.tables.sessions, READS, WRITES, indexes=["by_owner"])
        self.tables.grant(
            reindex.role,
            self.tables.memories,
            READS,
            ["dynamodb:UpdateItem"],
            indexes=["by_created"],
        )
        self.tables.grant_scan(reindex.role, self.tables.sessions, "by_user")
        self.tables.grant_scan(reindex.role, self.tables.memories, "by_tenant")
        self.search.grant(reindex.role, makes_indexes=True)

    def _add_dispatch(self) -> None:
        queues = self._queues_by_name
        dispatch = self._function(
            "dispatch",
            *_urls(queues),
            "SESSIONS_TABLE",
            "EVENT_BUS",
            SHARE,
            seconds=30,
            memory_mb=512,
        )
        self.bus.grant_put_events_to(dispatch.role)
        self.tables.grant_usage(dispatch.role)
        self.tables.grant_shares(dispatch.role)
        self.tables.grant_reading_jobs(dispatch.role)
        for queue in queues.values():
            self.queues.grant_send(queue, dispatch.role)
        self._receive(dispatch, self.queues.events, UNTOLD)
        # Without an index, new messages are followed for their counts, and memories for events
        # alone (docs/adr/0036, 0038).
        searched = bool(self.search.url)
        messages = [NEW_MESSAGES, GONE_MESSAGES] if searched else [NEW_MESSAGES]
        changes = [NEW_JOBS, FAILED_JOBS, NEW_COMPACTIONS, *messages]
        follow(self.tables.sessions, dispatch.serving, filters=changes, parked=self.queues.parked)
        changes = [CHANGED_RECORDS if searched else NEW_RECORDS, GONE_RECORDS, MOVED_POINTERS]
        follow(self.tables.memories, dispatch.serving, filters=changes, parked=self.queues.parked)
        accept(
            dispatch.role,
            "IAM5[Resource::*]",
            because="Lambda lists streams, by name, to find the table's own.",
        )

    def _worker(
        self,
        name: str,
        *variables: str,
        memory_mb: int,
        layers: Sequence[lambda_.ILayerVersion] = (),
    ) -> PythonFunction:
        """Return a function that processes the messages of the queue with its name."""
        queue, line = self.queues.of[name], self._lines[name]
        names = dict.fromkeys(
            (*variables, *_urls({name: queue}), *([SHARE] if name in LINES else []))
        )
        lets_in = name in LINES  # the end of a job lets in the next job of its tenant
        worker = self._function(
            name,
            *names,
            seconds=line.seconds,
            memory_mb=memory_mb,
            layers=layers,
            sends_to_itself=lets_in,
        )
        self.queues.grant_back_off(queue, worker.role)
        if lets_in:
            self.queues.grant_send(queue, worker.role)
            self.tables.grant_shares(worker.role)
        self._receive(worker, queue, line)
        return worker

    def _receive(self, worker: PythonFunction, queue: sqs.Queue, line: Line) -> None:
        """Let the function receive the messages of the queue."""
        worker.serving.add_event_source(
            sources.SqsEventSource(
                queue, batch_size=line.batch, report_batch_item_failures=True,
                max_concurrency=self._stage.sizes.worker_concurrency,
            )
        )  # fmt: skip

    def _grant_openai_key(self, reader: iam.IGrantable) -> None:
        arn = self.format_arn(
            service="ssm", resource="parameter", resource_name=self.key_parameter.removeprefix("/")
        )
        iam.Grant.add_to_principal(
            grantee=reader, actions=["ssm:GetParameter"], resource_arns=[arn]
        )
        if self._key is not None:
            self._key.grant_decrypt(reader)

    def _watch(self) -> None:
        monitoring = Monitoring(self, stage=self._stage, choices=self._choices, key=self._key)
        monitoring.watch_api(self.front.api)
        functions = {name: function.function for name, function in self.functions.items()}
        monitoring.watch_functions(functions)
        monitoring.watch_stream(functions["dispatch"])
        monitoring.watch_queues(self.queues)
        monitoring.watch_tables(self.tables)
        if self.search.domain is not None:
            monitoring.watch_domain(self.search.domain_name, volume_gb=self._stage.domain.volume_gb)
        if self._choices.has_canary and self._stage.is_on_aws:
            alarms = [monitoring.alarms[name] for name in GOES_BACK_ON]
            Canary(self, functions=dict(self.functions), smoke=self._smoke(), alarms=alarms)

    def _smoke(self) -> PythonFunction:
        """Return the function that asks each new version once. It needs no library of ours."""
        return PythonFunction(
            self,
            "smoke",
            stage=self._stage,
            layers=(),
            timeout_seconds=60,
            memory_mb=256,
            environment={},
            key=self._key,
            sends_to_itself=False,
            has_alias=False,
        )

    def _add_outputs(self) -> None:
        """Write the outputs, which callers, operators and tests need to know about a deployed
        stack.
        """
        outputs = {
            "Choices": self._flags,
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
        }
        if not self._choices.bedrock.chats:
            outputs["OpenAiKeyParameter"] = self.key_parameter
        outputs |= {
            f"{name.capitalize()}QueueUrl": queue.queue_url
            for name, queue in self.queues.of.items()
        }
        outputs |= {
            f"{name.capitalize()}Function": function.serving.function_name
            for name, function in self.functions.items()
        }
        if self.front.domain is not None:
            outputs["DomainTarget"] = self.front.domain.regional_domain_name
        if self._key is not None:
            outputs["KeyArn"] = self._key.key_arn
        for name, value in outputs.items():
            CfnOutput(self, name, value=value)


def _urls(queues: Mapping[str, sqs.Queue]) -> dict[str, str]:
    """Return the environment variables that hold the addresses of those queues."""
    return {f"{name.upper()}_QUEUE_URL": queue.queue_url for name, queue in queues.items()}

"""The commands that operate a stack, on a double of AWS on loopback."""

import argparse
import json
import os
import re
import shlex
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import boto3
import pytest
from botocore.exceptions import ClientError
from moto.moto_server.threaded_moto_server import ThreadedMotoServer
from palimpsest.clock import SystemClock
from palimpsest.engines.dynamodb.jobs import DynamoDbJobs
from palimpsest.engines.dynamodb.tenants import DynamoDbTenants
from palimpsest.errors import InvalidKey
from palimpsest.jobs.job import JobState, on_user
from palimpsest.jobs.kinds import JobKind
from palimpsest.scope import OPERATOR, Scope
from palimpsest.search.payloads import ReindexPayload
from palimpsest.search.rebuild import OWNER
from palimpsest.settings import DispatchSettings
from palimpsest.tenants.authorize import Authorize
from palimpsest.tenants.settings import SecretsRule, TenantSettings
from palimpsest.wiring.workers import queue_urls

from infra import paths
from infra.config import TABLES as STATEFUL
from infra.config import stage_named
from infra.local import __main__ as local_stack
from infra.local import logs, ministack, saved_state
from infra.local.processes import CannotRun
from infra.operate import api_keys, manifest, openai_key, restore, secrets_rule, service, target
from infra.operate.api_keys import ApiKeys, key_id
from infra.operate.manifest import TABLES, Comparison
from infra.operate.redrive import QUEUE_OF_KIND, Redrive
from infra.operate.reindex import Reindex, follow
from infra.operate.restore import Restore
from infra.operate.secrets_rule import RULES, SecretsRules
from infra.operate.target import REGION, Target
from tests.contract.tables import sessions_table, tenants_table
from tests.documents import aws_commands
from tests.engines.loopback import HOST, free_port

JOB = "job_4c2f9a7de0b14c55a3b1f0c2d6e89a70"
NOTICE = {"tenant": "acme", "job_id": JOB, "kind": "summarize"}


@pytest.fixture(scope="module")
def place() -> Iterator[Target]:
    server = ThreadedMotoServer(ip_address=HOST, port=free_port())
    server.start()
    try:
        yield Target(
            "Palimpsest-test",
            boto3.Session(region_name=REGION),
            f"http://{HOST}:{server.get_host_and_port()[1]}",
        )
    finally:
        server.stop()


# Restoring


SET = [{"Key": "stage", "Value": "test"}]
OF_AWS = [{"Key": "aws:cloudformation:stack-name", "Value": "Palimpsest-test"}]
"""Tags of a table: those that anybody may set, and those that AWS alone sets."""


@pytest.fixture
def tables(place: Target) -> dict[str, str]:
    """The tables of a stack by the outputs that name them, with backups and one item each."""
    client = place.client("dynamodb")
    made = {}
    for output in TABLES:
        made[output] = sessions_table(place.endpoint)
        client.update_continuous_backups(
            TableName=made[output],
            PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
        )
        client.put_item(TableName=made[output], Item={"pk": {"S": output}, "sk": {"S": "x"}})
        table = client.update_table(TableName=made[output], DeletionProtectionEnabled=True)
        arn = table["TableDescription"]["TableArn"]
        client.tag_resource(ResourceArn=arn, Tags=[*SET, *OF_AWS])
    return made


def test_all_tables_are_restored_to_one_second_beside_those_in_use(
    place: Target, tables: dict[str, str]
) -> None:
    restore = Restore(place, tables)
    made = restore(moment := restore.moment(None))
    assert made == {name: f"{name}-restored-{moment:%Y%m%d%H%M%S}" for name in tables.values()}
    client = place.client("dynamodb")
    for output, name in tables.items():
        assert [item["pk"]["S"] for item in client.scan(TableName=made[name])["Items"]] == [output]
        assert client.scan(TableName=name)["Count"] == 1
        new, old = (client.describe_table(TableName=each)["Table"] for each in (made[name], name))
        assert new.get("StreamSpecification") == old.get("StreamSpecification")
        expiry = [
            client.describe_time_to_live(TableName=each)["TimeToLiveDescription"]
            for each in (made[name], name)
        ]
        assert expiry[0] == expiry[1]
        backups = client.describe_continuous_backups(TableName=made[name])[
            "ContinuousBackupsDescription"
        ]
        assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
        assert new["DeletionProtectionEnabled"] is True
        assert client.list_tags_of_resource(ResourceArn=new["TableArn"])["Tags"] == SET
    assert restore(moment) == made  # what an interrupted command has begun is no obstacle


def test_nothing_is_restored_if_one_table_can_not_be(place: Target, tables: dict[str, str]) -> None:
    client = place.client("dynamodb")
    restore = Restore(place, tables)
    with pytest.raises(SystemExit, match="can be restored from"):
        restore.moment(datetime(2020, 1, 1, tzinfo=UTC))
    client.update_continuous_backups(
        TableName=tables["MemoriesTable"],
        PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False},
    )
    with pytest.raises(SystemExit, match="has no backups"):
        restore.moment(None)
    assert not [
        name
        for name in client.list_tables()["TableNames"]
        if name.startswith(tables["MemoriesTable"] + "-")
    ]


@dataclass(frozen=True, slots=True)
class Deployed:
    """A stack with those outputs, for commands that read them."""

    place: Target
    tables: Mapping[str, str]
    endpoint: str | None = "http://127.0.0.1"
    stack: str = "Palimpsest-test"

    def outputs(self) -> Mapping[str, str]:
        return self.tables

    def client(self, service: str) -> Any:
        return self.place.client(service)


def test_every_row_is_compared_with_the_manifest_before_a_table_serves(
    place: Target,
    tables: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    client, file = place.client("dynamodb"), tmp_path / "rows"
    more = {"pk": {"S": "y"}, "sk": {"S": "x"}, "tags": {"SS": ["b", "a"]}, "size": {"N": "7"}}
    client.put_item(TableName=tables["SessionsTable"], Item=more)
    manifest.write(manifest.of_tables(client, tables), file)
    kept = manifest.read(file)
    assert kept == manifest.of_tables(client, tables)
    assert "Sessions" not in "".join(kept["SessionsTable"])
    client.put_item(TableName=tables["SessionsTable"], Item={**more, "size": {"N": "8"}})
    client.delete_item(
        TableName=tables["MemoriesTable"], Key={"pk": {"S": "MemoriesTable"}, "sk": {"S": "x"}}
    )
    found = manifest.of_tables(client, tables)
    comparisons = [manifest.compared(kept[output], found[output]) for output in TABLES]
    assert comparisons == [
        Comparison(1, 0, 0, 0), Comparison(1, 1, 0, 0), Comparison(0, 0, 1, 0),
    ]  # fmt: skip
    deployed = Deployed(place, tables)
    monkeypatch.setattr(target, "chosen", lambda _: deployed)
    with pytest.raises(SystemExit, match="do not serve"):
        restore.main(["--at", "latest", "--manifest", str(file)])
    assert "1 differ" in capsys.readouterr().out
    (tmp_path / "none").write_bytes(b"no manifest")
    with pytest.raises(SystemExit, match="is not a manifest"):
        manifest.read(tmp_path / "none")


# Serving restored tables


CDK = """#!{python}
# Deploys like the CDK's command line: the stack serves the tables that the context names, or its own.
import json, pathlib, sys
import boto3

folder = pathlib.Path("{folder}")
(folder / "call").write_text(json.dumps(sys.argv[1:]))
template = json.loads((folder / "template.json").read_text())
for name, table in json.loads((folder / "cdk.context.json").read_text()).get("tables:prod", {{}}).items():
    template["Outputs"][name + "Table"]["Value"] = table["name"]
boto3.client("cloudformation").update_stack(StackName=sys.argv[2], TemplateBody=json.dumps(template))
"""
PROD = "Palimpsest-prod"
CHOSEN = "-c alarm_email=ops@example.com -c search=dynamodb -c stage=prod"


def template(choices: str | None) -> dict[str, Any]:
    """A stack of three protected tables whose last deployment made those choices."""
    keys = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
    table = {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {
            "KeySchema": keys,
            "AttributeDefinitions": [
                {"AttributeName": key["AttributeName"], "AttributeType": "S"} for key in keys
            ],
            "BillingMode": "PAY_PER_REQUEST",
            "StreamSpecification": {"StreamViewType": "NEW_AND_OLD_IMAGES"},
            "DeletionProtectionEnabled": True,
            "Tags": [{"Key": key, "Value": value} for key, value in TAGS.items()],
        },
    }
    outputs: dict[str, Any] = {
        f"{name}Table": {"Value": {"Ref": f"Tables{name}"}} for name in STATEFUL
    }
    if choices is not None:
        outputs["Choices"] = {"Value": choices}
    return {"Resources": {f"Tables{name}": table for name in STATEFUL}, "Outputs": outputs}


TAGS = {"service": "palimpsest", "stage": "prod"}


@dataclass(frozen=True, slots=True)
class OnAws:
    """A deployed stack, the folder of the project that deploys it, and the CDK's command line."""

    place: Target
    folder: Path

    def call_aws(self, command: str) -> Any:
        """Make the call that a command of AWS's command line makes."""
        call = aws_commands.read(shlex.split(command))
        return getattr(self.place.client(call.service), call.method)(**call.parameters)

    def make(self, *, choices: str | None) -> None:
        body = template(choices)
        (self.folder / "template.json").write_text(json.dumps(body))
        self.place.client("cloudformation").create_stack(
            StackName=PROD,
            TemplateBody=json.dumps(body),
            Tags=[{"Key": "team", "Value": "support"}],
        )
        backups = {"PointInTimeRecoveryEnabled": True}
        for table in self.tables.values():
            self.place.client("dynamodb").update_continuous_backups(
                TableName=table, PointInTimeRecoverySpecification=backups
            )

    @property
    def tables(self) -> dict[str, str]:
        """The tables that serve, by the outputs that name them."""
        outputs = replace(self.place, stack=PROD).outputs()
        return {name: outputs[name] for name in TABLES}

    @property
    def call(self) -> list[str]:
        """How the CDK was called last."""
        words: list[str] = json.loads((self.folder / "call").read_text())
        return words

    @property
    def context(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.folder / "cdk.context.json").read_text())
        return content


@pytest.fixture
def on_aws(place: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OnAws]:
    cdk = tmp_path / "cdk"
    cdk.write_text(CDK.format(python=sys.executable, folder=tmp_path))
    cdk.chmod(0o700)
    (tmp_path / "cdk.context.json").write_text('{"tables:dev": {}}')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("AWS_ENDPOINT_URL", str(place.endpoint))
    monkeypatch.setenv("AWS_REGION", REGION)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setattr(service, "context_file", lambda _: tmp_path / "cdk.context.json")
    yield OnAws(place, tmp_path)
    dynamodb = place.client("dynamodb")
    for table in dynamodb.list_tables()["TableNames"]:
        if table.startswith(PROD):
            dynamodb.update_table(TableName=table, DeletionProtectionEnabled=False)
    place.client("cloudformation").delete_stack(StackName=PROD)


def test_tables_are_restored_into_service_by_a_deployment_like_the_last_one(
    on_aws: OnAws, capsys: pytest.CaptureFixture[str]
) -> None:
    on_aws.make(choices=CHOSEN)
    own = on_aws.tables
    restore.main(["--stack", PROD, "--at", "latest", "-c", "alarm_email=night@example.com"])
    assert on_aws.call == [
        "deploy", PROD, "--require-approval", "never",
        "-c", "alarm_email=night@example.com", "-c", "search=dynamodb", "-c", "stage=prod",
        "--tags", "team=support",
    ]  # fmt: skip
    for output, table in on_aws.tables.items():
        assert table.startswith(f"{own[output]}-restored-")
    assert set(on_aws.context) == {"tables:dev", "tables:prod"}
    restored = stage_named("prod", on_aws.context.get).restored
    assert {f"{name}Table": table.name for name, table in restored.items()} == on_aws.tables
    assert "/stream/" in restored["Sessions"].stream
    assert restored["Tenants"].stream == ""
    assert capsys.readouterr().out.count("rows as in the table in use, 0 differ") == 3

    restore.main(["--stack", PROD, "--undo"])
    assert (on_aws.tables, set(on_aws.context)) == (own, {"tables:dev"})


def test_a_stack_that_does_not_say_its_choices_is_not_deployed_without_them(on_aws: OnAws) -> None:
    on_aws.make(choices=None)
    with pytest.raises(SystemExit, match="Repeat the choices of its last deployment with -c"):
        restore.main(["--stack", PROD, "--at", "latest"])
    assert set(on_aws.context) == {"tables:dev"}
    restore.main(["--stack", PROD, "--undo", "-c", "search=none"])
    assert on_aws.call[4:8] == ["-c", "search=none", "-c", "stage=prod"]


def test_a_deployment_after_which_other_tables_serve_is_said(on_aws: OnAws) -> None:
    on_aws.make(choices=CHOSEN)
    deployed, tables = replace(on_aws.place, stack=PROD, endpoint=None), on_aws.tables
    (on_aws.folder / "cdk").write_text("#!/bin/sh\n")
    with pytest.raises(SystemExit, match="still serves other tables: SessionsTable"):
        service.put(deployed, {**tables, "SessionsTable": tables["MemoriesTable"]}, context=[])


def test_the_page_says_how_to_remove_tables_outside_the_stack(
    on_aws: OnAws, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that were restored, and those that a failed first deployment leaves, are protected."""
    on_aws.make(choices=CHOSEN)
    restore.main(["--stack", PROD, "--at", "latest", "--only-tables"])
    left = [line.partition(" -> ")[2] for line in capsys.readouterr().out.splitlines()]
    (_, _, table) = sorted(filter(None, left))
    dynamodb = on_aws.place.client("dynamodb")
    with pytest.raises(ClientError, match="DeletionProtection"):
        dynamodb.delete_table(TableName=table)
    page = (paths.PROJECT / "docs" / "deploy.md").read_text(encoding="utf-8")
    look, *removing = re.findall(r"^aws ((?:resourcegroups|dynamodb).+)$", page, re.MULTILINE)
    found = on_aws.call_aws(look)["ResourceTagMappingList"]
    assert table in {tagged["ResourceARN"].rpartition("/")[2] for tagged in found}
    for command in removing:
        on_aws.call_aws(command.replace("NAME", table))
    assert table not in dynamodb.list_tables()["TableNames"]


def test_a_command_works_in_the_region_that_the_cdk_deploys_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """boto3 does not read this variable by itself."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    arguments = argparse.Namespace(stack=PROD)
    assert target.chosen(arguments).session.region_name == "eu-west-1"
    monkeypatch.delenv("AWS_REGION")
    assert target.chosen(arguments).session.region_name == "us-east-1"


# API keys


@dataclass(frozen=True, slots=True)
class KeyRing:
    keys: ApiKeys
    authorize: Authorize


@pytest.fixture
def ring(place: Target) -> KeyRing:
    table = tenants_table(place.endpoint)
    tenants = DynamoDbTenants(table, region="us-east-1", endpoint=place.endpoint)
    return KeyRing(ApiKeys(place, table), Authorize(tenants, SystemClock()))


def test_a_created_key_lets_its_tenant_in(ring: KeyRing) -> None:
    secret = ring.keys.create("acme", scopes=("read", "admin"), label="laptop")
    found = ring.authorize(f"Bearer {secret}")
    assert (found.tenant, found.scopes, found.expires_at) == (
        "acme",
        frozenset({"read", "admin"}),
        None,
    )
    assert ring.keys.works(secret)


@pytest.mark.parametrize("naming", [key_id, lambda secret: key_id(secret)[:12], lambda _: "phone"])
def test_a_key_is_revoked_by_its_id_the_beginning_of_it_or_its_label(
    ring: KeyRing, naming: Callable[[str], str]
) -> None:
    kept = ring.keys.create("acme", scopes=("read",), label="laptop")
    lost = ring.keys.create("acme", scopes=("read",), label="phone")
    revoke(ring, naming(lost))
    assert (ring.keys.works(kept), ring.keys.works(lost)) == (True, False)


@pytest.mark.parametrize("text", ["desk", "", "0 no such id"])
def test_what_means_several_keys_or_none_revokes_nothing_and_says_so(
    ring: KeyRing, text: str
) -> None:
    secrets = [ring.keys.create("acme", scopes=("read",), label="desk") for _ in range(2)]
    with pytest.raises(
        SystemExit, match=r"means 2 keys; nothing was revoked|There is no unrevoked key"
    ):
        revoke(ring, text)
    assert all(ring.keys.works(secret) for secret in secrets)


def revoke(ring: KeyRing, text: str) -> None:
    """`make api-key ARGS="revoke …"`."""
    parsed = api_keys.parser().parse_args(["revoke", text])
    parsed.run(ring.keys, parsed)


def test_a_key_that_the_table_lost_can_be_stored_again(ring: KeyRing) -> None:
    lost = "pal_" + "x" * 43
    assert not ring.keys.knows(lost)
    assert ring.keys.create("acme", scopes=("read",), secret=lost) == lost
    assert ring.keys.works(lost)
    ring.keys.revoke(key_id(lost))
    assert (ring.keys.knows(lost), ring.keys.works(lost)) == (True, False)


def test_only_the_hash_of_a_key_is_stored(ring: KeyRing) -> None:
    secret = ring.keys.create("acme", scopes=("read",))
    (stored,) = ring.keys.list("acme")
    assert stored.id == key_id(secret)
    assert secret not in repr(stored)


def test_a_revoked_key_lets_nobody_in(ring: KeyRing) -> None:
    secret = ring.keys.create("acme", scopes=("read",))
    assert ring.keys.revoke(key_id(secret))
    with pytest.raises(InvalidKey):
        ring.authorize(f"Bearer {secret}")
    assert not ring.keys.works(secret)


def test_revoking_a_key_that_is_none_makes_none(ring: KeyRing) -> None:
    assert not ring.keys.revoke("0" * 64)
    assert list(ring.keys.list()) == []


def test_an_expired_key_lets_nobody_in(ring: KeyRing) -> None:
    secret = ring.keys.create("acme", scopes=("read",), expires_days=-1)
    with pytest.raises(InvalidKey):
        ring.authorize(f"Bearer {secret}")
    assert not ring.keys.works(secret)


def test_a_tenant_sees_its_own_keys(ring: KeyRing) -> None:
    for tenant in ("acme", "acme", "other"):
        ring.keys.create(tenant, scopes=("read",))
    assert len(list(ring.keys.list("acme"))) == 2
    assert len(list(ring.keys.list())) == 3


@pytest.mark.parametrize("tenant", [OPERATOR, "..", "a#b", ""])
def test_a_name_that_no_tenant_can_have_gets_no_key(tenant: str) -> None:
    with pytest.raises(SystemExit):
        api_keys.main(["create", "--tenant", tenant])


# Secrets in messages


@dataclass(frozen=True, slots=True)
class SecretsOf:
    rules: SecretsRules
    tenants: DynamoDbTenants

    @property
    def stored(self) -> TenantSettings:
        return self.tenants.settings(Scope("acme"))


@pytest.fixture
def secrets_of(place: Target) -> SecretsOf:
    table = tenants_table(place.endpoint)
    tenants = DynamoDbTenants(table, region="us-east-1", endpoint=place.endpoint)
    return SecretsOf(SecretsRules(place, table), tenants)


@pytest.mark.parametrize("rule", get_args(SecretsRule))
def test_the_rule_of_a_tenant_without_settings_leaves_the_others_as_they_are_built_in(
    secrets_of: SecretsOf, rule: SecretsRule
) -> None:
    assert secrets_of.rules.of("acme") == secrets_of.stored.secrets
    secrets_of.rules.set("acme", rule)
    assert secrets_of.stored == replace(TenantSettings(), secrets=rule)
    assert secrets_of.rules.of("acme") == rule


def test_the_rule_of_a_tenant_with_settings_leaves_the_others(secrets_of: SecretsOf) -> None:
    own = TenantSettings(memory={"max_tokens": 9_000}, retention_days=None, memory_days=7)
    secrets_of.tenants.replace_settings(Scope("acme"), own)
    secrets_of.rules.set("acme", "refuse")
    assert secrets_of.stored == replace(own, secrets="refuse")


def test_every_rule_of_the_service_can_be_set_and_no_other() -> None:
    assert get_args(SecretsRule) == RULES
    with pytest.raises(SystemExit):
        secrets_rule.main(["--tenant", "acme", "--set", "shout"])


# Reindex


class Begun(Reindex):
    """Of a job that was begun already: no function has to be invoked."""

    def start(self) -> dict[str, Any]:
        return {"tenant": OPERATOR, "job_id": JOB, "is_new": False}


@pytest.mark.parametrize(("state", "is_done"), [("done", True), ("failed", False)])
def test_a_reindexing_is_followed_to_its_end(
    place: Target, state: JobState, *, is_done: bool
) -> None:
    table = sessions_table(place.endpoint)
    jobs = DynamoDbJobs(table, region="us-east-1", endpoint=place.endpoint)
    job = replace(on_user(OWNER, kind="reindex", epoch=0, payload=ReindexPayload(), now=1), id=JOB)
    jobs.put(job)
    moves: list[dict[str, Any]] = [
        {"state": "running", "result": {"indexed": 50, "left_out": 0}},
        {"state": "running", "result": {"indexed": 50, "left_out": 0}},
        {"state": "running", "result": {"indexed": 50, "left_out": 0}, "error": "unavailable"},
        {"state": state, "result": {"indexed": 70, "left_out": 2}},
    ]
    said: list[str] = []
    outputs = {"ReindexFunction": "reindex", "SessionsTable": table}
    ended = follow(
        Begun(place, outputs),
        say=said.append,
        pause=lambda _: jobs.finish(replace(job, **moves.pop(0))),
    )
    assert (ended, moves) == (is_done, [])
    assert said[:4] == [
        f"already running: {JOB}",
        "pending: 0 indexed",
        "running: 50 indexed",
        "running: 50 indexed; unavailable",
    ]
    assert said[4].startswith(f"{state}: 70 indexed, 2 more by their words alone")


def test_a_stack_without_search_has_nothing_to_build_anew(place: Target) -> None:
    with pytest.raises(SystemExit, match="no search index"):
        Reindex(place, {"SessionsTable": "sessions"})


# Redrive


@dataclass(frozen=True, slots=True)
class Queues:
    """Fresh queues and a fresh table, named as a stack's outputs name them."""

    outputs: dict[str, str]
    sqs: Any
    dynamodb: Any

    def send(self, output: str, body: dict[str, Any] | str) -> None:
        text = body if isinstance(body, str) else json.dumps(body)
        self.sqs.send_message(QueueUrl=self.outputs[output], MessageBody=text)

    def groups(self, output: str) -> list[str | None]:
        """The message group of each message that is received."""
        answer = self.sqs.receive_message(
            QueueUrl=self.outputs[output],
            MaxNumberOfMessages=10,
            AttributeNames=["All"],
            VisibilityTimeout=0,
        )
        return [
            message["Attributes"].get("MessageGroupId") for message in answer.get("Messages", ())
        ]

    def bodies(self, output: str) -> list[dict[str, Any]]:
        answer = self.sqs.receive_message(QueueUrl=self.outputs[output], MaxNumberOfMessages=10)
        return [json.loads(message["Body"]) for message in answer.get("Messages", ())]

    def waiting(self, output: str) -> int:
        """Messages in the queue, also those that are hidden."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.sqs.get_queue_attributes(QueueUrl=self.outputs[output], AttributeNames=names)[
            "Attributes"
        ]
        return sum(map(int, found.values()))

    def put_job(self, kind: str, state: str = "pending", name: str = JOB) -> dict[str, Any]:
        key = {"pk": {"S": f"acme#job#{name}"}, "sk": {"S": "job"}}
        item = {**key, "type": {"S": "job"}, "kind": {"S": kind}, "state": {"S": state}}
        self.dynamodb.put_item(TableName=self.outputs["SessionsTable"], Item=item)
        return key


@pytest.fixture
def queues(place: Target) -> Queues:
    sqs, table = place.client("sqs"), sessions_table(place.endpoint)
    names = [
        "ParkedQueueUrl",
        "DeadLettersUrl",
        *(f"{name}QueueUrl" for name in ("Summarize", "Sweep", "Embed", "Events")),
    ]
    urls = {name: sqs.create_queue(QueueName=f"{table}-{name}")["QueueUrl"] for name in names}
    return Queues({**urls, "SessionsTable": table}, sqs, place.client("dynamodb"))


RECORD = {"tenant": "acme", "user": "sarah", "record_id": "mem_1"}
MESSAGE = {"tenant": "acme", "session": "onboarding-7", "seq": 12}
REDACTED = {"tenant": "acme", "job_id": "job_7"}
EVENT = {
    "name": "MemoryCreated",
    "tenant": "acme",
    "ids": {"user_id": "sarah", "memory_id": "mem_1"},
}


def test_dead_letters_go_back_to_the_queue_they_are_for(place: Target, queues: Queues) -> None:
    for number in range(12):
        queues.send("DeadLettersUrl", {**NOTICE, "job_id": f"job_{number}"})
    for other in (RECORD, MESSAGE, REDACTED, EVENT):
        queues.send("DeadLettersUrl", other)
    assert Redrive(place, queues.outputs).dead_letters() == (
        {"Summarize": 12, "Embed": 3, "Events": 1},
        [],
    )
    assert queues.waiting("DeadLettersUrl") == queues.waiting("SweepQueueUrl") == 0
    assert queues.waiting("SummarizeQueueUrl") == 12
    assert (
        set(queues.groups("SummarizeQueueUrl")) == set(queues.groups("EmbedQueueUrl")) == {"acme"}
    )
    assert {frozenset(body) for body in queues.bodies("EmbedQueueUrl")} == {
        frozenset(each) for each in (RECORD, MESSAGE, REDACTED)
    }


@pytest.mark.parametrize(
    "body", ["not JSON", "[]", "7", {"kind": "unknown"}, {"kind": ["summarize"]}, {"seq": 1}]
)
def test_a_dead_letter_that_no_queue_is_for_stays(
    place: Target, queues: Queues, body: dict[str, Any] | str
) -> None:
    queues.send("DeadLettersUrl", body)
    moved, stay = Redrive(place, queues.outputs).dead_letters()
    assert (moved, len(stay)) == ({}, 1)
    assert queues.waiting("DeadLettersUrl") == 1


@pytest.mark.parametrize("tenant", [None, 7, "", "two words", "x" * 129])
def test_a_dead_letter_whose_tenant_is_no_group_goes_back_without_one(
    place: Target, queues: Queues, tenant: object
) -> None:
    queues.send("DeadLettersUrl", {**NOTICE, "tenant": tenant})
    assert Redrive(place, queues.outputs).dead_letters() == ({"Summarize": 1}, [])
    assert queues.groups("SummarizeQueueUrl") == [None]


@pytest.mark.parametrize(
    ("kind", "queue"), [("summarize", "Summarize"), ("delete", "Sweep"), ("withdraw", "Sweep")]
)
def test_a_parked_record_starts_its_job(
    place: Target, queues: Queues, kind: str, queue: str
) -> None:
    queues.send("ParkedQueueUrl", {"event_id": "1", "keys": queues.put_job(kind)})
    assert Redrive(place, queues.outputs).parked() == (1, [])
    assert queues.groups(f"{queue}QueueUrl") == ["acme"]
    assert queues.bodies(f"{queue}QueueUrl") == [{**NOTICE, "kind": kind}]
    assert queues.waiting("ParkedQueueUrl") == 0


@pytest.mark.parametrize(
    ("owner", "name", "change"),
    [("acme#sarah", "r#mem_1", RECORD), ("acme#onboarding-7", "m#000000000012", MESSAGE)],
    ids=["record", "message"],
)
def test_a_parked_change_reaches_the_index_again(
    place: Target, queues: Queues, owner: str, name: str, change: dict[str, Any]
) -> None:
    queues.send(
        "ParkedQueueUrl", {"event_id": "1", "keys": {"pk": {"S": owner}, "sk": {"S": name}}}
    )
    assert Redrive(place, queues.outputs).parked() == (1, [])
    assert queues.bodies("EmbedQueueUrl") == [change]


@pytest.mark.parametrize("name", ["head", "settings", "c#000000000012", "t#city"])
def test_a_parked_item_that_stands_for_no_work_is_let_go(
    place: Target, queues: Queues, name: str
) -> None:
    queues.send(
        "ParkedQueueUrl", {"event_id": "1", "keys": {"pk": {"S": "acme#sarah"}, "sk": {"S": name}}}
    )
    assert Redrive(place, queues.outputs).parked() == (0, [])
    assert queues.waiting("ParkedQueueUrl") == 0


def test_a_parked_change_is_nothing_to_a_stack_without_search(
    place: Target, queues: Queues
) -> None:
    outputs = {name: value for name, value in queues.outputs.items() if name != "EmbedQueueUrl"}
    queues.send(
        "ParkedQueueUrl",
        {"event_id": "1", "keys": {"pk": {"S": "acme#sarah"}, "sk": {"S": "r#mem_1"}}},
    )
    assert Redrive(place, outputs).parked() == (0, [])


def test_a_parked_batch_starts_the_jobs_it_holds(place: Target, queues: Queues) -> None:
    queues.put_job("summarize")
    queues.send("ParkedQueueUrl", {"DDBStreamBatchInfo": batch(place, queues)})
    assert Redrive(place, queues.outputs).parked() == (1, [])
    assert queues.bodies("SummarizeQueueUrl") == [NOTICE]


class OneByOne:
    """A stream of large records: each answer holds one of them."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.exceptions, self.get_shard_iterator = stream.exceptions, stream.get_shard_iterator

    def get_records(self, **asked: Any) -> Any:
        return self._stream.get_records(**asked, Limit=1)


def test_a_parked_batch_is_read_to_its_end_however_many_answers_that_takes(
    place: Target, queues: Queues
) -> None:
    jobs = [f"job_{number}" for number in range(4)]
    for name in jobs[:3]:
        queues.put_job("summarize", name=name)
    parked = batch(place, queues)
    queues.put_job("summarize", name=jobs[3])  # comes after the batch
    queues.send("ParkedQueueUrl", {"DDBStreamBatchInfo": parked})
    redrive = Redrive(place, queues.outputs)
    redrive._stream = OneByOne(redrive._stream)
    assert redrive.parked() == (3, [])
    assert sorted(body["job_id"] for body in queues.bodies("SummarizeQueueUrl")) == jobs[:3]


def batch(place: Target, queues: Queues) -> dict[str, Any]:
    """What Lambda parks of a batch that it gave up: where it stands in the stream, and no
    record.
    """
    table = queues.dynamodb.describe_table(TableName=queues.outputs["SessionsTable"])["Table"]
    streams = place.client("dynamodbstreams")
    arn = table["LatestStreamArn"]
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    begin = streams.get_shard_iterator(
        StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
    )
    records = streams.get_records(ShardIterator=begin["ShardIterator"])["Records"]
    first, last = (records[place]["dynamodb"]["SequenceNumber"] for place in (0, -1))
    return {
        "streamArn": arn,
        "shardId": shard["ShardId"],
        "startSequenceNumber": first,
        "endSequenceNumber": last,
        "batchSize": len(records),
    }


def test_a_parked_job_that_has_ended_is_not_started_again(place: Target, queues: Queues) -> None:
    queues.send(
        "ParkedQueueUrl", {"event_id": "1", "keys": queues.put_job("summarize", state="done")}
    )
    assert Redrive(place, queues.outputs).parked() == (0, [])
    assert queues.waiting("ParkedQueueUrl") == queues.waiting("SummarizeQueueUrl") == 0


@pytest.mark.parametrize("body", ["not JSON", "[]", {"event_id": "1", "keys": None}])
def test_a_parked_message_that_names_no_job_stays(
    place: Target, queues: Queues, body: dict[str, Any] | str
) -> None:
    queues.send("ParkedQueueUrl", body)
    started, stay = Redrive(place, queues.outputs).parked()
    assert (started, len(stay)) == (0, 1)
    assert queues.waiting("ParkedQueueUrl") == 1


def test_redriven_jobs_go_where_the_dispatcher_sends_new_ones() -> None:
    names = {
        name.upper(): name for name in DispatchSettings.model_fields if name.endswith("_queue_url")
    }
    told = DispatchSettings.read(
        {
            "STAGE": "test",
            "POWERTOOLS_SERVICE_NAME": "palimpsest",
            "EVENT_BUS": "bus",
            "SESSIONS_TABLE": "sessions",
            **names,
        }
    )
    sent = {
        kind: url.removesuffix("_queue_url").capitalize() for kind, url in queue_urls(told).items()
    }
    assert sent == QUEUE_OF_KIND
    assert set(sent) == set(get_args(JobKind))


# The OpenAI key, and starting


def test_a_stack_with_bedrocks_models_takes_no_key(place: Target) -> None:
    openai_key.store(place, {}, "")
    with pytest.raises(SystemExit, match="Bedrock"):
        openai_key.store(place, {}, "sk-made-up")


def test_the_openai_key_is_stored_encrypted_and_removed_again(place: Target) -> None:
    ssm, outputs = place.client("ssm"), {"OpenAiKeyParameter": "/palimpsest/test/openai-api-key"}
    openai_key.store(place, outputs, "sk-made-up")
    assert (
        ssm.get_parameter(Name=outputs["OpenAiKeyParameter"])["Parameter"]["Type"] == "SecureString"
    )
    for _ in range(2):  # removing what is not there does no harm
        openai_key.store(place, outputs, "")
    with pytest.raises(ssm.exceptions.ParameterNotFound):
        ssm.get_parameter(Name=outputs["OpenAiKeyParameter"])


def test_a_port_in_use_is_said_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_LOCAL_DIR", str(tmp_path))
    with (
        socket.create_server((HOST, 0)) as other,
        pytest.raises(CannotRun, match="in use by another program"),
    ):
        ministack.start(other.getsockname()[1])


@pytest.mark.parametrize("wanted", ["0", "65536", "99999", "abc", "-1", "٤٥٦٦", "45 66"])
def test_a_port_that_is_none_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    monkeypatch.setenv("PALIMPSEST_LOCAL_DIR", str(tmp_path))
    with pytest.raises(SystemExit) as refused:
        local_stack.main(["start", "--port", wanted])
    assert str(refused.value) == f"PORT is a number from 1 to 65535, and not {wanted!r}."
    assert list(tmp_path.iterdir()) == []


def test_a_line_of_the_logs_shows_time_function_level_message_and_request() -> None:
    told = {
        "level": "INFO",
        "message": "appended",
        "correlation_id": "abc=",
        "function_request_id": "x",
        "tokens": 7,
    }
    shown = logs.readable(
        json.dumps(told), group="/palimpsest/local/SessionsLog7F2A", at=1_700_000_000_000
    )
    assert shown.split() == [shown.split()[0], "sessions", "INFO", "appended", "abc="]
    assert re.fullmatch(r"\d\d:\d\d:\d\d", shown.split()[0])
    assert logs.readable("out of memory", group="/x/EmbedLogA", at=0).endswith(
        "  embed      out of memory"
    )


@pytest.mark.parametrize(("noted", "at_stake"), [("3", "10 s"), ("24", "24 s")])
def test_a_start_after_a_kill_says_how_much_was_at_stake(
    tmp_path: Path, noted: str, at_stake: str
) -> None:
    snapshot = tmp_path / "1767225600000000000"
    snapshot.mkdir()
    (snapshot / saved_state.AT_STAKE).write_text(noted)
    assert f"({at_stake} at most) is lost" in saved_state.taken_up(snapshot)
    (snapshot / saved_state.STOPPED).touch()
    assert "lost" not in saved_state.taken_up(snapshot)

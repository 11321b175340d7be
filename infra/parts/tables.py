"""The three DynamoDB tables, and the permissions that functions get on them."""

from collections.abc import Iterable, Mapping, Sequence

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.config import Stage
from infra.parts.accepted import accept

READS = (
    "dynamodb:GetItem",
    "dynamodb:BatchGetItem",
    "dynamodb:Query",
    "dynamodb:ConditionCheckItem",
)
WRITES = ("dynamodb:PutItem", "dynamodb:UpdateItem")
DELETES = ("dynamodb:DeleteItem", "dynamodb:BatchWriteItem")
KEY_USE = (
    "kms:Encrypt",
    "kms:Decrypt",
    "kms:ReEncrypt*",
    "kms:GenerateDataKey*",
    "kms:DescribeKey",
    "kms:CreateGrant",
)
"""The fewest permissions that DynamoDB needs for the account's own key, for everybody who uses a
table. Source: "DynamoDB encryption at rest: how it works", authorizing use of a customer managed
key.
"""


class Tables(Construct):
    """The tables. `tenants` has API keys and tenants' defaults, `sessions` has conversations and
    jobs, and `memories` has long-term memory.

    The streams of the last two start the work. If the stage has restored tables, these serve, and
    the stack keeps its own.
    """

    def __init__(self, scope: Construct, *, stage: Stage, key: kms.IKey | None) -> None:
        super().__init__(scope, "Tables")
        self._key = key
        tenants = self._table("Tenants", stage=stage)
        sessions = self._table("Sessions", stage=stage, is_streamed=True)
        self._index(sessions, "by_user", hash_key="tenant_bucket", range_key=_text("listed"))
        self._index(sessions, "by_owner", hash_key="job_owner", range_key=_text("created"))
        self._index(sessions, "due", hash_key="due_shard", range_key=_number("due_at"))
        memories = self._table("Memories", stage=stage, is_streamed=True)
        self._index(memories, "by_created", hash_key="owner", range_key=_text("created"))
        self._index(memories, "by_tenant", hash_key="tenant_bucket", range_key=_text("user_id"))
        self._index(memories, "due", hash_key="due_shard", range_key=_number("due_at"))
        self.tenants, self.sessions, self.memories = (
            self._serving(table, stage) for table in (tenants, sessions, memories)
        )

    @property
    def by_name(self) -> Mapping[str, dynamodb.ITable]:
        """Return the tables that serve, by their names in capitals."""
        return {"TENANTS": self.tenants, "SESSIONS": self.sessions, "MEMORIES": self.memories}

    def _serving(self, own: dynamodb.Table, stage: Stage) -> dynamodb.ITable:
        restored = stage.restored.get(own.node.id)
        if restored is None:
            return own
        return dynamodb.Table.from_table_attributes(
            self,
            f"Restored{own.node.id}",
            table_name=restored.name,
            table_stream_arn=restored.stream or None,
        )

    def grant_keys(self, reader: iam.Role) -> None:
        """Allow looking up API keys."""
        self._grant(reader, self.tenants, ["dynamodb:GetItem"], leading="key#*")

    def grant_tenants(self, keeper: iam.Role, *actions: str) -> None:
        """Allow reading tenants' defaults and static facts, and the given actions on them, but no
        access to API keys.
        """
        reads = ("dynamodb:GetItem", "dynamodb:Query")
        self._grant(keeper, self.tenants, [*reads, *actions], leading="tenant#*")

    def grant_usage(self, counter: iam.Role) -> None:
        """Allow counting usage, which is stored in the table of sessions."""
        self._grant(counter, self.sessions, ["dynamodb:UpdateItem"], leading="*#usage#*")

    def grant_shares(self, sender: iam.Role) -> None:
        """Allow changing tenants' shares of the queues, which are stored in the table of
        sessions.
        """
        changes = ("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem")
        self._grant(
            sender,
            self.sessions,
            ["dynamodb:GetItem", "dynamodb:Query", *changes],
            leading="*#share#*",
        )

    def grant_reading_jobs(self, sender: iam.Role) -> None:
        """Allow reading jobs."""
        self._grant(sender, self.sessions, ["dynamodb:GetItem"], leading="*#job#*")

    def grant_jobs(self, worker: iam.Role) -> None:
        """Allow changing jobs, which are stored in the table of sessions."""
        self._grant(worker, self.sessions, ["dynamodb:UpdateItem"], leading="*#job#*")

    def grant(
        self,
        user: iam.Role,
        table: dynamodb.ITable,
        *actions: Sequence[str],
        indexes: Sequence[str] = (),
    ) -> None:
        """Allow the given actions (`READS`, `WRITES`, `DELETES`) on a table's items, and queries of
        the named indexes.
        """
        self._grant(user, table, [action for some in actions for action in some])
        arns = [f"{table.table_arn}/index/{index}" for index in indexes]
        if arns:
            iam.Grant.add_to_principal(grantee=user, actions=["dynamodb:Query"], resource_arns=arns)

    def grant_scan(self, reader: iam.Role, table: dynamodb.ITable, index: str) -> None:
        """Allow a scan of an index."""
        arn = f"{table.table_arn}/index/{index}"
        iam.Grant.add_to_principal(grantee=reader, actions=["dynamodb:Scan"], resource_arns=[arn])

    def _table(self, name: str, *, stage: Stage, is_streamed: bool = False) -> dynamodb.Table:
        """Return a table. If its changes are streamed, it also deletes expired items."""
        usual, own = dynamodb.TableEncryption.DEFAULT, dynamodb.TableEncryption.CUSTOMER_MANAGED
        # CloudFormation can't delete a protected table after a failed first deployment, and an
        # attempt could stop the removal of the rest (docs/adr/0205).
        removal = RemovalPolicy.RETAIN if stage.keeps_data else RemovalPolicy.DESTROY
        stream, time_to_live = None, None
        if is_streamed:
            # Some events compare both: a topic that got a new value, a job that failed
            # (docs/adr/0036).
            stream, time_to_live = dynamodb.StreamViewType.NEW_AND_OLD_IMAGES, "ttl"
        return dynamodb.Table(
            self, name,
            partition_key=_text("pk"),
            sort_key=_text("sk"),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            stream=stream,
            time_to_live_attribute=time_to_live,
            encryption=usual if self._key is None else own,
            encryption_key=self._key,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            deletion_protection=stage.keeps_data,
            removal_policy=removal,
        )  # fmt: skip

    def _index(
        self, table: dynamodb.Table, name: str, *, hash_key: str, range_key: dynamodb.Attribute
    ) -> None:
        """Add a sparse index of the items that have both attributes. The index holds only their
        keys.
        """
        table.add_global_secondary_index(
            index_name=name, partition_key=_text(hash_key), sort_key=range_key,
            projection_type=dynamodb.ProjectionType.KEYS_ONLY,
        )  # fmt: skip

    def _grant(
        self,
        grantee: iam.Role,
        table: dynamodb.ITable,
        actions: Iterable[str],
        *,
        leading: str | None = None,
    ) -> None:
        """Allow the actions on items whose partition key begins with the prefix `leading`, and the
        use of the encryption key.
        """
        keys = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [leading]}} if leading else None
        iam.Grant.add_to_principal(
            grantee=grantee, actions=list(actions), resource_arns=[table.table_arn], conditions=keys
        )
        if self._key is not None:
            grant_through_dynamodb(self._key, grantee)


def grant_through_dynamodb(key: kms.IKey, role: iam.Role) -> None:
    """Let a role use the key, but only through its calls of DynamoDB."""
    service = f"dynamodb.{Stack.of(key).region}.amazonaws.com"
    iam.Grant.add_to_principal(
        grantee=role,
        actions=list(KEY_USE),
        resource_arns=[key.key_arn],
        conditions={"StringEquals": {"kms:ViaService": service}},
    )
    for action in KEY_USE:
        if action.endswith("*"):
            accept(
                role,
                f"IAM5[Action::{action}]",
                because="Kinds of one action, on the stack's own key.",
            )


def _text(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)


def _number(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.NUMBER)

"""A Lambda function with its own role and log group, its layers, and only the environment variables
that it needs.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra import paths
from infra.config import Stage
from infra.parts.accepted import accept
from infra.parts.layers import CACHES, architecture
from infra.parts.retention import removal_policy

SERVICE, LIVE = "palimpsest", "live"
RECURSIVE = lambda_.RecursiveLoop.ALLOW
"""The setting of a function that sends messages to its own queue. Otherwise Lambda stops such a
chain after about 16 messages, although each message ends a job, and the chain ends with the last
job.
"""
LOG_RETENTION = {
    1: logs.RetentionDays.ONE_DAY,
    3: logs.RetentionDays.THREE_DAYS,
    5: logs.RetentionDays.FIVE_DAYS,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    60: logs.RetentionDays.TWO_MONTHS,
    90: logs.RetentionDays.THREE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
}


class PythonFunction(Construct):
    """The function in functions/<name>/handler.py. Its role may write its own log. The stack grants
    all other permissions. `sends_to_itself` says whether the function sends to the
    queue that starts it. With `has_alias`, callers reach the function by the alias `live`, and its
    earlier versions stay, so that the alias can go back to them.
    """

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        stage: Stage,
        layers: Sequence[lambda_.ILayerVersion],
        timeout_seconds: int,
        memory_mb: int,
        environment: Mapping[str, str],
        key: kms.IKey | None,
        sends_to_itself: bool,
        has_alias: bool,
    ) -> None:
        super().__init__(scope, name.capitalize())
        self.log = log_group(self, "Log", stage=stage, key=key)
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        self.log.grant_write(self.role)
        self.function = lambda_.Function(
            self,
            "Function",
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=architecture(stage),
            # A stray `__pycache__` would change the asset's hash, and so deploy the function again.
            code=lambda_.Code.from_asset(str(paths.FUNCTIONS / name), exclude=CACHES),
            handler="handler.handler",
            layers=list(layers),
            role=self.role,
            log_group=self.log,
            timeout=Duration.seconds(timeout_seconds),
            memory_size=memory_mb,
            recursive_loop=RECURSIVE if sends_to_itself else None,
            # A rollback needs the version before (docs/adr/0142).
            current_version_options=lambda_.VersionOptions(removal_policy=RemovalPolicy.RETAIN),
            environment={
                "STAGE": stage.name,
                "LOG_LEVEL": "INFO",
                "POWERTOOLS_SERVICE_NAME": SERVICE,
                **environment,
            },
        )
        resource = cast(lambda_.CfnFunction, self.function.node.default_child)
        # the name to say to `sam local invoke`
        resource.override_logical_id(f"{name.capitalize()}Function")
        self.alias: lambda_.Alias | None = None
        if has_alias:
            version = self.function.current_version
            self.alias = lambda_.Alias(self, "Live", alias_name=LIVE, version=version)
        accept(
            self,
            "L1",
            because="It is raised with the locks, once every wheel exists for the new runtime.",
        )

    @property
    def serving(self) -> lambda_.IFunction:
        """Return the target for callers and event sources: the alias, if there is one, else the
        function.
        """
        return self.function if self.alias is None else self.alias


def log_group(scope: Construct, name: str, *, stage: Stage, key: kms.IKey | None) -> logs.LogGroup:
    return logs.LogGroup(
        scope, name,
        retention=LOG_RETENTION[stage.log_days],
        encryption_key=key,
        removal_policy=removal_policy(stage),
    )  # fmt: skip

"""A Lambda function with its own role and log group, its layers, and only the environment variables it needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra import paths
from infra.config import Stage
from infra.parts.accepted import accept
from infra.parts.layers import CACHES, architecture

SERVICE = "palimpsest"
LOG_RETENTION = {7: logs.RetentionDays.ONE_WEEK, 90: logs.RetentionDays.THREE_MONTHS}


@dataclass(frozen=True, slots=True)
class Network:
    """Where a function stands that must reach something private: its connections are the group's."""

    vpc: ec2.IVpc
    group: ec2.ISecurityGroup


class PythonFunction(Construct):
    """The function in functions/<name>/handler.py. Its role may write its own log; the stack grants it the rest."""

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
        network: Network | None = None,
    ) -> None:
        super().__init__(scope, name.capitalize())
        self.log = log_group(self, "Log", stage=stage, key=key)
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        self.log.grant_write(self.role)
        self.function = lambda_.Function(
            self, "Function",
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=architecture(stage),
            code=lambda_.Code.from_asset(str(paths.FUNCTIONS / name), exclude=CACHES),
            handler="handler.handler",
            layers=list(layers),
            role=self.role,
            log_group=self.log,
            timeout=Duration.seconds(timeout_seconds),
            memory_size=memory_mb,
            vpc=network.vpc if network else None,
            security_groups=[network.group] if network else None,
            environment={
                "STAGE": stage.name, "LOG_LEVEL": "INFO", "POWERTOOLS_SERVICE_NAME": SERVICE, **environment
            },
        )  # fmt: skip
        resource = cast(lambda_.CfnFunction, self.function.node.default_child)
        resource.override_logical_id(f"{name.capitalize()}Function")  # the name to say to `sam local invoke`
        if network:
            managed = "Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole"
            accept(self, f"IAM4[{managed}]", because="Lambda's own policy for functions in a network.")
        accept(self, "L1", because="Raised with the locks: a runtime is taken up once every wheel is there for it.")


def log_group(scope: Construct, name: str, *, stage: Stage, key: kms.IKey | None) -> logs.LogGroup:
    return logs.LogGroup(
        scope, name,
        retention=LOG_RETENTION[stage.log_days],
        encryption_key=key,
        removal_policy=RemovalPolicy.RETAIN if stage.keeps_data else RemovalPolicy.DESTROY,
    )  # fmt: skip

"""Shifts traffic to new versions of the functions step by step, and back if an alarm goes off."""

from collections.abc import Mapping, Sequence
from typing import cast

from aws_cdk import ArnFormat, CfnElement, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_codedeploy as codedeploy
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.parts.accepted import accept
from infra.parts.python_function import PythonFunction

STEP = codedeploy.LambdaDeploymentConfig.CANARY_10_PERCENT_10_MINUTES
"""A tenth of the calls for ten minutes, then all. The alarms look at five minutes at a time."""
ROLE = "service-role/AWSCodeDeployRoleForLambdaLimited"


class Canary(Construct):
    """A deployment group for each function. The function `smoke` asks each new version before it
    gets traffic. A deployment goes back by itself if that fails, or if one of the alarms goes off.
    """

    def __init__(
        self,
        scope: Construct,
        *,
        functions: Mapping[str, PythonFunction],
        smoke: PythonFunction,
        alarms: Sequence[cloudwatch.IAlarm],
    ) -> None:
        super().__init__(scope, "Canary")
        application = codedeploy.LambdaApplication(self, "Application")
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("codedeploy.amazonaws.com"),
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(ROLE)],
        )
        accept(
            role,
            f"IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{ROLE}]",
            because="AWS keeps it up to date with what CodeDeploy needs.",
        )
        for name, function in functions.items():
            if function.alias is not None:
                codedeploy.LambdaDeploymentGroup(
                    self,
                    name.capitalize(),
                    application=application,
                    role=role,
                    alias=function.alias,
                    alarms=list(alarms),
                    deployment_config=STEP,
                    pre_hook=smoke.function,
                )
        _accept_versions(role, "smoke")
        self._let_ask(smoke.role, application, functions)

    def _let_ask(
        self,
        role: iam.Role,
        application: codedeploy.LambdaApplication,
        functions: Mapping[str, PythonFunction],
    ) -> None:
        """Let the smoke test read its deployment, and call every version of the functions."""
        group = Stack.of(self).format_arn(
            service="codedeploy",
            resource="deploymentgroup",
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
            resource_name=f"{application.application_name}/*",
        )
        iam.Grant.add_to_principal(
            grantee=role, actions=["codedeploy:GetDeployment"], resource_arns=[group]
        )
        versions = [f"{function.function.function_arn}:*" for function in functions.values()]
        iam.Grant.add_to_principal(
            grantee=role, actions=["lambda:InvokeFunction"], resource_arns=versions
        )
        for name in functions:
            _accept_versions(role, name)
        named = "arn:<AWS::Partition>:codedeploy:<AWS::Region>:<AWS::AccountId>:deploymentgroup"
        accept(
            role,
            f"IAM5[Resource::{named}:<{self._id_of(application)}>/*]",
            because="The groups are the stack's own, one for each function.",
        )

    def _id_of(self, application: codedeploy.LambdaApplication) -> str:
        return Stack.of(self).get_logical_id(cast("CfnElement", application.node.default_child))


def _accept_versions(role: iam.Role, name: str) -> None:
    accept(
        role,
        f"IAM5[Resource::<{name.capitalize()}Function.Arn>:*]",
        because="The number of a version is new each time.",
    )

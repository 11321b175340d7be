"""Keeps or removes a stage's data when its stack is removed."""

from aws_cdk import RemovalPolicy

from infra.config import Stage


def removal_policy(stage: Stage) -> RemovalPolicy:
    """Data of a stage that keeps it outlives the stack. A first deployment that fails leaves
    nothing: CloudFormation removes again what it has just made.
    """
    if stage.keeps_data:
        return RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
    return RemovalPolicy.DESTROY

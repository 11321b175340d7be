"""Decides whether a stage's data is kept when its stack is removed."""

from aws_cdk import RemovalPolicy

from infra.config import Stage


def removal_policy(stage: Stage) -> RemovalPolicy:
    """Return the removal policy of the stage's data. In a stage that keeps its data, the data
    outlives the stack. If the first deployment fails, CloudFormation removes what it has just
    created. The tables have a policy of their own, because it can't remove these (see `Tables`).
    """
    if stage.keeps_data:
        return RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
    return RemovalPolicy.DESTROY

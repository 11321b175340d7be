"""The CDK's function that empties a bucket before the bucket is deleted."""

from typing import cast

from aws_cdk import CfnResource, Stack
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.config import Stage
from infra.parts.python_function import log_group

PROVIDER = "Custom::S3AutoDeleteObjectsCustomResourceProvider"


def log_in_the_stack(scope: Construct, *, stage: Stage, key: kms.IKey | None) -> None:
    """Let the function write its log to a log group of the stack. Call this after the bucket was
    created.

    Otherwise Lambda creates a log group that never expires and outlives the stack. For the same
    reason, the function may write to its log, but may not create a log group.
    """
    provider = Stack.of(scope).node.find_child(PROVIDER)
    log = log_group(cast(Construct, provider), "Log", stage=stage, key=key)
    function, role = (
        cast(CfnResource, provider.node.find_child(name)) for name in ("Handler", "Role")
    )
    function.add_property_override("LoggingConfig", {"LogGroup": log.log_group_name})
    writing = {
        "Effect": "Allow",
        "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
        "Resource": log.log_group_arn,
    }
    document = {"Version": "2012-10-17", "Statement": [writing]}
    policies = [{"PolicyName": "Log", "PolicyDocument": document}]
    role.add_property_deletion_override("ManagedPolicyArns")
    role.add_property_override("Policies", policies)

"""Permissions to send spans."""

from aws_cdk import aws_iam as iam

from infra.parts.accepted import accept


def grant_spans(role: iam.Role) -> None:
    """Let the role send spans to AWS X-Ray."""
    role.add_to_policy(
        iam.PolicyStatement(actions=["xray:PutSpans", "xray:PutTraceSegments"], resources=["*"])
    )
    accept(role, "IAM5[Resource::*]", because="X-Ray knows no resources for spans.")

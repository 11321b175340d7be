"""Permissions to call models of Amazon Bedrock."""

from collections.abc import Iterable

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from infra.bedrock import Bedrock, arns
from infra.parts.accepted import accept

ANY_REGION = "An inference profile calls its model in the regions that Bedrock chooses."
NO_RESOURCE = "These actions of Bedrock know no resources; the models are named by InvokeModel."


def grant_chat(role: iam.Role, models: Iterable[str], bedrock: Bedrock) -> None:
    """Let the role call those models through the OpenAI-compatible server, with tokens that it
    signs itself.
    """
    short = {"StringEquals": {"bedrock:BearerTokenType": "SHORT_TERM"}}
    role.add_to_policy(
        iam.PolicyStatement(
            actions=["bedrock:CallWithBearerToken"], resources=["*"], conditions=short
        )
    )
    accept(role, "IAM5[Resource::*]", because=NO_RESOURCE)
    grant_invoking(role, models, bedrock)


def grant_invoking(role: iam.Role, models: Iterable[str], bedrock: Bedrock) -> None:
    """Let the role call those models, with whole answers (no streams)."""
    stack = Stack.of(role)
    region = bedrock.region or stack.region
    named = dict.fromkeys(
        arns(models, region=region, partition=stack.partition, account=stack.account)
    )
    role.add_to_policy(iam.PolicyStatement(actions=["bedrock:InvokeModel"], resources=list(named)))
    for arn in named:
        if ":*:" in arn:
            resource = arn.replace(stack.partition, "<AWS::Partition>")
            accept(role, f"IAM5[Resource::{resource}]", because=ANY_REGION)


def grant_reranking(role: iam.Role, model: str, bedrock: Bedrock) -> None:
    """Let the role rerank texts with that model."""
    role.add_to_policy(iam.PolicyStatement(actions=["bedrock:Rerank"], resources=["*"]))
    accept(role, "IAM5[Resource::*]", because=NO_RESOURCE)
    grant_invoking(role, (model,), bedrock)

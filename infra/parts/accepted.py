"""Accepts findings of cdk-nag, each with its reason, at the construct that causes it."""

from aws_cdk import Acknowledgment, Validations
from constructs import Construct

PACK = "AwsSolutions::AwsSolutions"


def accept(construct: Construct, rule: str, *, because: str) -> None:
    """Accept the findings of a rule, such as `SQS4`, in this construct and those inside it."""
    Validations.of(construct).acknowledge(Acknowledgment(id=f"{PACK}-{rule}", reason=because))

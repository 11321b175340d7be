"""Findings of cdk-nag that are accepted, each with its reason, where they arise."""

from aws_cdk import Acknowledgment, Validations
from constructs import Construct

PACK = "AwsSolutions::AwsSolutions"


def accept(construct: Construct, rule: str, *, because: str) -> None:
    """Accept what the rule, such as `SQS4`, finds in this construct and beneath it."""
    Validations.of(construct).acknowledge(Acknowledgment(id=f"{PACK}-{rule}", reason=because))

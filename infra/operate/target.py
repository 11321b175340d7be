"""Chooses the stack that a command works on: the local one, or a deployed one by its name."""

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from infra import paths
from infra.local import access_key, endpoint

REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class Target:
    """A stack, and the way to reach it. `endpoint` is None on AWS itself."""

    stack: str
    session: boto3.Session
    endpoint: str | None = None

    def client(self, service: str) -> Any:
        return self.session.client(service, endpoint_url=self.endpoint)  # type: ignore[call-overload]

    def described(self) -> Mapping[str, Any]:
        """Return what CloudFormation says about the stack."""
        try:
            (stack,) = self.client("cloudformation").describe_stacks(StackName=self.stack)["Stacks"]
        except (ClientError, BotoCoreError) as error:
            raise SystemExit(f"The stack {self.stack} cannot be read: {error}") from error
        description: Mapping[str, Any] = stack
        return description

    def outputs(self) -> dict[str, str]:
        """Return the outputs of the stack, by name."""
        outputs = self.described().get("Outputs", [])
        return {output["OutputKey"]: output["OutputValue"] for output in outputs}


def local_session(folder: Path | None = None) -> boto3.Session:
    """Return a session for the local AWS that runs in that folder (default: this project's), with
    the key of its start.
    """
    key = access_key.read(folder or paths.local_state())
    return boto3.Session(
        aws_access_key_id=key.id, aws_secret_access_key=key.secret, region_name=REGION
    )


def local() -> Target:
    """Return the stack that `make start` deployed."""
    local_endpoint = endpoint.read()
    if local_endpoint is None:
        raise SystemExit(
            "No local stack was started: run `make start`, or name a deployed stack with --stack."
        )
    return Target(local_endpoint.stack, local_session(), local_endpoint.aws_endpoint)


def add_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--stack", help="a deployed stack, such as Palimpsest-prod (default: the local one)"
    )


def chosen(arguments: argparse.Namespace) -> Target:
    """Return the stack that the arguments name. `AWS_REGION` says its region, as for the CDK. boto3
    itself reads only `AWS_DEFAULT_REGION` and the profile.
    """
    if not arguments.stack:
        return local()
    return Target(arguments.stack, boto3.Session(region_name=os.environ.get("AWS_REGION")))

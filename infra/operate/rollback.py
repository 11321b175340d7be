"""Lets the functions of a stack that was deployed with `deploy=canary` go back to the versions
before the last deployment.

python -m infra.operate.rollback [--stack Palimpsest-prod]

A deployment that is still shifting traffic is stopped, and goes back by itself. Tables, queues and
permissions stay as they are: the earlier release can read the data that the newer one wrote.
"""

import argparse
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra.operate import target
from infra.operate.target import Target

ALIAS = "live"
SUFFIX = f":{ALIAS}"
SHIFTING = ["Created", "Queued", "InProgress", "Baking", "Ready"]


class Rollback:
    """Moves the aliases of a stack's functions."""

    def __init__(self, place: Target, outputs: Mapping[str, str]) -> None:
        self._place = place
        self._lambda: Any = place.client("lambda")
        self._functions = [
            value.removesuffix(SUFFIX) for value in outputs.values() if value.endswith(SUFFIX)
        ]
        if not self._functions:
            raise SystemExit(
                f"{place.stack} was deployed without `-c deploy=canary`, so it keeps no earlier "
                "versions. Deploy the release before: check its commit out, or use its assembly."
            )

    def __call__(self, deployed: datetime) -> dict[str, tuple[str, str]]:
        """Move each alias that the deployment at that time gave a new version. Return the versions
        before and after, by function. Safe to repeat: an alias goes back by one deployment at most.
        """
        moved = {}
        for function in self._functions:
            alias = self._lambda.get_alias(FunctionName=function, Name=ALIAS)
            now, before = alias["FunctionVersion"], self._before(function, deployed)
            if before is not None and int(before) < int(now):
                self._lambda.update_alias(
                    FunctionName=function,
                    Name=ALIAS,
                    FunctionVersion=before,
                    RoutingConfig={"AdditionalVersionWeights": {}},
                )
                moved[function] = (now, before)
        return moved

    def _before(self, function: str, deployed: datetime) -> str | None:
        """Return the newest version from before the deployment."""
        older = [number for number, made in self._versions(function) if made < deployed]
        return str(max(older)) if older else None

    def _versions(self, function: str) -> Iterator[tuple[int, datetime]]:
        pages = self._lambda.get_paginator("list_versions_by_function")
        for page in pages.paginate(FunctionName=function):
            for version in page["Versions"]:
                if version["Version"].isdecimal():
                    yield int(version["Version"]), datetime.fromisoformat(version["LastModified"])


def last_deployment(place: Target) -> datetime:
    """Return when the last deployment of the stack began."""
    (stack,) = place.client("cloudformation").describe_stacks(StackName=place.stack)["Stacks"]
    deployed_at: datetime = stack.get("LastUpdatedTime", stack["CreationTime"])
    return deployed_at


def stop_shifting(place: Target) -> list[str]:
    """Stop the deployments that are still shifting traffic, and return their ids."""
    deployments: Any = place.client("codedeploy")
    stopped = []
    for application in _own_applications(place):
        groups = deployments.list_deployment_groups(applicationName=application)
        for group in groups["deploymentGroups"]:
            listed = deployments.list_deployments(
                applicationName=application, deploymentGroupName=group, includeOnlyStatuses=SHIFTING
            )
            for deployment in listed["deployments"]:
                deployments.stop_deployment(deploymentId=deployment, autoRollbackEnabled=True)
                stopped.append(deployment)
    return stopped


def _own_applications(place: Target) -> Iterator[str]:
    formation = place.client("cloudformation")
    for page in formation.get_paginator("list_stack_resources").paginate(StackName=place.stack):
        for resource in page["StackResourceSummaries"]:
            if resource["ResourceType"] == "AWS::CodeDeploy::Application":
                yield resource["PhysicalResourceId"]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m infra.operate.rollback", description=(__doc__ or "").splitlines()[0]
    )
    target.add_argument(parser)
    place = target.chosen(parser.parse_args(arguments))
    try:
        rollback = Rollback(place, place.outputs())
        stopped = stop_shifting(place) if place.endpoint is None else []  # none is local
        moved = rollback(last_deployment(place)) if not stopped else {}
    except (ClientError, BotoCoreError) as error:
        raise SystemExit(f"{place.stack} can't go back: {error}") from error
    for deployment in stopped:
        print(f"{deployment} was stopped, and goes back.")
    for function, (now, before) in moved.items():
        print(f"{function}: version {now} -> {before}")
    if not stopped and not moved:
        print(f"{place.stack} is where it was before its last deployment.")


if __name__ == "__main__":
    main()

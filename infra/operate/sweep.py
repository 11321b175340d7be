"""Runs one round of the sweep, and lets its schedule run again.

python -m infra.operate.sweep [--stack Palimpsest-prod]
"""

import argparse
import json
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra.operate import target
from infra.operate.target import Target

FUNCTION, RULE = "SweepFunction", "AWS::Events::Rule"


def sweep(place: Target) -> int:
    """Return how many sessions, jobs and memories the round looked at. Raises `SystemExit` if the
    function fails.
    """
    for rule in _rules(place):
        place.client("events").enable_rule(Name=rule)
    answer = place.client("lambda").invoke(FunctionName=place.outputs()[FUNCTION], Payload=b"{}")
    counts: dict[str, Any] = json.loads(answer["Payload"].read())
    if "looked_at" not in counts:
        raise SystemExit(f"The sweep fails ({counts.get('errorType')}): see its log.")
    return int(counts["looked_at"])


def _rules(place: Target) -> list[str]:
    formation = place.client("cloudformation")
    pages = formation.get_paginator("list_stack_resources").paginate(StackName=place.stack)
    return [
        resource["PhysicalResourceId"]
        for page in pages
        for resource in page["StackResourceSummaries"]
        if resource["ResourceType"] == RULE
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m infra.operate.sweep", description=(__doc__ or "").splitlines()[0]
    )
    target.add_argument(parser)
    place = target.chosen(parser.parse_args(arguments))
    try:
        print(f"The sweep looked at {sweep(place)} sessions, jobs and memories.")
    except (ClientError, BotoCoreError) as error:
        raise SystemExit(f"{place.stack} can't be swept: {error}") from error


if __name__ == "__main__":
    main()

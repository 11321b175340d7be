"""Chooses the tables that a stack serves: its own, or restored ones."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infra import paths
from infra.config import TABLES, tables_context
from infra.local.deploy import CONTEXT_FILE
from infra.operate.target import Target

STREAMED = ("Sessions", "Memories")
PREFIX = "Palimpsest-"


def put(place: Target, restored: Mapping[str, str], *, context: Sequence[str]) -> None:
    """Deploy the stack so that it serves these tables, which are named by its outputs. `context`
    has the other choices of the deployer.

    The choice is stored in a file that every later deployment reads, so that no deployment goes
    back to the old tables by itself. Raises `SystemExit` if the stack serves other tables after
    that.
    """
    dynamodb = place.client("dynamodb")
    chosen = {name: _described(dynamodb, restored[f"{name}Table"], name) for name in TABLES}
    _store(place, chosen)
    _deploy(place, context)
    _check(place, restored)
    print(f"{place.stack} serves the restored tables. Its search index is older or newer: reindex.")
    print(f"Keep {context_file(place)}, because every later deployment needs it.")


def undo(place: Target, *, context: Sequence[str]) -> None:
    """Deploy the stack so that it serves its own tables again."""
    own = own_tables(place)
    _store(place, None)
    _deploy(place, context)
    _check(place, own)
    print(f"{place.stack} serves its own tables.")


def own_tables(place: Target) -> dict[str, str]:
    """Return the stack's own tables, by the outputs that name the serving ones."""
    formation = place.client("cloudformation")
    resources = formation.get_paginator("list_stack_resources").paginate(StackName=place.stack)
    tables = {
        resource["LogicalResourceId"]: resource["PhysicalResourceId"]
        for page in resources
        for resource in page["StackResourceSummaries"]
        if resource["ResourceType"] == "AWS::DynamoDB::Table"
    }
    return {
        f"{name}Table": table
        for name in TABLES
        for logical, table in tables.items()
        if logical.startswith(f"Tables{name}")
    }


def context_file(place: Target) -> Path:
    """Return the file that the CDK, or `make start`, reads at each deployment."""
    return (paths.PROJECT if place.endpoint is None else paths.local_state()) / CONTEXT_FILE


def _described(dynamodb: Any, table: str, name: str) -> dict[str, str]:
    description = dynamodb.describe_table(TableName=table)["Table"]
    stream = {"stream": description["LatestStreamArn"]} if name in STREAMED else {}
    return {"name": table, **stream}


def _store(place: Target, tables: Mapping[str, Any] | None) -> None:
    file, key = context_file(place), tables_context(_stage(place))
    content = json.loads(file.read_text()) if file.is_file() else {}
    content.pop(key, None)
    if tables is not None:
        content[key] = tables
    file.write_text(json.dumps(content, indent=2) + "\n")


def _stage(place: Target) -> str:
    return place.stack.removeprefix(PREFIX)


def _deploy(place: Target, context: Sequence[str]) -> None:
    """Deploy the stack as the project's own commands do."""
    if place.endpoint is not None:
        command = [sys.executable, "-m", "infra.local", "start", "--port", ""]
        command += ["--search", os.environ.get("SEARCH", "")]
    else:
        choices = [f"stage={_stage(place)}", *context]
        flags = [flag for choice in choices for flag in ("-c", choice)]
        command = ["cdk", "deploy", place.stack, "--require-approval", "never", *flags]
    print(f"Deploying {place.stack}", flush=True)
    try:
        done = subprocess.run(command, cwd=paths.PROJECT, check=False)
    except FileNotFoundError as error:
        raise SystemExit(
            f"{command[0]} is not installed. Install it, then run: {command}"
        ) from error
    if done.returncode != 0:
        raise SystemExit(f"{place.stack} could not be deployed; the reason is printed above.")


def _check(place: Target, expected: Mapping[str, str]) -> None:
    outputs = place.outputs()
    other = [output for output, table in expected.items() if outputs.get(output) != table]
    if other:
        raise SystemExit(f"{place.stack} still serves other tables: {', '.join(other)}.")

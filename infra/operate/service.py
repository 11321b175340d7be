"""Chooses the tables that a stack serves: its own, or restored ones."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infra import paths
from infra.config import TABLES, chosen_by, context_flags, tables_context
from infra.local.deploy import CONTEXT, CONTEXT_FILE
from infra.operate.target import Target

STREAMED = ("Sessions", "Memories")
PREFIX = "Palimpsest-"
CHOICES = "Choices"
"""The output of a stack that has the deployer's choices."""
OF_ENVIRONMENT = (*CONTEXT, "search", "openai_base_url", "chat_model")
"""The choices that `make start` reads from environment variables."""


def put(place: Target, restored: Mapping[str, str], *, context: Sequence[str]) -> None:
    """Deploy the stack so that it serves these tables, which are named by its outputs. The choices
    and tags of the last deployment are repeated; `context` has choices that replace some of these.

    The choice of tables is stored in a file that every later deployment reads, so that no
    deployment goes back to the old tables by itself. Raises `SystemExit` if the stack serves other
    tables after that, or if it does not say its choices. Nothing was changed in the second case.
    """
    choices, dynamodb = repeated(place, context), place.client("dynamodb")
    chosen = {name: _described(dynamodb, restored[f"{name}Table"], name) for name in TABLES}
    _store(place, chosen)
    _deploy(place, choices)
    _check(place, restored)
    print(f"{place.stack} serves the restored tables. Its search index is older or newer: reindex.")
    print(f"Keep {context_file(place)}, because every later deployment needs it.")


def undo(place: Target, *, context: Sequence[str]) -> None:
    """Deploy the stack so that it serves its own tables again, with its other choices and its tags
    as `put` does.
    """
    choices, own = repeated(place, context), own_tables(place)
    _store(place, None)
    _deploy(place, choices)
    _check(place, own)
    print(f"{place.stack} serves its own tables.")


def repeated(place: Target, context: Sequence[str]) -> dict[str, str]:
    """Return the choices of the stack's last deployment, with those of `context` in their place.
    Raises `SystemExit` if `context` is empty and the release that deployed the stack did not write
    its choices down.
    """
    flags = place.outputs().get(CHOICES)
    if flags is None and not context:
        raise SystemExit(
            f"{place.stack} has no output {CHOICES}, because an older release deployed it. Repeat "
            f"the choices of its last deployment with -c. If it has none, add "
            f"-c stage={_stage(place)}."
        )
    return chosen_by([*shlex.split(flags or ""), *context]) | {"stage": _stage(place)}


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


def _deploy(place: Target, choices: Mapping[str, str]) -> None:
    """Deploy the stack as the project's own commands do."""
    environment = dict(os.environ)
    if place.endpoint is not None:
        named = {name.upper(): choices.get(name, "") for name in OF_ENVIRONMENT}
        environment = named | environment
        command = [sys.executable, "-m", "infra.local", "start", "--port", ""]
        command += ["--search", environment["SEARCH"]]
    else:
        command = ["cdk", "deploy", place.stack, "--require-approval", "never"]
        command += [*shlex.split(context_flags(choices)), *_tags(place)]
    print(f"Deploying {place.stack}", flush=True)
    try:
        done = subprocess.run(command, cwd=paths.PROJECT, env=environment, check=False)
    except FileNotFoundError as error:
        raise SystemExit(
            f"{command[0]} is not installed. Install it, then run: {command}"
        ) from error
    if done.returncode != 0:
        raise SystemExit(f"{place.stack} could not be deployed; the reason is printed above.")


def _tags(place: Target) -> list[str]:
    """Return the stack's tags as flags. Without them, the CDK would take off those that were set
    with `--tags`.
    """
    tags = place.described().get("Tags", [])
    return [word for tag in tags for word in ("--tags", f"{tag['Key']}={tag['Value']}")]


def _check(place: Target, expected: Mapping[str, str]) -> None:
    outputs = place.outputs()
    other = [output for output, table in expected.items() if outputs.get(output) != table]
    if other:
        raise SystemExit(f"{place.stack} still serves other tables: {', '.join(other)}.")

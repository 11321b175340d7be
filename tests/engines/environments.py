"""Python environments of their own, for libraries that would not share one with the tests.

Each is made on first use, under .build/venvs, from the requirements with hashes in `environments/`.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from infra import paths
from tests.engines import npm

LOCKS = Path(__file__).parent / "environments"


def python_of(name: str) -> Path:
    """The interpreter of an environment. Where it can't be made, tests are skipped, or fail if that
    is required.
    """
    lock = LOCKS / f"{name}.txt"
    folder = paths.BUILD / "venvs" / name
    python, done = (
        folder / "bin" / "python",
        folder / f"done-{hashlib.sha256(lock.read_bytes()).hexdigest()[:16]}",
    )
    with paths.building():
        if not done.is_file():
            _make(name, folder, lock)
            done.touch()
    return python


def _make(name: str, folder: Path, lock: Path) -> None:
    uv = [sys.executable, "-m", "uv"]
    install = [
        *uv,
        "pip",
        "install",
        "--no-config",
        "--quiet",
        "--require-hashes",
        "--only-binary",
        ":all:",
    ]
    try:
        subprocess.run(
            [*uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True
        )
        subprocess.run([*install, "--python", folder / "bin" / "python", "-r", lock], check=True)
    except subprocess.CalledProcessError:
        reason = f"the environment {name} could not be installed"
        pytest.fail(reason) if npm.required() else pytest.skip(reason)

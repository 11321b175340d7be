"""Each framework, in an environment of its own, uses its adapter over the whole service."""

import os
import subprocess
from pathlib import Path

import pytest

from infra import paths
from tests.engines.environments import python_of
from tests.served import KEY, Served

HERE = Path(__file__).parent
FRAMEWORKS = sorted(file.stem.removeprefix("of_") for file in HERE.glob("of_*.py"))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_framework_uses_its_adapter(framework: str) -> None:
    python = python_of(framework)
    with Served() as served:
        there = {
            "PALIMPSEST_URL": served.url,
            "PALIMPSEST_API_KEY": KEY,
            "PYTHONPATH": str(paths.PROJECT / "layers" / "client" / "python"),
        }
        done = subprocess.run(  # noqa: S603 - our own command
            [python, "-m", "pytest", "-q", "-x", "--noconftest", "-c", os.devnull, "-p", "no:cacheprovider",
             HERE / f"of_{framework}.py"],
            env=os.environ | there, cwd=HERE, capture_output=True, text=True, check=False, timeout=500,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]

"""What the guides of frameworks show is run as it stands, each in the environment of its framework."""

import os
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from infra import paths
from tests.documents import pages
from tests.engines.environments import python_of
from tests.served import KEY, Served

PAGES = {page: name for page in pages.to_run("python") if (name := pages.environment_of(page))}
OURS = (paths.PROJECT, paths.PROJECT / "layers" / "client" / "python")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("framework", sorted(set(PAGES.values())))
def test_a_guide_runs_and_prints_what_it_shows(framework: str, tmp_path: Path) -> None:
    program = Path(__file__).with_name("guide.py")
    with ExitStack() as services:
        told: list[str] = []
        for page in (page for page, name in PAGES.items() if name == framework):
            told += [page, services.enter_context(Served()).url]
        there = {
            "PALIMPSEST_API_KEY": KEY, "PYTHONPATH": os.pathsep.join(map(str, OURS)), "HOME": str(tmp_path),
            "MEM0_TELEMETRY": "false", "OPENAI_AGENTS_DISABLE_TRACING": "1",
        }  # fmt: skip
        done = subprocess.run(  # noqa: S603 - our own command
            [python_of(framework), program, *told], env=os.environ | there, cwd=tmp_path, capture_output=True,
            text=True, check=False, timeout=120,
        )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]

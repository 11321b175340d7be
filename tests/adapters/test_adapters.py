"""Each framework, in an environment of its own, uses its adapter over the whole service, and its
guides run there.
"""

import os
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from infra import paths
from tests.documents import pages
from tests.engines.environments import python_of
from tests.served import KEY, Served

HERE = Path(__file__).parent
GUIDE, GIVEN = HERE / "guide.py", HERE / "given"
FRAMEWORKS = sorted(file.stem.removeprefix("of_") for file in HERE.glob("of_*.py"))
GUIDES = {page: name for page in pages.to_run("python") if (name := pages.environment_of(page))}
OURS = (paths.PROJECT, paths.PROJECT / "layers" / "client" / "python")


def run(
    framework: str, *command: str | Path, folder: Path, services: Mapping[str, str] | None = None
) -> None:
    """Run a command in a framework's environment, with a service for it and one for each of the
    framework's pages: that of `services`, or one of its own.
    """
    python = python_of(framework)
    with ExitStack() as stack:
        places = services or {
            page: stack.enter_context(Served()).url
            for page, name in GUIDES.items()
            if name == framework
        }
        told = [f"{page}={url}" for page, url in places.items()]
        there = {
            "PALIMPSEST_URL": stack.enter_context(Served()).url,
            "PALIMPSEST_API_KEY": KEY,
            "GUIDES": " ".join(told),
            "PYTHONPATH": os.pathsep.join(map(str, OURS)),
            "HOME": str(folder),
            "MEM0_TELEMETRY": "false",
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
        }
        done = subprocess.run(  # noqa: S603 - our own command
            [python, *command],
            env=os.environ | there,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_framework_uses_its_adapter_and_its_guides_run(framework: str, tmp_path: Path) -> None:
    assert framework in GUIDES.values()
    options = ("-q", "-x", "--noconftest", "-c", os.devnull, "-p", "no:cacheprovider")
    run(framework, "-m", "pytest", *options, HERE / f"of_{framework}.py", GUIDE, folder=tmp_path)


@pytest.mark.parametrize("name", sorted(set(GUIDES.values()) - set(FRAMEWORKS)))
def test_the_pages_of_what_needs_no_adapter_run(name: str, tmp_path: Path) -> None:
    run(name, GUIDE, folder=tmp_path)

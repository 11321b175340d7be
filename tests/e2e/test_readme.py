"""What the README says one can paste, pasted into a fresh copy of the project, in its order."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra import paths
from tests.engines.loopback import free_port

pytestmark = [pytest.mark.e2e, pytest.mark.own_stack]
README = (paths.PROJECT / "README.md").read_text()
NOT_CLONED = (
    ".git",
    ".venv",
    ".build",
    ".local",
    ".hypothesis",
    "*_cache",
    "__pycache__",
    "*.egg-info",
    "node_modules",
)
BUILT = ("layers", "archives")
ELSEWHERE = ("make test", "sam local", "cdk deploy")
"""The gate itself; what needs a container engine; what needs an account: other tests deploy and
invoke without them.
"""
PROBLEM = "urn:palimpsest:problem:"


def pasted() -> list[str]:
    """The shell blocks, in order."""
    blocks: list[str] = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return [block for block in blocks if not any(command in block for command in ELSEWHERE)]


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Path]:
    """The project as one who has just cloned it has it, but for the layers: who built them from the
    same locks and sources before has them, by their hashes.
    """
    project = tmp_path / "palimpsest"
    shutil.copytree(paths.PROJECT, project, ignore=shutil.ignore_patterns(*NOT_CLONED))
    unfinished = shutil.ignore_patterns("*.unfinished")
    with paths.building():
        for built in (paths.BUILD / name for name in BUILT if (paths.BUILD / name).is_dir()):
            shutil.copytree(
                built, project / ".build" / built.name, ignore=unfinished, copy_function=linked
            )
    yield project
    run(project, "make reset")


def linked(file: str, to: str) -> None:
    """As a copy is, but at once, where both are on one disk."""
    try:
        os.link(file, to)
    except OSError:
        shutil.copy2(file, to)


def run(project: Path, commands: str, **more: str) -> str:
    ours = (
        "PALIMPSEST_",
        "SEARCH",
        "MAKE",
        "ARGS",
    )  # who pastes has none of what this run was told
    told = {name: value for name, value in os.environ.items() if not name.startswith(ours)} | more
    shell = ["bash", "-euo", "pipefail", "-c", commands]
    done = subprocess.run(shell, cwd=project, env=told, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"{commands}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_everything_that_can_be_pasted_works_on_a_fresh_clone(clone: Path) -> None:
    start, *blocks = pasted()
    assert start == "make start\n"
    assert blocks
    run(clone, start, PORT=str(free_port()))
    said = run(clone, "\n".join(blocks))  # one shell: later blocks use what earlier ones set
    assert said.count('"session_id"') >= 1
    assert PROBLEM not in said, said


def test_every_make_target_that_is_named_is_there() -> None:
    there = set(
        re.findall(r"^([a-z0-9-]+):.*##", (paths.PROJECT / "Makefile").read_text(), re.MULTILINE)
    )
    named = set(re.findall(r"\bmake ([a-z][a-z0-9-]*)", README))
    assert named
    assert named <= there


def test_every_file_that_is_linked_is_there() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)", README) if "://" not in link]
    assert links
    places = [paths.PROJECT / link for link in links]
    assert [
        place
        for place in places
        if not (place.exists() or list(place.parent.glob(f"{place.name}-*")))
    ] == []

"""The README's commands and its program, run in a fresh copy of the project, in their order; and
its length, targets and links.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra import paths
from tests.documents.pages import Block, blocks_of, compare
from tests.documents.shell import unknown_calls
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
WORDS = 700
"""A reader gets through a landing page in three minutes."""


def commands() -> list[str]:
    """The commands of the first shell block, without their comments."""
    first = next(block for block in blocks_of("README.md") if block.language == "sh")
    return [line.partition("#")[0].strip() for line in first.text.splitlines()]


def program() -> tuple[Block, Block]:
    """The first program, and what the README says it prints."""
    python, answer, *_ = (
        block for block in blocks_of("README.md") if block.language in ("python", "text")
    )
    return python, answer


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


def test_the_commands_and_the_program_work_on_a_fresh_clone(clone: Path) -> None:
    start, install, demo = commands()
    assert (start, demo) == ("make start", "make demo")
    assert unknown_calls([shlex.split(install)]) == []
    run(clone, start, PORT=str(free_port()))
    python, answer = program()
    (clone / "hello.py").write_text(python.text)
    client = clone / "layers" / "client" / "python"  # what `pip install` would bring
    compare(run(clone, f"{sys.executable} hello.py", PYTHONPATH=str(client)), answer)


def test_the_landing_page_is_short() -> None:
    assert len(README.split()) <= WORDS


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

"""docs/typescript.md is followed as it is printed: its files, and its commands in their order."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from layers.client.write_types import DESCRIPTION
from tests.documents.pages import blocks_of
from tests.engines import npm
from tests.served import KEY, Served, busy, lost

PAGE = "typescript.md"
NEEDED = ("openapi-fetch", "openapi-typescript", "typescript", "@types/node")
INSTALLED = "#!/bin/sh\nexit 0\n"
"""Stands in for npm: what it would install is there."""
NPX = f"""#!/bin/sh
program=$1; shift
exec node "{npm.NODE_MODULES}/.bin/$program" "$@"
"""
TOLD = re.compile(r"I live in Hamburg\.\n\[ 'I live in Hamburg\.' \]\n$")


def test_the_page_is_followed_as_it_is_printed(served: Served, tmp_path: Path) -> None:
    if missing := [name for name in NEEDED if not (npm.NODE_MODULES / name).is_dir()]:
        reason = f"{', '.join(missing)} of npm are not installed"
        pytest.fail(reason) if npm.required() else pytest.skip(reason)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in {"npm": INSTALLED, "npx": NPX}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o700)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "node_modules").symlink_to(npm.NODE_MODULES)
    served.before, served.after = [busy(503, code="contention")], [lost]

    printed = ""
    for block in blocks_of(PAGE):
        if block.language == "typescript":
            assert block.title, f"{block.place} has no file's name"
            (tmp_path / block.title).write_text(block.text)
        if block.language == "sh":
            printed += _run(block.text, tmp_path, served.url)
    assert TOLD.search(printed), printed
    first, again, repeated = [headers["idempotency-key"] for method, _, headers in served.seen][:3]
    assert first == again == repeated


def _run(commands: str, folder: Path, url: str) -> str:
    """Run commands of the page. The service of the test has no page with its description, so the
    file of the description takes its place.
    """
    commands = commands.replace("$PALIMPSEST_URL/v1/openapi.json", str(DESCRIPTION))
    path = os.pathsep.join([str(folder / "programs"), str(npm.NODE.parent), os.environ["PATH"]])
    done = subprocess.run(  # noqa: S603 - our own page
        ["bash", "-euo", "pipefail", "-c", commands],  # noqa: S607
        cwd=folder,
        env=os.environ | {"PALIMPSEST_URL": url, "PALIMPSEST_API_KEY": KEY, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout

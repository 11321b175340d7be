"""Commands that start and stop the whole service on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from palimpsest_client.connection import PROFILE, login_file

PROGRAM = "palimpsest_local.stack"
LOCAL = "local"
"""The profile of the service on this machine."""


def up(
    port: Annotated[
        int | None, typer.Option(help="The port. Default: that of the last start, or 4566.")
    ] = None,
    search: Annotated[str, typer.Option(help="embedded, dynamodb, opensearch or none.")] = "",
) -> None:
    """Start the whole service on this machine. Only Python is needed. Later commands find it."""
    status = _run("up", "--port", "" if port is None else str(port), "--search", search)
    if status:
        raise typer.Exit(status)
    _keep(_folder() / "endpoint.json")


def down() -> None:
    """Stop the service on this machine. Its data stays."""
    raise typer.Exit(_run("down"))


def _run(*words: str) -> int:
    if find_spec("palimpsest_local") is None:
        raise ValueError(
            "The service itself is not installed, only its client: pip install 'palimpsest[cli]'"
        )
    there = os.environ | {"PALIMPSEST_LOCAL_DIR": str(_folder())}
    return subprocess.run(
        [sys.executable, "-m", PROGRAM, *words], env=there, check=False
    ).returncode


def _folder() -> Path:
    """Return the folder with the service's data and address."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "palimpsest" / "local"


def _keep(endpoint: Path) -> None:
    """Store the address and the key of the service as the profile `local`. If there is no default
    profile yet, store them there too.
    """
    known = json.loads(endpoint.read_text())
    kept = json.dumps({"url": known["url"], "api_key": known["api_key"]}) + "\n"
    os.environ.pop(PROFILE, None)
    default = login_file()
    os.environ[PROFILE] = LOCAL
    for file in (login_file(), *([] if default.exists() else [default])):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.touch(mode=0o600)
        file.chmod(0o600)
        file.write_text(kept)

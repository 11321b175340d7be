"""Runs the whole service on this machine from an installed wheel: `python -m palimpsest_local.stack
up|down|reset|logs`.

The wheel has the sources of the deployment in one archive. A clone of the project starts the same
template, functions and local AWS. The sources are unpacked once, and their requirements are
installed from the lock files into an environment of their own.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

ARCHIVE = "stack.zip"
COMMANDS = {"up": "start", "down": "stop", "reset": "reset", "logs": "logs"}
"""The command of the deployment that each command of this module runs."""


class CannotStart(Exception):
    """The stack can't be prepared. The message says why."""


def main(arguments: list[str] | None = None) -> int:
    """Run a command, and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m palimpsest_local.stack")
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--port", default="")
    parser.add_argument("--search", default="")
    parsed = parser.parse_args(arguments)
    try:
        folder = prepared(home())
    except (CannotStart, OSError, subprocess.CalledProcessError) as error:
        print(f"The service can't be prepared: {error}", file=sys.stderr)
        return 1
    command = [_python(folder), "-m", "infra.local", COMMANDS[parsed.command]]
    options = ["--port", parsed.port, "--search", parsed.search] if parsed.command == "up" else []
    state = os.environ.get("PALIMPSEST_LOCAL_DIR") or str(home() / "local")
    there = os.environ | {"PALIMPSEST_LOCAL_DIR": state}
    return subprocess.run([*command, *options], cwd=folder, env=there, check=False).returncode


def home() -> Path:
    """Return the folder that holds all data of the stack."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "palimpsest"


def prepared(within: Path) -> Path:
    """Return the folder with the unpacked deployment, whose requirements are installed. Another
    version of the wheel has another folder. Raises `CannotStart`.
    """
    archive = files("palimpsest_local").joinpath(ARCHIVE)
    if not archive.is_file():
        raise CannotStart(
            "this is not an installed wheel. In a clone of the project, run `make start`."
        )
    content = archive.read_bytes()
    folder = within / f"stack-{hashlib.sha256(content).hexdigest()[:12]}"
    if not (folder / ".venv" / "done").is_file():
        if not folder.is_dir():
            _unpack(content, folder)
        _install(folder)
        (folder / ".venv" / "done").touch()
    return folder


def _unpack(content: bytes, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with TemporaryDirectory(dir=folder.parent) as place:
        archive = Path(place, ARCHIVE)
        archive.write_bytes(content)
        whole = Path(place, "whole")
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(whole)
        shutil.move(whole, folder)


def _install(folder: Path) -> None:
    """Install what the deployment needs. Every requirement has its hash in a lock file."""
    print("Installing what the service needs, once", flush=True)
    venv.create(folder / ".venv", with_pip=True, clear=True)
    python = _python(folder)
    quiet = ("--quiet", "--require-hashes", "--only-binary", ":all:", "-r")
    pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    subprocess.run([*pip, *quiet, "requirements-installer.txt"], cwd=folder, check=True)
    uv = [python, "-m", "uv", "pip", "install", "--python", python]
    subprocess.run([*uv, *quiet, "requirements-infra.txt"], cwd=folder, check=True)


def _python(folder: Path) -> str:
    return str(folder / ".venv" / "bin" / "python")


if __name__ == "__main__":
    sys.exit(main())

"""Finds the Python for functions on this machine: the version they declare, if it is installed and
works.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

DECLARED = "3.13"
CHECK = f"import sys, venv; sys.exit(not sys.version.startswith('{DECLARED}.'))"


@cache
def function_python() -> str:
    """Return an interpreter of the declared version, or else the one of this program."""
    return next((python for python in _candidates() if _runs(python)), sys.executable)


@cache
def of_version(version: str) -> str | None:
    """Return an interpreter of that version ("3.13"): the one for functions, or this program's."""
    return next(
        (python for python in (function_python(), sys.executable) if version_of(python) == version),
        None,
    )


@cache
def version_of(python: str) -> str:
    """Return major and minor version of the interpreter, as "3.13"."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run(
        [python, "-c", code], check=True, capture_output=True, text=True
    ).stdout.strip()


def _candidates() -> Iterator[str]:
    name = f"python{DECLARED}"
    if sys.version.startswith(f"{DECLARED}."):
        yield sys.executable
    if path := shutil.which(name):
        yield path
    managed = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(map(str, managed.glob(f"versions/{DECLARED}.*/bin/{name}")), reverse=True)


def _runs(python: str) -> bool:
    """Return whether the interpreter works. A name on the path may be a shim of a version that is
    not installed.
    """
    try:
        return (
            subprocess.run(
                [python, "-c", CHECK], check=False, capture_output=True, timeout=20
            ).returncode
            == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False

"""Runs the suite that ships for stores of one's own, as its users run it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from layers.testing.suite import written


def shop_of(folder: Path, source: str) -> Path:
    """Write a module `shop` with this source, and the suite beside it. Return the folder."""
    (folder / "shop.py").write_text(source)
    written(folder / "palimpsest_testing")
    return folder


def run(shop: Path, makes: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--pyargs",
        "palimpsest_testing",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    command += [
        f"-pno:{plugin}" for plugin in ("schemathesis", "typeguard", "anyio", "xdist")
    ]  # they cost seconds
    environment = {**os.environ, "PYTHONPATH": str(shop), "HYPOTHESIS_PROFILE": ""}
    return subprocess.run(  # noqa: S603 - a program of our own
        [*command, "--palimpsest-stores", makes, *more],
        cwd=shop, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip

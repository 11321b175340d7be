"""Writes the archive of the deployment's sources, which an installed wheel has."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[2]
WHOLE = ("infra", "functions", "layers")
ALONE = (
    "LICENSE",
    "NOTICE",
    "cdk.json",
    "pyproject.toml",
    "requirements-infra.txt",
    "requirements-installer.txt",
    "requirements-local.txt",
)
LEFT_OUT = {"__pycache__", ".build", "testing"}
BEGAN = (1980, 1, 1, 0, 0, 0)
"""The time of every file in the archive, so that the same sources make the same archive."""


def written(target: Path) -> Path:
    """Write the archive, and return its path."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(_files()):
            name = zipfile.ZipInfo(str(file.relative_to(PROJECT)), BEGAN)
            name.compress_type = zipfile.ZIP_DEFLATED
            name.external_attr = file.stat().st_mode << 16
            archive.writestr(name, file.read_bytes())
    return target


def _files() -> Iterator[Path]:
    yield from (PROJECT / name for name in ALONE)
    for folder in WHOLE:
        for file in (PROJECT / folder).rglob("*"):
            parts = set(file.relative_to(PROJECT).parts)
            if file.is_file() and not parts & LEFT_OUT and file.suffix != ".pyc":
                yield file

"""The files in which the data of a release is kept: one value a line, as JSON."""

import hashlib
import json
from pathlib import Path
from typing import Any

RELEASES = Path(__file__).parent
TENANT = "of-a-release"
TABLES = ("TenantsTable", "SessionsTable", "MemoriesTable")
ITEMS, OBJECTS = "items.jsonl", "objects.jsonl"
ANSWERS, JOBS = "answers.jsonl", "jobs.jsonl"
LONG = 1_000
"""Longer texts are kept as their digests."""


def releases() -> list[str]:
    """Return the versions of all releases whose data is kept, the oldest first."""
    found = [folder.name for folder in RELEASES.iterdir() if (folder / ITEMS).is_file()]
    return sorted(found, key=lambda version: [int(part) for part in version.split(".")[:3]])


def lines(release: str, file: str) -> list[Any]:
    return [json.loads(line) for line in (RELEASES / release / file).read_text().splitlines()]


def shortened(value: Any) -> Any:
    """The value with a digest in place of each long text."""
    if isinstance(value, str) and len(value) > LONG:
        return f"sha256:{hashlib.sha256(value.encode()).hexdigest()}"
    if isinstance(value, dict):
        return {name: shortened(each) for name, each in value.items()}
    return [shortened(each) for each in value] if isinstance(value, list) else value

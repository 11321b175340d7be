"""The files in which the data of a release is kept: one value a line, as JSON."""

import json
from pathlib import Path
from typing import Any

RELEASES = Path(__file__).parent
TENANT = "of-a-release"
TABLES = ("TenantsTable", "SessionsTable", "MemoriesTable")
ITEMS, OBJECTS, MESSAGES = "items.jsonl", "objects.jsonl", "messages.jsonl"
ANSWERS, JOBS = "answers.jsonl", "jobs.jsonl"


def releases() -> list[str]:
    """Return the versions of all releases whose data is kept, the oldest first."""
    found = [folder.name for folder in RELEASES.iterdir() if (folder / ITEMS).is_file()]
    return sorted(found, key=lambda version: [int(part) for part in version.split(".")[:3]])


def lines(release: str, file: str) -> list[Any]:
    return [json.loads(line) for line in (RELEASES / release / file).read_text().splitlines()]

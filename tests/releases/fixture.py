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
TEMPLATES = "templates.json"
NOTES = "notes.sha256"
"""The digest of the release's section in the changelog."""
ABSENT = "(absent)"
MOVING = {"decay"}
"""Fields that change with time alone."""
LONG = 1_000
"""Longer texts are kept as their digests."""


def releases() -> list[str]:
    """Return the versions of all releases whose data is kept, the oldest first."""
    versions = [folder.name for folder in RELEASES.iterdir() if (folder / ITEMS).is_file()]
    return sorted(versions, key=lambda version: [int(part) for part in version.split(".")[:3]])


def lines(release: str, file: str) -> list[Any]:
    return [json.loads(line) for line in (RELEASES / release / file).read_text().splitlines()]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def shortened(value: Any) -> Any:
    """The value with a digest in place of each long text."""
    if isinstance(value, str) and len(value) > LONG:
        return f"sha256:{digest(value)}"
    if isinstance(value, dict):
        return {name: shortened(element) for name, element in value.items()}
    return [shortened(element) for element in value] if isinstance(value, list) else value


def difference(kept: Any, now: Any, place: str = "") -> str | None:
    """Return the first place at which `now` does not hold what was kept, or None. Fields that
    only `now` has are new, and are no difference.
    """
    if isinstance(kept, dict) and isinstance(now, dict):
        named = {name: value for name, value in kept.items() if name not in MOVING}
        pairs = [(name, value, now.get(name, ABSENT)) for name, value in named.items()]
    elif isinstance(kept, list) and isinstance(now, list) and len(kept) == len(now):
        pairs = [(str(number), *pair) for number, pair in enumerate(zip(kept, now, strict=True))]
    else:
        return None if kept == now else f"{place}: {kept!r} was kept, {now!r} was found"
    places = (difference(old, new, f"{place}.{name}") for name, old, new in pairs)
    return next(filter(None, places), None)

"""Writes a manifest of a stack's tables, with a digest of each row, and compares tables with one.

python -m infra.operate.manifest [--stack Palimpsest-prod] --out tables.manifest

A manifest holds digests alone, no key and no text. Reading a table costs half a read unit for each
4 KB.
"""

import argparse
import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra.operate import target

TABLES = ("TenantsTable", "SessionsTable", "MemoriesTable")
Rows = Mapping[str, str]
"""The digest of each row's content, by the digest of its key."""
Manifest = Mapping[str, Rows]
"""The rows of each table, by the output that names the table."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many rows of a table are equal to those of a manifest or of another table, differ from
    them, are missing, or are not in it.
    """

    same: int
    differing: int
    missing: int
    more: int

    @property
    def holds(self) -> bool:
        return not (self.differing or self.missing or self.more)

    def beside(self, other: str) -> str:
        """Return the counts in words. `other` names what the table was compared with."""
        return (
            f"{self.same} rows as in {other}, {self.differing} differ, {self.missing} are "
            f"missing, {self.more} are not in it"
        )


def rows(dynamodb: Any, table: str) -> dict[str, str]:
    """Return the rows of a table. Raises `ClientError`."""
    pages = dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return {
        _digest(item["pk"], item["sk"]): _digest(item) for page in pages for item in page["Items"]
    }


def of_tables(dynamodb: Any, names: Mapping[str, str]) -> Manifest:
    """Return the manifest of these tables, which are named by outputs of a stack."""
    return {output: rows(dynamodb, names[output]) for output in TABLES}


def compared(kept: Rows, now: Rows) -> Comparison:
    states = Counter(_state(kept.get(key), now.get(key)) for key in kept.keys() | now.keys())
    return Comparison(states["same"], states["differs"], states["missing"], states["more"])


def _state(kept: str | None, now: str | None) -> str:
    if kept == now:
        return "same"
    if now is None:
        return "missing"
    return "more" if kept is None else "differs"


def _digest(*values: Any) -> str:
    text = json.dumps(_ordered(values), sort_keys=True, default=bytes.hex)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _ordered(value: Any) -> Any:
    """Return the value with sets in one order. DynamoDB returns their elements in any."""
    if isinstance(value, Mapping):
        return {
            name: sorted(elements) if name in ("SS", "NS", "BS") else _ordered(elements)
            for name, elements in value.items()
        }
    return [_ordered(part) for part in value] if isinstance(value, list | tuple) else value


def write(manifest: Manifest, file: Path) -> None:
    lines = (
        f"{output} {key} {content}\n"
        for output, kept in manifest.items()
        for key, content in sorted(kept.items())
    )
    with gzip.open(file, "wt") as written:
        written.writelines(lines)


def read(file: Path) -> Manifest:
    """Return the manifest in a file. Raises `SystemExit` if the file is not a manifest."""
    try:
        with gzip.open(file, "rt") as kept:
            return _parsed(kept)
    except (OSError, EOFError, ValueError) as error:
        raise SystemExit(f"{file} is not a manifest: {error}") from error


def _parsed(lines: Iterable[str]) -> Manifest:
    tables: dict[str, dict[str, str]] = {output: {} for output in TABLES}
    for output, key, content in _fields(lines):
        if output not in tables:
            raise ValueError(f"the table {output} is missing")
        tables[output][key] = content
    return tables


def _fields(lines: Iterable[str]) -> Iterator[list[str]]:
    return (line.split() for line in lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m infra.operate.manifest", description=(__doc__ or "").splitlines()[0]
    )
    target.add_argument(parser)
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    parsed = parser.parse_args(arguments)
    place = target.chosen(parsed)
    try:
        manifest = of_tables(place.client("dynamodb"), place.outputs())
    except (ClientError, BotoCoreError) as error:
        raise SystemExit(f"The tables of {place.stack} can't be read: {error}") from error
    write(manifest, parsed.out)
    counts = ", ".join(f"{len(kept)} of {output}" for output, kept in manifest.items())
    print(f"{parsed.out} has the rows of {place.stack}: {counts}")


if __name__ == "__main__":
    main()

"""Files of memories: what this client writes of a user, and what other systems have written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2

from palimpsest_client.connection import HERE
from palimpsest_client.errors import ConnectionLost

JSON = dict[str, Any]
PART = 600_000
"""Characters of an import's part: in JSON less than the 5 MB of a request."""


def write_whole(path: str | PathLike[str], rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows as JSON Lines, the whole file or none; return how many rows that are."""
    unfinished, count = Path(f"{path}.unfinished"), 0
    with unfinished.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":"), sort_keys=True) + "\n")
            count += 1
    unfinished.replace(path)
    return count


def lines_of(addresses: Iterable[str]) -> Iterator[JSON]:
    """The lines of the files of an export, one after the other. An address needs no key, and gets none. Raises
    `ConnectionLost`.
    """
    for address in addresses:
        is_here = urlsplit(address).hostname in HERE
        try:
            with httpx2.Client(trust_env=not is_here, timeout=60) as http, http.stream("GET", address) as answer:
                answer.raise_for_status()
                yield from (json.loads(line) for line in _lines(answer.iter_text()) if line)
        except httpx2.HTTPError as error:
            raise ConnectionLost(f"A file of the export can't be read ({type(error).__name__}).") from error


def parts_of(path: str | PathLike[str]) -> Iterator[str]:
    """The text of a file in parts that one request holds."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        while part := file.read(PART):
            yield part


def is_export(file: Path) -> bool:
    """Whether it is an export of this service: its first line says so."""
    with file.open(encoding="utf-8") as text:
        return '"format":"palimpsest"' in text.readline(PART).replace(" ", "")


def memories_of_mem0(file: Path) -> list[JSON]:
    """The memories of an export of mem0: what `get_all` answers, a list of it, or a line for each. Its ids, times and
    metadata are kept. Raises `ValueError` with the place of what is none.
    """
    text = file.read_text(encoding="utf-8")
    try:
        found = json.loads(text)
    except ValueError:
        found = [_line(line, f"{file}, line {at}") for at, line in enumerate(text.split("\n"), 1) if line.strip()]
    if isinstance(found, Mapping):
        found = found.get("results", found.get("memories", [found]))
    return list(_statements(found, file))


def _lines(parts: Iterable[str]) -> Iterator[str]:
    """Lines end with a newline alone: others that Python splits at (U+2028 …) stand in the texts of JSON."""
    begun = ""
    for part in parts:
        *whole, begun = (begun + part).split("\n")
        yield from whole
    yield begun


def _line(line: str, place: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise ValueError(f"{place} is not JSON: {error}") from error


def _statements(found: Any, file: Path) -> Iterator[JSON]:
    if not isinstance(found, list):
        raise ValueError(f"{file} holds no list of memories.")  # noqa: TRY004 - the file is wrong
    for number, each in enumerate(found, 1):
        text = each.get("memory") or each.get("text") if isinstance(each, Mapping) else None
        if not isinstance(text, str):
            raise ValueError(f"{file}: memory {number} has no text under `memory`.")  # noqa: TRY004 - the file is wrong
        given = each.get("metadata")
        known = {name: value for name, value in given.items() if _is_scalar(value)} if isinstance(given, dict) else {}
        metadata = {**known, **({"mem0_id": str(each["id"])} if each.get("id") else {})}
        since = {"valid_from": each["created_at"]} if each.get("created_at") else {}
        yield {"type": "fact", "content": text, "metadata": metadata, **since}


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)

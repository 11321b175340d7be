"""Files of memories, in the form of this client and in the forms of other systems."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

import anyio.to_thread
import httpx2

from palimpsest_client.connection import HERE
from palimpsest_client.errors import ConnectionLost, NotAPath, NotTheService
from palimpsest_client.said import Said

JSON = dict[str, Any]
PART = 600_000
"""The characters in a part of an import. In JSON, that is less than the 5 MB of a request."""
LONGEST_LINE = 16_000_000
"""The most characters in a line of an export. A message has at most the 5 MB of a request."""


def write_whole(path: str | PathLike[str], rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows as JSON Lines, and return the number of rows. The file is written whole or not at
    all.
    """
    unfinished, count = Path(f"{path}.unfinished"), 0
    with unfinished.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(
                json.dumps(row, ensure_ascii=False, separators=(",", ":"), sort_keys=True) + "\n"
            )
            count += 1
    unfinished.replace(path)
    return count


async def async_write_whole(
    path: str | PathLike[str], rows: AsyncIterable[Mapping[str, Any]]
) -> int:
    """Write rows as `write_whole` does, in a thread of its own."""
    held = [row async for row in rows]
    return await anyio.to_thread.run_sync(write_whole, path, held)


def lines_of(addresses: Iterable[str]) -> Iterator[JSON]:
    """Yield the lines of the files of an export, one file after the other. The addresses need no
    key, so none is sent. Raises `ConnectionLost` and `NotTheService`.
    """
    for address in addresses:
        if urlsplit(address).scheme not in ("http", "https"):
            raise NotTheService(
                address, "the address of an export's file does not begin with https://"
            )
        is_here = urlsplit(address).hostname in HERE
        try:
            with (
                httpx2.Client(trust_env=not is_here, timeout=60) as http,
                http.stream("GET", address) as answer,
            ):
                answer.raise_for_status()
                yield from (json.loads(line) for line in _lines(answer.iter_text()) if line)
        except (ValueError, RecursionError) as error:
            raise NotTheService(
                address, "a file of its export has a line that is not JSON"
            ) from error
        except httpx2.HTTPError as error:
            raise ConnectionLost(
                f"A file of the export can't be read ({type(error).__name__})."
            ) from error


async def async_lines_of(addresses: Iterable[str]) -> AsyncIterator[JSON]:
    """Yield lines as `lines_of` does. Each file is read in a thread of its own."""
    for address in addresses:
        for row in await anyio.to_thread.run_sync(_held_lines, address):
            yield row


def _held_lines(address: str) -> list[JSON]:
    return list(lines_of([address]))


def parts_of(path: str | PathLike[str]) -> Iterator[str]:
    """Yield the text of a file in parts that fit into one request. Raises `NotAPath`."""
    with _opened(path, newline="") as file:
        while part := file.read(PART):
            yield part


def _opened(path: str | PathLike[str], *, newline: str | None = None) -> TextIO:
    """Open a file to read its text. Raises `NotAPath` if `path` is a text that can't be the path of
    a file.
    """
    try:
        return Path(path).open(encoding="utf-8", newline=newline)
    except (OSError, ValueError) as error:
        text = str(path).strip()
        if text.startswith(("{", "[")) or "\n" in text:
            raise NotAPath(
                "The path of a file is needed, and this is a text. Write the text to a file. The "
                "lines of a small export can also be given to `begin_import`."
            ) from error
        raise


def conversations(
    source: str | PathLike[str] | Sequence[Said], session: str | None = None
) -> list[tuple[str | None, list[Said]]]:
    """Return the conversations of a file, or the given conversation. `session` is the id for
    conversations without an id.
    """
    if isinstance(source, str | PathLike):
        return [(named or session, list(messages)) for named, messages in transcripts(source)]
    return [(session, list(source))]


def transcripts(file: str | PathLike[str]) -> Iterator[tuple[str | None, list[JSON]]]:
    """Yield the conversations of a file, each with its session's id (None if the file names none).

    In JSON Lines, each line is a conversation (`{"session_id": …, "messages": […]}`, or the list of
    messages alone) or one message. Successive messages with the same `session_id` are one
    conversation. A JSON file holds a conversation, or a list of them. Raises `ValueError`, which
    names the line, and `NotAPath`.
    """
    path = Path(file)
    with _opened(file) as opened:
        text = opened.read()
    rows = _rows(text, path) if path.suffix in (".jsonl", ".ndjson") else _whole(text, path)
    begun: list[JSON] = []
    session: str | None = None
    for row in rows:
        if isinstance(row, Mapping) and "messages" not in row:
            message = dict(row)
            named = message.pop("session_id", None)
            if begun and named != session:
                yield session, begun
                begun = []
            session = named
            begun.append(message)
            continue
        if begun:
            yield session, begun
            begun = []
        named, messages = (
            (row.get("session_id"), row["messages"]) if isinstance(row, Mapping) else (None, row)
        )
        if not isinstance(messages, list):
            raise ValueError(f"{path}: the messages of {named or 'a conversation'} aren't a list.")  # noqa: TRY004
        yield named, messages
    if begun:
        yield session, begun


def is_export(file: Path) -> bool:
    """Return whether the file is an export of this service, which its first line says."""
    with file.open(encoding="utf-8") as text:
        return '"format":"palimpsest"' in text.readline(PART).replace(" ", "")


def memories_of_mem0(file: Path) -> list[JSON]:
    """Return the memories in an export of mem0. The file is an answer of `get_all`, a list of
    memories, or one memory in each line. Ids, times and metadata are kept. Raises `ValueError`,
    which names the place of an invalid part.
    """
    text = file.read_text(encoding="utf-8")
    try:
        value = json.loads(text)
    except ValueError:
        value = list(_rows(text, file))
    if isinstance(value, Mapping):
        value = value.get("results", value.get("memories", [value]))
    return list(_statements(value, file))


def _lines(parts: Iterable[str]) -> Iterator[str]:
    """Yield lines. Only a newline ends a line, because texts in JSON may contain other characters
    that Python counts as line breaks (U+2028 …).
    """
    begun = ""
    for part in parts:
        *whole, begun = (begun + part).split("\n")
        yield from whole
        if len(begun) > LONGEST_LINE:
            raise ValueError(f"A line has more than {LONGEST_LINE:,} characters.")
    yield begun


def _rows(text: str, file: Path) -> Iterator[Any]:
    """Yield the contents of the lines. Raises `ValueError`, which names the number of a line that
    isn't JSON.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _parsed(line, f"{file}, line {number}")


def _whole(text: str, file: Path) -> Iterator[Any]:
    """Yield the conversations of a file that is a single JSON value."""
    value = _parsed(text, str(file))
    is_many = (
        isinstance(value, list)
        and value
        and not (isinstance(value[0], Mapping) and "role" in value[0])
    )
    yield from value if is_many else [value]


def _parsed(text: str, place: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{place} is not JSON: {error}") from error
    if not isinstance(value, list | dict):
        raise ValueError(f"{place} is neither a list nor an object.")  # noqa: TRY004 - the file is wrong, no type
    return value


def _statements(memories: Any, file: Path) -> Iterator[JSON]:
    if not isinstance(memories, list):
        raise ValueError(f"{file} holds no list of memories.")  # noqa: TRY004 - the file is wrong
    for number, memory in enumerate(memories, 1):
        text = memory.get("memory") or memory.get("text") if isinstance(memory, Mapping) else None
        if not isinstance(text, str):
            raise ValueError(f"{file}: memory {number} has no text under `memory`.")  # noqa: TRY004 - the file is wrong
        stored = memory.get("metadata")
        known = (
            {name: value for name, value in stored.items() if _is_scalar(value)}
            if isinstance(stored, dict)
            else {}
        )
        metadata = {**known, **({"mem0_id": str(memory["id"])} if memory.get("id") else {})}
        since = {"valid_from": memory["created_at"]} if memory.get("created_at") else {}
        yield {"type": "fact", "content": text, "metadata": metadata, **since}


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)

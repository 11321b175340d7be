"""Reads conversations from a file. It is an export of ChatGPT or Claude (JSON, or the archive that
these products send), JSON Lines, plain text, or Markdown.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from palimpsest_client.chats import chatgpt, claude, dialogue, rows
from palimpsest_client.chats.conversation import Chat
from palimpsest_client.chats.speakers import Speakers
from palimpsest_client.chats.stamps import DayOrder

TEXTS = (".txt", ".text", ".md", ".markdown")
LINES = (".jsonl", ".ndjson")
LARGEST = 4_000_000_000
"""The most bytes of a file in an archive. A larger one may be made to fill the memory."""


def chats(
    path: str | PathLike[str], *, speakers: Speakers | None = None, dates: DayOrder | None = None
) -> list[Chat]:
    """Return the conversations of a file, oldest first, without empty ones. Raises `ValueError`,
    which names what can't be read. The whole file is read first, so that nothing is stored of a
    file that can't be read.
    """
    file, known = Path(path), speakers or Speakers()
    if file.suffix.lower() in TEXTS:
        text = file.read_text(encoding="utf-8-sig")
        conversations = dialogue.chats_of(text, name=file.stem, speakers=known, dates=dates)
    elif file.suffix.lower() in LINES:
        conversations = rows.chats_in(file, known)
    else:
        conversations = list(_of_json(file, known))
    with_messages = [chat for chat in conversations if chat.messages]
    if not with_messages:
        raise ValueError(f"{file} has no conversations.")
    return sorted(with_messages, key=lambda chat: chat.began)


def _of_json(file: Path, speakers: Speakers) -> Iterator[Chat]:
    for place, document in _documents(file):
        conversations = (
            document.get("conversations", document) if isinstance(document, dict) else document
        )
        listed = conversations if isinstance(conversations, list) else [conversations]
        if any(map(_is_exported, listed)):
            yield from _exported(listed, place)
        elif zipfile.is_zipfile(file):
            raise ValueError(f"{place} isn't an export of ChatGPT or Claude.")
        else:
            yield from rows.chats_in(file, speakers)


def _is_exported(row: Any) -> bool:
    return chatgpt.is_chatgpt(row) or claude.is_claude(row)


def _exported(listed: Sequence[Any], place: str) -> Iterator[Chat]:
    for number, row in enumerate(listed, 1):
        if chatgpt.is_chatgpt(row):
            yield chatgpt.chat_of(row)
        elif claude.is_claude(row):
            yield claude.chat_of(row)
        else:
            raise ValueError(f"{place}: conversation {number} has another form than the others.")


def _documents(file: Path) -> Iterator[tuple[str, Any]]:
    """Yield the JSON documents of a file with their names: the file itself, or the conversations in
    an archive.
    """
    if not zipfile.is_zipfile(file):
        yield str(file), _parsed(file.read_bytes(), str(file))
        return
    with zipfile.ZipFile(file) as archive:
        names = [name for name in archive.namelist() if _has_conversations(name)]
        if not names:
            raise ValueError(f"{file} has no conversations.json.")
        for name in sorted(names):
            if archive.getinfo(name).file_size > LARGEST:
                raise ValueError(f"{file}: {name} is too large.")
            yield f"{file}: {name}", _parsed(archive.read(name), f"{file}: {name}")


def _has_conversations(name: str) -> bool:
    last = name.rpartition("/")[2]
    return last.startswith("conversations") and last.endswith(".json")


def _parsed(content: bytes, place: str) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place} is not JSON: {error}") from error


def is_archive(file: Path) -> bool:
    return zipfile.is_zipfile(file)


def has_chats(path: str | PathLike[str]) -> bool:
    """Return whether a file seems to have conversations, by its name or its first row. A file
    without them may have memories.
    """
    file = Path(path)
    if file.suffix.lower() in TEXTS or zipfile.is_zipfile(file):
        return True
    row = _first_row(file.read_text(encoding="utf-8-sig"))
    if not isinstance(row, dict):
        return isinstance(row, list)
    is_message = any(name in row for name in rows.SPEAKERS)
    return _is_exported(row) or "messages" in row or "conversations" in row or is_message


def _first_row(text: str) -> Any:
    for part in (text, text.lstrip().partition("\n")[0]):
        try:
            row = json.loads(part)
        except (ValueError, RecursionError):
            continue
        return row[0] if isinstance(row, list) and row else row
    return None

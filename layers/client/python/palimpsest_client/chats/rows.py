"""Reads conversations in JSON and JSON Lines, in the service's own form and in usual forms of other
programs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from palimpsest_client.chats.conversation import JSON, Chat, time_of
from palimpsest_client.chats.speakers import Speakers
from palimpsest_client.exchange import transcripts

TEXTS = ("content", "text", "message", "body")
SPEAKERS = ("role", "sender", "author", "speaker", "from")
TIMES = ("timestamp", "created_at", "create_time", "time", "date", "ts")
ROLES = frozenset({"user", "assistant", "system", "developer", "tool", "item"})


def chats_in(file: Path, speakers: Speakers) -> list[Chat]:
    """Return the conversations of a file. Raises `ValueError`, which names the place that can't be
    read.
    """
    return [
        _chat(session, messages, speakers, f"{file}, conversation {number}")
        for number, (session, messages) in enumerate(transcripts(file), 1)
    ]


def _chat(session: str | None, rows: Sequence[Any], speakers: Speakers, place: str) -> Chat:
    left_out = Counter[str]()
    read = [
        _read(row, speakers, f"{place}, message {number}") for number, row in enumerate(rows, 1)
    ]
    left_out["empty messages"] += read.count(None)
    messages = [message for message in read if message is not None]
    has_user = any(message["role"] == "user" and "name" not in message for message in messages)
    names = tuple(dict.fromkeys(message["name"] for message in messages if "name" in message))
    return Chat(
        session,
        messages,
        session or "",
        left_out,
        names,
        has_user=has_user or not names,
        is_named_by_caller=True,
    )


def _read(row: Any, speakers: Speakers, place: str) -> JSON | None:
    """Return a message in the form that the service accepts. A message of the chat API stays as it
    is.
    """
    if not isinstance(row, Mapping):
        raise ValueError(f"{place} is not a message.")  # noqa: TRY004 - the file is wrong
    said_by = next((row[name] for name in SPEAKERS if isinstance(row.get(name), str)), None)
    if said_by is None:
        raise ValueError(f"{place} has no role: name its speaker under `role`.")
    taken = {*SPEAKERS, *TEXTS, *TIMES}
    fields: JSON = {name: value for name, value in row.items() if name not in taken}
    fields |= _speaker(str(said_by), row, speakers)
    text = next((row[name] for name in TEXTS if row.get(name)), None)
    at = next((at for name in TIMES if (at := time_of(row.get(name)))), None)
    fields |= {} if text is None else {"content": text}
    fields |= {} if at is None else {"timestamp": at}
    return fields if text is not None or "tool_calls" in fields or "item" in fields else None


def _speaker(said_by: str, row: Mapping[str, Any], speakers: Speakers) -> JSON:
    if said_by not in ROLES:
        role, name = speakers.role_of(said_by)
        return {"role": role} if name is None else {"role": role, "name": name}
    name = row.get("name")
    if said_by == "user" and isinstance(name, str) and speakers.is_user(name):
        return {"role": said_by, "name": None}
    return {"role": said_by}

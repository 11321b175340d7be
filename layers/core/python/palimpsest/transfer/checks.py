"""Checks each line of an import before anything is stored: its form, its place, and that what it
holds can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from palimpsest.clock import LATEST, milliseconds
from palimpsest.conversations.allowed import check_room
from palimpsest.conversations.configuration import parsed
from palimpsest.conversations.drafts import MAX_CALL_BYTES
from palimpsest.conversations.lifecycle import DAY
from palimpsest.conversations.message import (
    CHAT_FIELDS,
    ITEM,
    MAX_MESSAGE_BYTES,
    SYSTEM_ROLES,
    Message,
    size_of,
)
from palimpsest.conversations.session import Compaction, Head, Settings
from palimpsest.errors import BadRequest, FieldError, TooLarge, Unprocessable
from palimpsest.incoming import json_object
from palimpsest.memory.ports import Progress
from palimpsest.scope import checked_id
from palimpsest.transfer.agreement import require
from palimpsest.transfer.lines import (
    BEGINNINGS,
    FORMAT,
    HEADER,
    VERSION,
    Row,
    head_of,
    names_of,
    read,
    settings_of,
)
from palimpsest.transfer.memory_checks import check_namespace, check_record, check_vector
from palimpsest.transfer.places import (
    MOST_MESSAGES,
    SLACK,
    WITHIN,
    Before,
    check_id,
    check_size,
    moment_of,
)

MOST_DAYS = 36_500
MOST_BESIDE = 256  # characters of a message's id and time as its caller gave them


class _Part(TypedDict):
    type: str


class _NamedCall(TypedDict):
    name: str


class _Call(TypedDict, total=False):
    id: str
    type: str
    function: _NamedCall
    custom: _NamedCall


class _Chat(TypedDict, total=False):
    """The fields of a stored message that are read."""

    content: str | list[_Part] | None
    refusal: str | None
    name: str
    tool_calls: list[_Call]
    tool_call_id: str


CHAT: TypeAdapter[Any] = TypeAdapter(_Chat)


def rows(lines: Iterable[bytes], *, now: datetime) -> Iterator[Row]:
    """The rows of a whole file, each checked. Raises `Unprocessable` (`invalid_import`) that names
    the line. If a session contradicts itself as a whole, the line is the session's first.
    """
    number, before = 0, Before(milliseconds(now))
    for number, text in enumerate(lines, 1):
        with _naming(number):
            row = _checked(text, number=number, before=before)
        if before.session is not None and row["kind"] not in WITHIN:
            with _naming(before.session.number):
                before.session.check_end()
        before = before.then(row, number=number)
        yield row
    if not before.is_over:
        raise _refused(number + 1, "the file is cut off: its last line must be of the kind `end`")


@contextmanager
def _naming(number: int) -> Iterator[None]:
    """Errors raised here are reported for the line of this number."""
    try:
        yield
    except (Unprocessable, BadRequest, TooLarge) as error:
        raise _refused(number, error.detail) from error
    except (LookupError, TypeError, ValueError) as error:
        raise _refused(number, "it is not JSON, or lacks a field") from error


def _checked(text: bytes, *, number: int, before: Before) -> Row:
    row = json_object(text.decode())
    if row.get("kind") not in BEGINNINGS:
        raise Unprocessable("it is of no known kind")
    if before.is_over or (number == 1) != (row["kind"] == "export"):
        raise Unprocessable(
            "a file begins with a line of the kind `export` and ends with one of the kind `end`"
        )
    if row["kind"] in WITHIN and row[WITHIN[row["kind"]]] != before.owner:
        raise Unprocessable("it belongs to nothing before it")
    form, names = BEGINNINGS[row["kind"]]
    allowed = names | (names_of(form) if form else set())
    if unknown := row.keys() - {"kind"} - allowed:
        raise Unprocessable(f"{min(unknown)} is not known")
    if row["kind"] == "export" and row != HEADER:
        raise Unprocessable(f"it must say format {FORMAT} and version {VERSION}")
    if row["kind"] == "end" and row.get("lines") != number:
        raise Unprocessable(f"lines are missing: it says {row.get('lines')}")
    if check := CHECKS.get(row["kind"]):
        check(row, before)
    return row


def _check_user(row: Row, _: Before) -> None:
    check_id(row, "user_id")


def _check_session(row: Row, before: Before) -> None:
    check_id(row, "session_id")
    head, settings = head_of(row, user="somebody"), settings_of(row, user="somebody")
    numbers = [value for value in astuple(head) if isinstance(value, int)]
    require(min(numbers) >= 0, "head: a number is negative")
    require(max(numbers) <= LATEST, "head: a number is too large")
    newest = max(
        head.base,
        head.window_start - 1,
        head.cleared,
        head.summary,
        head.last_user_seq,
        head.outside,
    )
    require(
        max(newest, head.armed_seq) <= head.seq < MOST_MESSAGES,
        "head: a number is above the newest message's",
    )
    require(head.status != "deleted", "head: a deleted session is in no export")
    _check_owner(head, settings)
    _check_kept(head, settings)
    begun = moment_of(settings.created_at, before, "settings: created_at")
    require(
        begun - SLACK <= head.updated_at <= before.now + SLACK,
        "head: updated_at is no time of the session",
    )
    if settings.system is not None:
        require(
            settings.system.get("role") in SYSTEM_ROLES,
            "settings: system is no message of the system",
        )
        CHAT.validate_python(settings.system)
    require(settings.system_seq <= head.seq, "settings: system_seq is no message of the session")
    check_room(system=settings.system, memory=[settings.memory, settings.metadata])
    parsed(dict(settings.memory))


def _check_owner(head: Head, settings: Settings) -> None:
    require(head.agent == settings.agent, "head and settings name different agents")
    if head.agent is not None:
        checked_id(head.agent, field="agent")


def _check_kept(head: Head, settings: Settings) -> None:
    days = settings.retention
    require(
        days is None or 0 <= days <= MOST_DAYS, f"settings: retention is from 0 to {MOST_DAYS} days"
    )
    wanted = head.retention if days is None else days * DAY or None
    require(
        head.retention == wanted and head.retention != 0,
        "head: retention is not what its settings say",
    )


def _check_progress(row: Row, before: Before) -> None:
    progress, newest = read(Progress, row, session=row["session_id"]), before.lines.head.seq
    require(0 <= progress.through <= newest, "through is no message of the session")
    is_within = all(0 < first <= last <= progress.through for first, last in progress.parked)
    require(is_within, "parked names no messages that were come to")
    check_size(row)


def _check_compaction(row: Row, before: Before) -> None:
    made, head = read(Compaction, row), before.lines.head
    weights = (made.tokens_before, made.tokens_after, made.summary_tokens)
    is_within = head.base < made.first <= made.last <= head.seq and 0 <= made.newest <= head.seq
    is_sound = is_within and min(weights) >= 0 and max(weights) <= LATEST
    require(is_sound, "first, last and newest are no messages of the session, or a weight is none")
    moment_of(made.created_at, before, "created_at")
    check_size(row)
    before.lines.check_compaction(made)


def _check_message(row: Row, before: Before) -> None:
    message = read(Message, row)
    role = message.chat.get("role")
    is_weighed = 0 <= message.tokens <= MAX_CALL_BYTES and message.turn >= 0
    is_sound = (
        role in {*CHAT_FIELDS, ITEM}
        and (role != "tool" or "tool_call_id" in message.chat)
        and is_weighed
    )
    require(is_sound, "no message has such a role, turn or weight")
    CHAT.validate_python(message.chat)
    most = MAX_MESSAGE_BYTES if role in SYSTEM_ROLES else MAX_CALL_BYTES
    require(
        size_of(message.chat, message.extra, message.metadata) <= most,
        f"it has more than {most} bytes",
    )
    beside = (message.client_id, message.timestamp, message.redacted_at)
    require(
        max(len(each or "") for each in beside) <= MOST_BESIDE,
        f"a field has more than {MOST_BESIDE} characters",
    )
    moment_of(message.created_at, before, "created_at")
    if message.redacted_at is not None:
        moment_of(message.redacted_at, before, "redacted_at")
    before.lines.check_message(message)


CHECKS: Mapping[str, Callable[[Row, Before], None]] = {
    "user": _check_user,
    "session": _check_session,
    "progress": _check_progress,
    "compaction": _check_compaction,
    "message": _check_message,
    "record": check_record,
    "namespace": check_namespace,
    "vector": check_vector,
}
"""The required form of the lines of a kind."""


def _refused(number: int, detail: str) -> Unprocessable:
    return Unprocessable(
        f"Line {number} of the import can't be taken: {detail.removesuffix('.')}.",
        code="invalid_import",
        errors=(FieldError(f"line {number}", detail),),
    )

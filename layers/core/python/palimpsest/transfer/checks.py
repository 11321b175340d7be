"""Checks each line of an import before anything is stored: its form, its place, and that what it holds can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from palimpsest.clock import LATEST
from palimpsest.conversations import CHAT_FIELDS, ITEM, Message
from palimpsest.conversations.configuration import parsed
from palimpsest.conversations.session import Compaction
from palimpsest.errors import BadRequest, FieldError, Unprocessable
from palimpsest.graph import is_sound
from palimpsest.incoming import json_object
from palimpsest.memory import GRAPH, MAX_CONTENT, Record
from palimpsest.memory.ports import Progress
from palimpsest.scope import checked_id
from palimpsest.transfer import (
    BEGINNINGS,
    FORMAT,
    HEADER,
    VERSION,
    Row,
    head_of,
    line,
    names_of,
    read,
    settings_of,
    topic_of,
)
from palimpsest.vectors import MAX_DIMENSION, Namespace, StoredVector

WITHIN = dict.fromkeys(("progress", "compaction", "message"), "session_id") | {"vector": "namespace"}
"""Kinds of lines that stand behind that of their session or namespace, and the field that names it."""
LARGEST = 350_000  # bytes of a line of a memory: an item of DynamoDB holds 400 KB


@dataclass(frozen=True, slots=True)
class Before:
    """What stands before a line: the end of the file, or a line of this session or namespace. The session's messages
    have numbers above `seq`, up to `newest`; the namespace's vectors have so many numbers.
    """

    is_over: bool = False
    owner: str | None = None
    seq: int = 0
    newest: int = 0
    dimension: int = 0

    def then(self, row: Row) -> Before:
        match row["kind"]:
            case "session":
                head = head_of(row, user="somebody")
                return Before(owner=row["session_id"], seq=head.base, newest=head.seq)
            case "namespace":
                return Before(owner=row["name"], dimension=row["dimension"])
            case "message":
                return replace(self, seq=row["seq"])
            case kind:
                return self if kind in WITHIN else Before(is_over=kind == "end")


class _Part(TypedDict):
    type: str


class _Named(TypedDict):
    name: str


class _Call(TypedDict, total=False):
    id: str
    type: str
    function: _Named
    custom: _Named


class _Chat(TypedDict, total=False):
    """What is read of a stored message."""

    content: str | list[_Part] | None
    refusal: str | None
    name: str
    tool_calls: list[_Call]
    tool_call_id: str


CHAT: TypeAdapter[Any] = TypeAdapter(_Chat)


def rows(lines: Iterable[bytes]) -> Iterator[Row]:
    """The rows of a whole file, each checked. Raises `Unprocessable` (`invalid_import`) that names the line."""
    number, before = 0, Before()
    for number, text in enumerate(lines, 1):
        try:
            row = _checked(text, number=number, before=before)
        except (LookupError, TypeError, ValueError, Unprocessable, BadRequest) as error:
            ours = error if isinstance(error, Unprocessable | BadRequest) else None
            detail = ours.detail if ours else "it is not JSON, or lacks a field"
            raise _refused(number, detail) from error
        before = before.then(row)
        yield row
    if not before.is_over:
        raise _refused(number + 1, "the file is cut off: its last line must be of the kind `end`")


def _checked(text: bytes, *, number: int, before: Before) -> Row:
    row = json_object(text.decode())
    if row.get("kind") not in BEGINNINGS:
        raise Unprocessable("it is of no known kind")
    if before.is_over or (number == 1) != (row["kind"] == "export"):
        raise Unprocessable("a file begins with a line of the kind `export` and ends with one of the kind `end`")
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
    _check_id(row, "user_id")


def _check_id(row: Row, name: str) -> None:
    value = row.get(name)
    _check(isinstance(value, str), f"{name} is no text")
    checked_id(str(value), field=name)


def _check(is_so: bool, wrong: str) -> None:  # noqa: FBT001 - a condition and what is wrong without it
    if not is_so:
        raise Unprocessable(wrong)


def _check_session(row: Row, _: Before) -> None:
    _check_id(row, "session_id")
    head, settings = head_of(row, user="somebody"), settings_of(row, user="somebody")
    numbers = [value for value in astuple(head) if isinstance(value, int)]
    _check(min(numbers) >= 0, "head: a number is negative")
    _check(max(numbers) <= LATEST, "head: a number is too large")
    newest = max(head.base, head.window_start - 1, head.cleared, head.summary, head.last_user_seq)
    _check(newest <= head.seq, "head: a number is above that of the newest message")
    _check(_is_time(settings.created_at), "settings: created_at is no time")
    parsed(dict(settings.memory))


def _check_record(row: Row, _: Before) -> None:
    _check_id(row, "id")
    for said in ({}, *row.get("said", ())):
        record = read(Record, {**row, **said})
        ends = [each * 1000 for each in (record.expires_at, record.confirmed_at) if each is not None]
        moments = (record.valid_from, record.created_at, *ends)
        _check(min(moments) >= 0 and max(moments) <= LATEST, "a time is before 1970 or after the year 9999")
    _check(0 < len(record.content) <= MAX_CONTENT, f"content has 1 to {MAX_CONTENT} characters")
    _check((record.retention or 0) >= 0, "retention is negative")
    shares = (record.importance, record.confidence)
    _check(min(shares) >= 0 and max(shares) <= 1, "importance and confidence are from 0 to 1")
    _check(record.type not in GRAPH or is_sound(record), f"its data holds no {record.type}")
    alone = {name: value for name, value in row.items() if name != "said"}
    _check(len(line(alone)) <= LARGEST, f"it has more than {LARGEST} bytes")
    topic_of(row)


def _check_progress(row: Row, before: Before) -> None:
    progress = read(Progress, row, session=row["session_id"])
    _check(0 <= progress.through <= before.newest, "through is no message of the session")


def _check_compaction(row: Row, before: Before) -> None:
    made = read(Compaction, row)
    is_within = 0 < made.first <= made.last <= before.newest and min(made.tokens_before, made.tokens_after) >= 0
    _check(is_within, "first and last are no messages of the session, or a weight is negative")
    _check(_is_time(made.created_at), "created_at is no time")


def _check_message(row: Row, before: Before) -> None:
    message = read(Message, row)
    is_next = before.seq < message.seq <= before.newest
    _check(is_next, "seq: messages stand in the order of their numbers, up to the session's newest")
    role = message.chat.get("role")
    is_sound = role in {*CHAT_FIELDS, ITEM} and min(message.turn, message.tokens) >= 0
    _check(
        is_sound and (role != "tool" or "tool_call_id" in message.chat), "no message has such a role, turn or weight"
    )
    CHAT.validate_python(message.chat)
    _check(_is_time(message.created_at), "created_at is no time")


def _check_namespace(row: Row, _: Before) -> None:
    space = read(Namespace, row)
    checked_id(space.name, field="name")
    _check(0 < space.dimension <= MAX_DIMENSION, f"dimension is from 1 to {MAX_DIMENSION}")


def _check_vector(row: Row, before: Before) -> None:
    vector = read(StoredVector, row)
    checked_id(vector.id, field="id")
    _check(len(vector.values) == before.dimension, "it has another dimension than its namespace")


CHECKS: Mapping[str, Callable[[Row, Before], None]] = {
    "user": _check_user,
    "session": _check_session,
    "progress": _check_progress,
    "compaction": _check_compaction,
    "message": _check_message,
    "record": _check_record,
    "namespace": _check_namespace,
    "vector": _check_vector,
}
"""What the lines of a kind must hold."""


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _refused(number: int, detail: str) -> Unprocessable:
    return Unprocessable(
        f"Line {number} of the import can't be taken: {detail.removesuffix('.')}.",
        code="invalid_import",
        errors=(FieldError(f"line {number}", detail),),
    )

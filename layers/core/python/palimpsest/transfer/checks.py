"""Checks each line of an import before anything is stored: its form, its place, and that what it holds can be read."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from palimpsest.clock import EPOCH, LATEST, milliseconds, stamp
from palimpsest.conversations import CHAT_FIELDS, ITEM, MAX_MESSAGE_BYTES, SYSTEM_ROLES, Message, size_of
from palimpsest.conversations.configuration import parsed
from palimpsest.conversations.drafts import MAX_CALL_BYTES
from palimpsest.conversations.lifecycle import DAY
from palimpsest.conversations.manage import check_room
from palimpsest.conversations.session import Compaction, Head, Settings
from palimpsest.errors import BadRequest, FieldError, TooLarge, Unprocessable
from palimpsest.graph import is_sound
from palimpsest.incoming import json_object
from palimpsest.memory import GRAPH, MAX_ALSO, MAX_CONTENT, MAX_METADATA_TERMS, Record
from palimpsest.memory.conditions import leaves
from palimpsest.memory.ports import Progress
from palimpsest.models import unit, unpacked
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
from palimpsest.transfer.agreement import SessionLines, require
from palimpsest.vectors import MAX_DIMENSION, Namespace, StoredVector

WITHIN = dict.fromkeys(("progress", "compaction", "message"), "session_id") | {"vector": "namespace"}
"""Kinds of lines that stand behind that of their session or namespace, and the field that names it."""
LARGEST = 350_000  # bytes of a line of one item: an item of DynamoDB holds 400 KB
MOST_MESSAGES = 10**12  # numbers of messages have 12 digits in keys
MOST_DAYS = 36_500
MOST_BESIDE = 256  # characters of a message's id and time as its caller gave them


SLACK = 300_000
"""Milliseconds by which times of a file may be ahead of this server's: another server wrote it."""


@dataclass(frozen=True, slots=True)
class Before:
    """What stands before a line: the end of the file, or a line of this session or namespace. The namespace's vectors
    have so many numbers, and the last of them had this id. `now` is in epoch milliseconds.
    """

    now: int
    is_over: bool = False
    owner: str | None = None
    session: SessionLines | None = None
    dimension: int = 0
    vector: str = ""

    def then(self, row: Row, *, number: int) -> Before:
        match row["kind"]:
            case "session":
                begun = SessionLines(row["session_id"], head_of(row, user="somebody"), number=number)
                return Before(self.now, owner=row["session_id"], session=begun)
            case "namespace":
                return Before(self.now, owner=row["name"], dimension=row["dimension"])
            case "vector":
                return replace(self, vector=row["id"])
            case kind:
                return self if kind in WITHIN else Before(self.now, is_over=kind == "end")

    @property
    def lines(self) -> SessionLines:
        """Those of the session that the line belongs to."""
        if self.session is None:
            raise Unprocessable("it belongs to no session")
        return self.session


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


def rows(lines: Iterable[bytes], *, now: datetime) -> Iterator[Row]:
    """The rows of a whole file, each checked. Raises `Unprocessable` (`invalid_import`) that names the line: of what
    contradicts a session as a whole, that of the session.
    """
    number, before = 0, Before(milliseconds(now))
    for number, text in enumerate(lines, 1):
        with _naming(number):
            row = _checked(text, number=number, before=before)
        if before.session is not None and row["kind"] not in WITHIN:
            with _naming(before.session.number):
                before.session.end()
        before = before.then(row, number=number)
        yield row
    if not before.is_over:
        raise _refused(number + 1, "the file is cut off: its last line must be of the kind `end`")


@contextmanager
def _naming(number: int) -> Iterator[None]:
    """Whatever is wrong here is wrong with the line of this number."""
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
    require(isinstance(value, str), f"{name} is no text")
    checked_id(str(value), field=name)


def _check_session(row: Row, before: Before) -> None:
    _check_id(row, "session_id")
    head, settings = head_of(row, user="somebody"), settings_of(row, user="somebody")
    numbers = [value for value in astuple(head) if isinstance(value, int)]
    require(min(numbers) >= 0, "head: a number is negative")
    require(max(numbers) <= LATEST, "head: a number is too large")
    newest = max(head.base, head.window_start - 1, head.cleared, head.summary, head.last_user_seq, head.outside)
    require(max(newest, head.armed_seq) <= head.seq < MOST_MESSAGES, "head: a number is above the newest message's")
    require(head.status != "deleted", "head: a deleted session is in no export")
    _check_owner(head, settings)
    _check_kept(head, settings)
    begun = _moment(settings.created_at, before, "settings: created_at")
    require(begun - SLACK <= head.updated_at <= before.now + SLACK, "head: updated_at is no time of the session")
    if settings.system is not None:
        require(settings.system.get("role") in SYSTEM_ROLES, "settings: system is no message of the system")
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
    require(days is None or 0 <= days <= MOST_DAYS, f"settings: retention is from 0 to {MOST_DAYS} days")
    wanted = head.retention if days is None else days * DAY or None
    require(head.retention == wanted and head.retention != 0, "head: retention is not what its settings say")


def _check_record(row: Row, before: Before) -> None:
    _check_id(row, "id")
    record = read(Record, row)
    said = [record, *(read(Record, {**row, **each}) for each in row.get("said", ()))]
    for each in said:
        ends = [] if each.confirmed_at is None else [each.confirmed_at * 1000]
        moments = (each.valid_from, each.created_at, *ends)
        require(min(moments) >= 0 and max(moments) <= before.now + SLACK, "a time is before 1970 or still to come")
        _check_source(each)
    expires_at = LATEST if record.expires_at is None else record.expires_at * 1000
    require(record.created_at < expires_at <= LATEST, "expires_at is before it was saved, or after the year 9999")
    require(0 < len(record.content) <= MAX_CONTENT, f"content has 1 to {MAX_CONTENT} characters")
    shares = (record.importance, record.confidence)
    require(min(shares) >= 0 and max(shares) <= 1, "importance and confidence are from 0 to 1")
    require(record.type not in GRAPH or is_sound(record), f"its data holds no {record.type}")
    require(sum(1 for _ in leaves(record.metadata)) <= MAX_METADATA_TERMS, "metadata has too many values")
    require(record.embedding is None or _is_vector(unpacked(record.embedding)), "embedding is no vector")
    alone = {name: value for name, value in row.items() if name != "said"}
    _check_size(alone)
    topic = topic_of(row)
    if topic is not None:
        is_newest = topic.order >= max(each.order for each in said) and topic.order[0] <= before.now + SLACK
        require(is_newest, "topic: its order is before that of a statement, or still to come")


def _check_source(record: Record) -> None:
    for name in filter(None, (record.source.session, record.agent, *record.also)):
        checked_id(name, field="source")
    require(len(record.also) <= MAX_ALSO, f"also has at most {MAX_ALSO} sessions")
    is_place = all(0 <= seq < MOST_MESSAGES for seq in record.source.seqs) and record.rank >= 0
    require(is_place, "source: a number is no message's")


def _check_size(row: Row) -> None:
    require(len(line(row)) <= LARGEST, f"it has more than {LARGEST} bytes")


def _check_progress(row: Row, before: Before) -> None:
    progress, newest = read(Progress, row, session=row["session_id"]), before.lines.head.seq
    require(0 <= progress.through <= newest, "through is no message of the session")
    is_within = all(0 < first <= last <= progress.through for first, last in progress.parked)
    require(is_within, "parked names no messages that were come to")
    _check_size(row)


def _check_compaction(row: Row, before: Before) -> None:
    made, head = read(Compaction, row), before.lines.head
    weights = (made.tokens_before, made.tokens_after, made.summary_tokens)
    is_within = head.base < made.first <= made.last <= head.seq and 0 <= made.newest <= head.seq
    is_sound = is_within and min(weights) >= 0 and max(weights) <= LATEST
    require(is_sound, "first, last and newest are no messages of the session, or a weight is none")
    _moment(made.created_at, before, "created_at")
    _check_size(row)
    before.lines.compaction(made)


def _check_message(row: Row, before: Before) -> None:
    message = read(Message, row)
    role = message.chat.get("role")
    is_weighed = 0 <= message.tokens <= MAX_CALL_BYTES and message.turn >= 0
    is_sound = role in {*CHAT_FIELDS, ITEM} and (role != "tool" or "tool_call_id" in message.chat) and is_weighed
    require(is_sound, "no message has such a role, turn or weight")
    CHAT.validate_python(message.chat)
    most = MAX_MESSAGE_BYTES if role in SYSTEM_ROLES else MAX_CALL_BYTES
    require(size_of(message.chat, message.extra, message.metadata) <= most, f"it has more than {most} bytes")
    beside = (message.client_id, message.timestamp, message.redacted_at)
    require(max(len(each or "") for each in beside) <= MOST_BESIDE, f"a field has more than {MOST_BESIDE} characters")
    _moment(message.created_at, before, "created_at")
    if message.redacted_at is not None:
        _moment(message.redacted_at, before, "redacted_at")
    before.lines.message(message)


def _check_namespace(row: Row, _: Before) -> None:
    space = read(Namespace, row)
    checked_id(space.name, field="name")
    require(0 < space.dimension <= MAX_DIMENSION, f"dimension is from 1 to {MAX_DIMENSION}")


def _check_vector(row: Row, before: Before) -> None:
    vector = read(StoredVector, row)
    checked_id(vector.id, field="id")
    require(vector.id > before.vector, "vectors stand in the order of their ids, each once")
    require(len(vector.values) == before.dimension, "it has another dimension than its namespace")
    require(_is_vector(vector.values), "its values have no direction, or are too large")
    _check_size(row)


def _is_vector(values: Sequence[float]) -> bool:
    try:
        unit(array("f", values))
    except (ValueError, OverflowError):
        return False
    return True


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


def _moment(text: str, before: Before, name: str) -> int:
    """The time in epoch milliseconds. Raises `Unprocessable` unless it is one of the past, as a store writes it."""
    try:
        moment = datetime.fromisoformat(text)
        is_time = moment.tzinfo is not None and stamp(moment.astimezone(UTC)) == text and moment >= EPOCH
    except (ValueError, OverflowError):
        is_time = False
    require(is_time, f"{name} is no time")
    require(milliseconds(moment) <= before.now + SLACK, f"{name} is still to come")
    return milliseconds(moment)


def _refused(number: int, detail: str) -> Unprocessable:
    return Unprocessable(
        f"Line {number} of the import can't be taken: {detail.removesuffix('.')}.",
        code="invalid_import",
        errors=(FieldError(f"line {number}", detail),),
    )

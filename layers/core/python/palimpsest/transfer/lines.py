"""The format of an export: a line of JSON for each thing that is stored, of a kind and a version; checked when read."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, asdict, astuple, dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from palimpsest.conversations.configuration import parsed
from palimpsest.conversations.messages import CHAT_FIELDS, ITEM, Message
from palimpsest.conversations.session import Compaction, Head, Settings
from palimpsest.errors import BadRequest, FieldError, Unprocessable
from palimpsest.graph.things import is_sound
from palimpsest.memory.ports import Progress
from palimpsest.memory.records import GRAPH, Record
from palimpsest.scope import checked_id
from palimpsest.vectors.ports import Namespace, StoredVector

FORMAT, VERSION = "palimpsest", 1
HEADER = {"kind": "export", "format": FORMAT, "version": VERSION}
Row = Mapping[str, Any]
T = TypeVar("T")
WITHIN = dict.fromkeys(("progress", "compaction", "message"), "session_id") | {"vector": "namespace"}
"""Kinds of lines that stand behind that of their session or namespace, and the field that names it."""

_OWN: Mapping[type, frozenset[str]] = {
    Head: frozenset({
        "user", "version", "epoch", "job", "compaction", "attempts", "not_before", "batch", "batch_first", "expires_at",
        "extract_job", "withdrawn", "day", "day_messages", "day_tokens", "day_bytes",
    }),
    Settings: frozenset({"user", "due_at", "base"}),
    Message: frozenset({"large"}),
    Compaction: frozenset(),
    Record: frozenset({"index_state", "version"}),
    Progress: frozenset({"session", "waiting", "version"}),
    Namespace: frozenset({"count", "generation", "epoch", "version"}),
    StoredVector: frozenset(),
}  # fmt: skip
"""What a store knows of its own work, or of the place where something stands: that is made anew by an import."""
_BEGINNINGS: Mapping[str, tuple[type | None, frozenset[str]]] = {
    "export": (None, frozenset({"format", "version"})),
    "user": (None, frozenset({"user_id"})),
    "session": (None, frozenset({"session_id", "head", "settings"})),
    "progress": (Progress, frozenset({"session_id"})),
    "compaction": (Compaction, frozenset({"session_id"})),
    "message": (Message, frozenset({"session_id"})),
    "record": (Record, frozenset({"said", "topic"})),
    "namespace": (Namespace, frozenset()),
    "vector": (StoredVector, frozenset({"namespace"})),
    "end": (None, frozenset({"lines"})),
}


@dataclass(frozen=True, slots=True)
class Before:
    """What stands before a line: the end of the file, or a line of this session or namespace. The session's messages
    have numbers above `seq`, up to `newest`.
    """

    is_over: bool = False
    owner: str | None = None
    seq: int = 0
    newest: int = 0

    def then(self, row: Row) -> Before:
        match row["kind"]:
            case "session":
                head = head_of(row, user="somebody")
                return Before(owner=row["session_id"], seq=head.base, newest=head.seq)
            case "namespace":
                return Before(owner=row["name"])
            case "message":
                return replace(self, seq=row["seq"])
            case kind:
                return self if kind in WITHIN else Before(is_over=kind == "end")


def values(thing: Any) -> dict[str, Any]:
    """The fields of what is stored, without those at their defaults and those that are a store's own."""
    own = _OWN[type(thing)]
    return {
        field.name: _plain(value)
        for field in fields(thing)
        if field.name not in own and (value := getattr(thing, field.name)) != _default(field)
    }


def read(form: type[T], given: Row, **own: Any) -> T:
    """What the fields say, as it is stored; `own` are fields that the file does not have. Raises `Unprocessable`."""
    names = {field.name for field in fields(form)} - _OWN[form]  # type: ignore[arg-type] # they are dataclasses
    taken = {name: value for name, value in given.items() if name in names}
    if "open_calls" in taken:
        taken["open_calls"] = bytes.fromhex(taken["open_calls"])
    try:
        return cast(T, _adapter(cast(Any, form)).validate_python({**taken, **own}))
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise Unprocessable(f"{where}: {fault['msg']}", code="invalid_import") from error


def line(row: Row) -> bytes:
    """A line of the file. Equal rows give equal lines."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode() + b"\n"


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
    row = json.loads(text)
    if not isinstance(row, dict) or row.get("kind") not in _BEGINNINGS:
        raise Unprocessable("it is of no known kind")
    if before.is_over or (number == 1) != (row["kind"] == "export"):
        raise Unprocessable("a file begins with a line of the kind `export` and ends with one of the kind `end`")
    if row["kind"] in WITHIN and row[WITHIN[row["kind"]]] != before.owner:
        raise Unprocessable("it belongs to nothing before it")
    form, names = _BEGINNINGS[row["kind"]]
    allowed = names | ({field.name for field in fields(form)} - _OWN[form] if form else set())
    if unknown := row.keys() - {"kind"} - allowed:
        raise Unprocessable(f"{min(unknown)} is not known")
    if row["kind"] == "export" and row != HEADER:
        raise Unprocessable(f"it must say format {FORMAT} and version {VERSION}")
    if row["kind"] == "end" and row.get("lines") != number:
        raise Unprocessable(f"lines are missing: it says {row.get('lines')}")
    _check_values(row, before)
    return row


def _check_values(row: Row, before: Before) -> None:
    match row["kind"]:
        case "user":
            checked_id(str(row.get("user_id")), field="user_id")
        case "session":
            _check_head(head_of(row, user="somebody"))
            parsed(dict(settings_of(row, user="somebody").memory))
            checked_id(str(row.get("session_id")), field="session_id")
        case "record":
            _check_record(row)
        case "progress":
            read(Progress, row, session=str(row.get("session_id")))
        case "compaction":
            _check_compaction(read(Compaction, row), before)
        case "message":
            _check_message(read(Message, row), before)
        case kind if form := _BEGINNINGS[kind][0]:
            read(form, row)


def _check_head(head: Head) -> None:
    if min(value for value in astuple(head) if isinstance(value, int)) < 0:
        raise Unprocessable("head: a number is negative")
    if max(head.base, head.window_start - 1, head.cleared, head.summary, head.last_user_seq) > head.seq:
        raise Unprocessable("head: a number is above that of the newest message")


def _check_record(row: Row) -> None:
    for said in ({}, *row.get("said", ())):
        record = read(Record, {**row, **said})
    if record.type in GRAPH and not is_sound(record):
        raise Unprocessable(f"its data holds no {record.type}")


def _check_compaction(made: Compaction, before: Before) -> None:
    if not 0 < made.first <= made.last <= before.newest or min(made.tokens_before, made.tokens_after) < 0:
        raise Unprocessable("first and last are no messages of the session, or a weight is negative")


def _check_message(message: Message, before: Before) -> None:
    if not before.seq < message.seq <= before.newest:
        raise Unprocessable("seq: messages stand in the order of their numbers, up to the session's newest")
    if message.chat.get("role") not in {*CHAT_FIELDS, ITEM} or min(message.turn, message.tokens) < 0:
        raise Unprocessable("no message has such a role, turn or weight")


def head_of(row: Row, **own: Any) -> Head:
    return read(Head, row["head"], **own)


def settings_of(row: Row, **own: Any) -> Settings:
    return read(Settings, row["settings"], **own)


def _refused(number: int, detail: str) -> Unprocessable:
    return Unprocessable(
        f"Line {number} of the import can't be taken: {detail}.",
        code="invalid_import",
        errors=(FieldError(f"line {number}", detail),),
    )


def _default(field: Any) -> Any:
    if field.default is not MISSING:
        return field.default
    return MISSING if field.default_factory is MISSING else field.default_factory()


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple | frozenset | array) else value


@cache
def _adapter(form: Any) -> TypeAdapter[Any]:
    return TypeAdapter(form)

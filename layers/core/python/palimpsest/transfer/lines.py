"""The lines of an export. Each line has one thing of a kind. A kind defines how its things are read
and restored.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from palimpsest.conversations.message import Message
from palimpsest.conversations.session import Compaction, Head, Settings
from palimpsest.errors import Unprocessable
from palimpsest.memory.ports import Progress
from palimpsest.memory.record import Order, Record
from palimpsest.scope import UserScope
from palimpsest.vectors.ports import Namespace, StoredVector

FORMAT, VERSION = "palimpsest", 1

HEADER = {"kind": "export", "format": FORMAT, "version": VERSION}

Row = Mapping[str, Any]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TopicState:
    """The state of a record's topic: its current record, the order of its last statement, the
    record that has ended, and the time that was named for this end. Files of earlier versions lack
    the last two.
    """

    record: str | None
    order: Order
    ended: str | None = None
    ended_on: str | None = None


_OWN: Mapping[type, frozenset[str]] = {
    Head: frozenset(
        {
            "user",
            "version",
            "epoch",
            "job",
            "compaction",
            "attempts",
            "not_before",
            "batch",
            "batch_first",
            "expires_at",
            "extract_job",
            "withdrawn",
            "frozen_at",
            "day",
            "day_messages",
            "day_tokens",
            "day_bytes",
        }
    ),
    Settings: frozenset({"user", "due_at", "base"}),
    Message: frozenset({"large"}),
    Compaction: frozenset(),
    Record: frozenset({"index_state", "version"}),
    Progress: frozenset({"session", "waiting", "version"}),
    Namespace: frozenset({"count", "generation", "epoch", "version"}),
    StoredVector: frozenset(),
    TopicState: frozenset(),
}
"""The fields that a store needs only for its own work or placement. No file has them, and an import
sets them again.
"""


def values(thing: Any) -> dict[str, Any]:
    """Return the fields of a stored thing, without defaults and without a store's own fields."""
    own = _OWN[type(thing)]
    return {
        field.name: _plain(value)
        for field in fields(thing)
        if field.name not in own and (value := getattr(thing, field.name)) != _default(field)
    }


def read(form: type[T], row: Row, **own: Any) -> T:
    """Return the stored thing that the fields describe. `own` has the fields that the file does not
    have. Raises `Unprocessable`.
    """
    if not isinstance(row, Mapping):
        raise Unprocessable(f"{form.__name__.lower()} must be an object", code="invalid_import")
    names = names_of(cast(Any, form))
    taken = {name: value for name, value in row.items() if name in names}
    if "open_calls" in taken:
        taken["open_calls"] = bytes.fromhex(taken["open_calls"])
    try:
        return cast(T, _adapter(cast(Any, form)).validate_python({**taken, **own}))
    except ValidationError as error:
        raise Unprocessable(fault_of(error), code="invalid_import") from error


def fault_of(error: ValidationError, *, within: int = 0) -> str:
    """Return the first fault that pydantic found. The first `within` names of the field's path are
    left out.
    """
    fault = error.errors()[0]
    where = ".".join(map(str, fault["loc"][within:]))
    match fault["type"]:
        case "union_tag_invalid" | "union_tag_not_found":
            return "it is of no known kind"
        case "extra_forbidden":
            return f"{where} is not known"
        case "missing":
            return f"{where} is missing"
    return f"{where}: {fault['msg']}"


def names_of(form: type) -> set[str]:
    """Return the names of the fields that a line has of this type."""
    return {field.name for field in fields(form)} - _OWN[form]


def line(row: Row) -> bytes:
    """Return the row as a line of the file. Equal rows give equal lines."""
    return (
        json.dumps(row, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode() + b"\n"
    )


def head_of(row: Row, **own: Any) -> Head:
    return read(Head, row["head"], **own)


def settings_of(row: Row, **own: Any) -> Settings:
    return read(Settings, row["settings"], **own)


def topic_of(row: Row) -> TopicState | None:
    """Return the state of a record's topic; None for a record without a topic."""
    return None if row.get("topic") is None else read(TopicState, row["topic"])


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


Outcome = Literal["restored", "there", "conflicts", "expired", "deleted"]
"""The outcome of restoring a thing. `there`: it was stored already. `conflicts`: another thing is
stored in its place, and stays. `expired`: its retention is over. `deleted`: the user has deleted it
later.
"""

Page = tuple[Iterable[Row], str | None]


@dataclass(frozen=True, slots=True)
class TransferKind:
    """A kind of things in an export. `page` returns rows of a user from a place on (None: the
    first), and the next place (None: no rows follow). `begins` is the kind of the first row of each
    thing. `restore` stores one thing from its rows in this epoch of the user; it raises
    `CommitLost` if the user has a later epoch. Both functions are safe to repeat.
    """

    name: str
    begins: str
    page: Callable[[UserScope, str | None], Page]
    restore: Callable[[UserScope, Iterator[Row], int], Outcome]


def units(
    rows: Iterator[Row], kinds: Mapping[str, TransferKind]
) -> Iterator[tuple[TransferKind | None, int, list[Row]]]:
    """Yield the rows grouped by thing, each group with its kind and the number of its first line.
    The kind is None for lines about the file itself.
    """
    held: list[Row] = []
    first = 1
    for number, row in enumerate(rows, 1):
        if row["kind"] in kinds or row["kind"] in ("export", "user", "end"):
            if held:
                yield kinds.get(held[0]["kind"]), first, held
            held, first = [], number
        held.append(row)
    if held:
        yield kinds.get(held[0]["kind"]), first, held


def by_beginning(kinds: Sequence[TransferKind]) -> dict[str, TransferKind]:
    return {kind.begins: kind for kind in kinds}

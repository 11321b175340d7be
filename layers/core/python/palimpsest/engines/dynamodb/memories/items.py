"""The DynamoDB items of a user's memory: their keys, attributes and JSON bodies, and how they are
read back. Among them are records, topics and progress.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import MISSING, asdict, fields, replace
from typing import Any

from palimpsest.engines.dynamodb.sessions.items import (
    Attributes,
    Item,
    body,
    number,
    text,
    traced,
    values_of,
)
from palimpsest.engines.places import record_listed_as
from palimpsest.memory.burials import Burial
from palimpsest.memory.expiry import Walk
from palimpsest.memory.ports import ChunkLine, Pointer, Progress, Reminder, Tombstone
from palimpsest.memory.record import GRAPH, Order, Record, RecordType, Source, UserState
from palimpsest.scope import UserScope

USER = "user"
_LISTS_OF_BURIAL = (
    "topics", "said", "words", "values", "names", "distinct", "abouts", "areas", "meanings",
)  # fmt: skip
_OF_BURIAL = ("at", "subject", "is_somebody", "stated", *_LISTS_OF_BURIAL)
LAST_SEQ = 10**12 - 1
LAST = "\U0010ffff"  # above every key of a topic
OPINIONS = "opinions"
_APART = frozenset({"id", "version", "index_state", OPINIONS})
"""The fields of a record that are not in its body. They are stored in the key, as the guard of
updates, and as an attribute that the stream filters by. Release 0.1.0 refuses a body with a field
that it does not know, and ignores an unknown attribute. Therefore newer fields are attributes too.
"""
_DEFAULTS = {
    field.name: None if field.default is MISSING else field.default for field in fields(Record)
}


def record_sort(record_id: str) -> str:
    return f"r#{record_id}"


def pointer_sort(topic_key: str) -> str:
    return f"t#{topic_key}"


def uses_sort(record_id: str) -> str:
    return f"a#{record_id}"


def mark_sort(record_id: str) -> str:
    return f"x#{record_id}"


def burial_sort(record_id: str) -> str:
    return f"b#{record_id}"


def progress_sort(session: str) -> str:
    return f"p#{session}"


def line_sort(session: str, first: int) -> str:
    return f"l#{session}#{min(max(first, 0), LAST_SEQ):012d}"


def places_of(topic_key: str) -> str:
    """Return the prefix of the sort keys of all places of a topic."""
    return f"v#{topic_key}#"


def place_sort(topic_key: str, order: Order) -> str:
    """Return the sort key of a place. The sort keys of places sort in the same way as the orders of
    the statements, because `#` is below every character of a session's id.
    """
    valid_from, session, seq, rank, record_id = order
    return f"{places_of(topic_key)}{valid_from:015d}#{session}#{seq:012d}#{rank:03d}#{record_id}"


def name_of(item: Item) -> str:
    """Return the part of an item's sort key after the prefix."""
    return str(item["sk"]["S"]).partition("#")[2]


def epoch_of(item: Item | None) -> int:
    return int(item["epoch"]["N"]) if item and "epoch" in item else 0


def version_of(item: Item) -> int:
    return int(item["version"]["N"])


def user_of(item: Item | None) -> UserState:
    if not item:
        return UserState()
    return UserState(epoch=epoch_of(item), version=version_of(item))


def counted(item: Item, name: str) -> int | None:
    """Return a number from the user's item; None if the attribute is absent."""
    return int(item[name]["N"]) if name in item else None


def walk_of(item: Item | None) -> Walk | None:
    """Return the sweep's progress through the user's records, from the user's item. Return None if
    no record of the user expires.
    """
    if not item or "due_at" not in item:
        return None
    noted = int(item["noted"]["N"]) if "noted" in item else None
    progress = values_of(item["walk"]) if "walk" in item else {}
    return Walk(epoch_of(item), int(item["due_at"]["N"]), noted, **progress)


def walk_body(walk: Walk) -> dict[str, str] | None:
    """Return the progress of the sweep's walk through the user's records as an attribute. Return
    None if the walk has not begun.
    """
    return (
        body(number=walk.number, after=walk.after, earliest=walk.earliest) if walk.number else None
    )


def common(kind: str, epoch: int) -> Attributes:
    """Return the attributes that every item has."""
    return {"type": text(kind), "epoch": number(epoch)}


def record_attributes(scope: UserScope, epoch: int, record: Record) -> Attributes:
    """Return the attributes of a new record. The index lists records by `owner` and `created`."""
    return common("record", epoch) | {
        "owner": text(list_of(scope, {record.type})),
        "created": text(record_listed_as(record)),
        "version": number(record.version),
    } | record_changes(record)  # fmt: skip


def list_of(scope: UserScope, types: AbstractSet[RecordType]) -> str:
    """Return the partition of the index `by_created` that lists records of these types. Records of
    the graph have a partition of their own.
    """
    return f"{scope.partition}#graph" if types and types <= GRAPH else scope.partition


def created_key(scope: UserScope, place: str, *, owner: str) -> Item:
    """Return the start key that continues the index `by_created` after a record: the record's key
    in the index and its key in the table.
    """
    return {
        "owner": text(owner), "created": text(place),
        "pk": text(scope.partition), "sk": text(record_sort(place.partition("#")[2])),
    }  # fmt: skip


def record_changes(record: Record) -> Attributes:
    """Return the attributes of a record that an update may change, except its version."""
    changes = {
        "index_state": text(record.index_state), "body": _record_body(record), **traced(),
    }  # fmt: skip
    if record.opinions:
        changes[OPINIONS] = {"L": [text(opinion) for opinion in record.opinions]}
    return changes


def _record_body(record: Record) -> dict[str, str]:
    values = {name: getattr(record, name) for name in _DEFAULTS if name not in _APART | {"source"}}
    changed = {name: value for name, value in values.items() if value != _DEFAULTS[name]}
    if record.data is not None:
        changed["data"] = [record.data]  # a list, because a body leaves out empty values
    return body(**changed, source=_source_values(record.source))


def _source_values(source: Source) -> dict[str, Any]:
    return {name: value for name, value in asdict(source).items() if value}


def record_of(item: Item) -> Record:
    values = values_of(item["body"])
    values["source"] = source_of(values.get("source", {}))
    values |= {
        name: tuple(values[name])
        for name in ("keywords", "queries", "also", "draws", "rests_on")
        if name in values
    }
    values["data"] = values["data"][0] if "data" in values else None
    return Record(
        id=name_of(item),
        version=version_of(item),
        index_state=item["index_state"]["S"],
        opinions=tuple(opinion["S"] for opinion in item.get(OPINIONS, {"L": ()})["L"]),
        **values,
    )


def reminder_of(item: Item | None) -> Reminder | None:
    if not item or "due_at" not in item:
        return None
    since = int(item["looked_at"]["N"]) if "looked_at" in item else None
    return Reminder(due_at=int(item["due_at"]["N"]), since=since)


def source_of(values: dict[str, Any]) -> Source:
    lists = {name: tuple(values.get(name, ())) for name in ("message_ids", "seqs")}
    return Source(
        session=values.get("session"), quote=values.get("quote"), text=values.get("text"), **lists
    )


def place_attributes(epoch: int, record: Record) -> Attributes:
    """Return the attributes of a place: the item for one time at which a record was said. The body
    holds only the fields that differ from the record.
    """
    values = body(
        valid_from=record.valid_from,
        created_at=record.created_at,
        rank=record.rank,
        source=_source_values(record.source),
    )
    return common("place", epoch) | {"record": text(record.id), "body": values}


def said_of(item: Item, record: Record) -> Record:
    """Return the record as it was said at this place."""
    values = values_of(item["body"])
    return replace(record, source=source_of(values.pop("source", {})), **values)


def pointer_attributes(epoch: int, pointer: Pointer) -> Attributes:
    values = body(
        record=pointer.record,
        order=pointer.order,
        ended=pointer.ended,
        ended_on=pointer.ended_on if pointer.ended else None,
    )
    return common("pointer", epoch) | {"body": values, "version": number(pointer.version + 1)}


def pointer_of(item: Item) -> Pointer:
    values = values_of(item["body"])
    valid_from, session, seq, rank, record_id = values["order"]
    order, current = (valid_from, session, seq, rank, record_id), values.get("record")
    return Pointer(
        name_of(item),
        current,
        order,
        version_of(item),
        was=current,
        ended=values.get("ended"),
        ended_on=values.get("ended_on"),
    )


def progress_attributes(epoch: int, progress: Progress) -> Attributes:
    values = body(through=progress.through, parked=progress.parked, waiting=progress.waiting)
    return common("progress", epoch) | {"body": values, "version": number(progress.version + 1)}


def progress_of(session: str, item: Item | None) -> Progress:
    if item is None:
        return Progress(session)
    values = values_of(item["body"])
    parked = tuple((first, last) for first, last in values["parked"])
    waiting = tuple(values.get("waiting", ()))
    return Progress(
        session, through=values["through"], parked=parked, waiting=waiting, version=version_of(item)
    )


def line_attributes(epoch: int, line: ChunkLine) -> Attributes:
    values = {
        field.name: getattr(line, field.name)
        for field in fields(ChunkLine)
        if field.name != "session"
    }
    return common("line", epoch) | {"body": body(**values)}


def line_of(session: str, item: Item) -> ChunkLine:
    values = values_of(item["body"])
    return ChunkLine(session, records=tuple(values.pop("records")), **values)


def mark_attributes(epoch: int, removed: list[Record]) -> Attributes:
    """Return the attributes of the mark that a removed record leaves. The mark holds no words of
    the record.
    """
    sources = [_source_values(record.source.without_words) for record in removed]
    return common("mark", epoch) | {
        "body": body(sources=sources),
        "version": number(removed[0].version + 1),
    }


def burial_attributes(epoch: int, burial: Burial) -> Attributes:
    """Return the attributes of a burial. They hold digests only, no words of the deleted record."""
    values = {name: getattr(burial, name) for name in _OF_BURIAL}
    return common("burial", epoch) | {"body": body(**values)}


def burial_of(item: Item) -> Burial:
    values = values_of(item["body"])
    lists = {name: tuple(values.get(name, ())) for name in _LISTS_OF_BURIAL}
    return Burial(
        name_of(item),
        values["at"],
        subject=values.get("subject", ""),
        is_somebody=values.get("is_somebody", False),
        stated=values.get("stated", 0),
        **lists,
    )


def mark_of(item: Item) -> Tombstone:
    sources = tuple(source_of(source) for source in values_of(item["body"])["sources"])
    return Tombstone(sources, version_of(item))

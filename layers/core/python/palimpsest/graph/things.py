"""Entities and relationships, and the record that stores each: its topic is its id."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from palimpsest.clock import EARLIEST, LATEST
from palimpsest.graph.names import digest
from palimpsest.memory.record import MAX_CONTENT, GraphType, Method, Record, Source
from palimpsest.memory.statements import Statement
from palimpsest.text.folding import normalized

USER_TYPE, PREFERENCE_TYPE = "User", "Preference"
"""Types of the user's own node, whose id is the user's, and of the nodes that their preferences are
in the graph.
"""

PREFERS = "PREFERS"

ENTITY_TYPE = r"[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*"

RELATIONSHIP_TYPE = r"[A-Z][A-Z0-9_]*"

PROPERTY = r"[a-z][A-Za-z0-9_]*"

OWN_NAMES = frozenset({"id", "name", "valid_from", "valid_to"})
"""Reserved names of the graph's own fields. No property may have such a name, in upper or lower
case.
"""

USER_NAMES = frozenset({"user", "the user"})

IMPORTANCE = 0.6

MOST_THINGS = 20_000
"""How many entities, and how many relationships, of a user a process can hold."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing that the user's life holds. Times are epoch milliseconds; `valid_to` None: it still
    is. `since` is when it began, where a version before the current one began then; None: the
    current version began with it.
    """

    id: str
    type: str
    name: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    valid_from: int | None = None
    valid_to: int | None = None
    source: Source = field(default_factory=Source)
    record: str = ""  # the id of the record that holds it
    method: Method = "given"
    since: int | None = None


@dataclass(frozen=True, slots=True)
class Relationship:
    """What holds from one entity, `start`, to another, `end`, both by id. Times as of an entity."""

    id: str
    type: str
    start: str
    end: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    valid_from: int | None = None
    valid_to: int | None = None
    source: Source = field(default_factory=Source)
    record: str = ""
    method: Method = "given"
    since: int | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """What messages say of two people or things, by name; `user` is the user. `single`: it holds of
    one at a time.
    """

    start: str
    start_type: str
    type: str
    end: str
    end_type: str
    single: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the messages must hold: all but that of the user."""
        return tuple(name for name in (self.start, self.end) if normalized(name) not in USER_NAMES)


def relationship_id(start: str, kind: str, end: str | None) -> str:
    """The id of a relationship whose caller gave none. Without an `end`, it is the id of the only
    relationship of its type.
    """
    return "rel_" + digest(start, kind, end or "")


def topic_of(kind: GraphType, name: str) -> str:
    return f"{kind}:{name}"


def statement_of(
    thing: Entity | Relationship, *, agent: str | None = None, prompt_hash: str | None = None
) -> Statement:
    """The statement that stores it as the current version under its id."""
    kind: GraphType = "entity" if isinstance(thing, Entity) else "relationship"
    own = (
        {"name": thing.name}
        if isinstance(thing, Entity)
        else {"start": thing.start, "end": thing.end}
    )
    data = {
        "type": thing.type,
        **own,
        "properties": dict(thing.properties),
        "valid_to": thing.valid_to,
        "since": thing.since,
    }
    said = (
        f"{thing.name} ({thing.type})"
        if isinstance(thing, Entity)
        else f"{thing.start} {thing.type} {thing.end}"
    )
    more = json.dumps([data["properties"], thing.valid_to], ensure_ascii=False, sort_keys=True)
    return Statement(
        type=kind,
        content=f"{said} {more}"[:MAX_CONTENT],
        topic=topic_of(kind, thing.id),
        subject=thing.name[:80] if isinstance(thing, Entity) else None,
        importance=IMPORTANCE,
        source=thing.source,
        agent=agent,
        data={name: value for name, value in data.items() if value not in (None, {})},
        valid_from=thing.valid_from,
        method=thing.method,
        prompt_hash=prompt_hash,
    )


def is_sound(record: Record) -> bool:
    """Whether a record of these types holds an entity or relationship: an import might bring
    another value.
    """
    data, kind = record.data, record.type
    is_entity = kind == "entity"
    if not isinstance(data, Mapping) or not (record.topic_key or "").startswith(f"{kind}:"):
        return False
    properties, times = data.get("properties", {}), (data.get("valid_to"), data.get("since"))
    named = [data.get(name) for name in ("type", *(("name",) if is_entity else ("start", "end")))]
    return (
        all(isinstance(each, str) and each for each in named)
        and re.fullmatch(ENTITY_TYPE if is_entity else RELATIONSHIP_TYPE, data["type"]) is not None
        and data["type"] != PREFERENCE_TYPE
        and isinstance(properties, Mapping)
        and all(
            re.fullmatch(PROPERTY, name) and name.casefold() not in OWN_NAMES for name in properties
        )
        and all(
            time is None or (isinstance(time, int) and EARLIEST <= time <= LATEST) for time in times
        )
    )


def entity_of(record: Record) -> Entity:
    """The entity that a record of this type holds."""
    return Entity(**_common(record), name=record.data["name"])


def relationship_of(record: Record) -> Relationship:
    return Relationship(**_common(record), start=record.data["start"], end=record.data["end"])


def _common(record: Record) -> dict[str, Any]:
    since = record.data.get("since")
    return {
        "id": (record.topic_key or "").partition(":")[2],
        "type": record.data["type"],
        "properties": record.data.get("properties", {}),
        "valid_from": record.valid_from if since is None else since,
        "valid_to": record.data.get("valid_to"),
        "since": since,
        "source": record.source,
        "record": record.id,
        "method": record.method,
    }


def as_entity_type(text: str) -> str | None:
    """The text as a type of entities, `software project` as `SoftwareProject`; None if it has no
    words for one.
    """
    words = re.findall(r"[A-Za-z0-9]+", text)
    made = "".join(word[:1].upper() + word[1:] for word in words)[:64]
    made = made.title() if made.isupper() else made
    return made if re.fullmatch(ENTITY_TYPE, made) else None


def as_relationship_type(text: str) -> str | None:
    """The text as a type of relationships, `works at` as `WORKS_AT`; None if it has no words for
    one.
    """
    made = "_".join(re.findall(r"[A-Za-z0-9]+", text)).upper()[:64]
    return made if re.fullmatch(RELATIONSHIP_TYPE, made) else None

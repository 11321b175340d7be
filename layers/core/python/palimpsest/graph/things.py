"""Entities and relationships, and the records that store them. The topic of such a record is the id
of the entity or relationship.
"""

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
"""The types of two kinds of nodes in the graph: the user's own node, whose id is the user's id, and
the nodes of the user's preferences.
"""

PREFERS = "PREFERS"

ENTITY_TYPE = r"[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*"

RELATIONSHIP_TYPE = r"[A-Z][A-Z0-9_]*"

PROPERTY = r"[a-z][A-Za-z0-9_]*"

OWN_NAMES = frozenset({"id", "name", "valid_from", "valid_to"})
"""The names of the graph's own fields. No property may have such a name, in upper or lower case."""

USER_NAMES = frozenset({"user", "the user"})

IMPORTANCE = 0.6

MOST_THINGS = 20_000
"""How many entities, and how many relationships, of one user a process can hold."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A person or thing in the user's life. Times are epoch milliseconds. If `valid_to` is None, it
    has not ended. `since` is the beginning of the entity if an earlier version began it, and None
    if the current version did.
    """

    id: str
    type: str
    name: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    valid_from: int | None = None
    valid_to: int | None = None
    source: Source = field(default_factory=Source)
    record: str = ""  # the id of the record that stores it
    method: Method = "given"
    since: int | None = None


@dataclass(frozen=True, slots=True)
class Relationship:
    """A relationship from the entity `start` to the entity `end`, both given by id. Its times are
    those of an `Entity`.
    """

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
    """A relationship that messages state between two people or things, which are given by name. The
    name `user` means the user. If `single` is true, only one relationship of this type can be valid
    at a time.
    """

    start: str
    start_type: str
    type: str
    end: str
    end_type: str
    single: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names that must occur in the messages: all names except that of the user."""
        return tuple(name for name in (self.start, self.end) if normalized(name) not in USER_NAMES)


def relationship_id(start: str, kind: str, end: str | None) -> str:
    """Return the id of a relationship for which the caller gave none. Without `end`, it is the id
    of the only relationship of its type from `start`.
    """
    return "rel_" + digest(start, kind, end or "")


def topic_of(kind: GraphType, name: str) -> str:
    return f"{kind}:{name}"


def statement_of(
    thing: Entity | Relationship, *, agent: str | None = None, prompt_hash: str | None = None
) -> Statement:
    """Return the statement that stores the thing as the current version under its id."""
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
    line = (
        f"{thing.name} ({thing.type})"
        if isinstance(thing, Entity)
        else f"{thing.start} {thing.type} {thing.end}"
    )
    more = json.dumps([data["properties"], thing.valid_to], ensure_ascii=False, sort_keys=True)
    return Statement(
        type=kind,
        content=f"{line} {more}"[:MAX_CONTENT],
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
    """Return whether a record of these types holds an entity or relationship. A record from an
    import might hold another value.
    """
    data, kind = record.data, record.type
    is_entity = kind == "entity"
    if not isinstance(data, Mapping) or not (record.topic_key or "").startswith(f"{kind}:"):
        return False
    properties, times = data.get("properties", {}), (data.get("valid_to"), data.get("since"))
    named = [data.get(name) for name in ("type", *(("name",) if is_entity else ("start", "end")))]
    return (
        all(isinstance(text, str) and text for text in named)
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
    """Return the entity that a record of such a type holds."""
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
    """Return the text as a type of entities, `software project` as `SoftwareProject`. Return None
    if the text has no words for one.
    """
    words = re.findall(r"[A-Za-z0-9]+", text)
    made = "".join(word[:1].upper() + word[1:] for word in words)[:64]
    made = made.title() if made.isupper() else made
    return made if re.fullmatch(ENTITY_TYPE, made) else None


def as_relationship_type(text: str) -> str | None:
    """Return the text as a type of relationships, `works at` as `WORKS_AT`. Return None if the text
    has no words for one.
    """
    made = "_".join(re.findall(r"[A-Za-z0-9]+", text)).upper()[:64]
    return made if re.fullmatch(RELATIONSHIP_TYPE, made) else None

"""Stores, changes, reads and deletes the entities and relationships of a user, up to a limit of
their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from palimpsest.clock import Clock, milliseconds, seconds
from palimpsest.errors import CommitLost, FieldError, NotFound, Unprocessable
from palimpsest.graph.identity import between, with_stored_ids
from palimpsest.graph.names import entity_id
from palimpsest.graph.neighbourhood import Around, GraphPart, Which, around
from palimpsest.graph.read import ReadGraph
from palimpsest.graph.things import (
    MOST_THINGS,
    PREFERENCE_TYPE,
    USER_TYPE,
    Entity,
    Relationship,
    entity_of,
    relationship_of,
    statement_of,
    topic_of,
)
from palimpsest.idempotency import Once
from palimpsest.memory.decisions import Outcome, Remembered
from palimpsest.memory.expiry import is_expired
from palimpsest.memory.ports import Memories, MemoryCommit
from palimpsest.memory.preferences import AtMost
from palimpsest.memory.record import GraphType, Record
from palimpsest.memory.remember import Remember
from palimpsest.memory.removal.transactions import Removal, RemovesExports, no_exports, transactions
from palimpsest.memory.statements import Statement
from palimpsest.retry import until_committed
from palimpsest.scope import UserScope


@dataclass(frozen=True, slots=True)
class GraphLimit:
    """The limit of a user's graph. `most` is the highest number of entities, and also the highest
    number of relationships.
    """

    memories: Memories
    most: int = MOST_THINGS

    def guarded(self, scope: UserScope, commit: MemoryCommit) -> MemoryCommit:
        """Return the commit with a condition, so that it is lost if another writer used up the room
        that it needs.

        Raises `Conflict` (`too_many_entities`, `too_many_relationships`) if there is no room.
        """
        for limit in self._each():
            commit = limit.guarded(scope, commit)
        return commit

    def _each(self) -> Iterator[AtMost]:
        yield AtMost(self.memories, topic_of("entity", ""), self.most, "entities")
        yield AtMost(self.memories, topic_of("relationship", ""), self.most, "relationships")


@dataclass(frozen=True, slots=True)
class ManageGraph:
    """Stores, changes, reads and deletes entities and relationships. Every method raises
    `Unavailable`.
    """

    memories: Memories
    remember: Remember
    read: ReadGraph
    clock: Clock
    limit: GraphLimit
    exports: RemovesExports = no_exports

    def put_entities(
        self,
        scope: UserScope,
        entities: Sequence[Entity],
        *,
        agent: str | None = None,
        once: Once | None = None,
    ) -> list[tuple[Entity, Outcome]]:
        """Store 1 to 30 entities, each as the current version under its id, and return the outcome
        of each.

        If an entity's id was not given, and an entity with the same type and name is stored, that
        entity's id is used.

        Raises errors before anything is written: `Unprocessable` for a reserved type and for an end
        before the beginning, and `Conflict` (`too_many_entities`).
        """
        for number, entity in enumerate(entities):
            if entity.type == PREFERENCE_TYPE or (entity.type == USER_TYPE) != (
                entity.id == scope.user
            ):
                message = (
                    "User is the type of the user's own id alone, Preference that of preferences"
                )
                raise _refused(f"entities.{number}.type", message, code="reserved_type")
        self._check_times(entities, "entities")
        entities = self._under_stored_ids(scope, entities)
        return [
            (entity_of(outcome.record), outcome.outcome)
            for outcome in self._put(scope, entities, agent=agent, once=once)
        ]

    def _under_stored_ids(self, scope: UserScope, entities: Sequence[Entity]) -> Sequence[Entity]:
        """Return the entities. Each entity whose id was made from its name gets the id of the
        stored entity with its type and name.
        """
        made = sorted(
            {
                topic_of("entity", thing.id)
                for thing in entities
                if thing.id == entity_id(thing.type, thing.name)
            }
        )
        there = self.memories.pointers(scope, made) if made else {}
        new = {topic for topic in made if topic not in there or there[topic].record is None}
        if not new:
            return entities
        names = self.read(scope).names
        known = {
            entity.id: names.of(entity.type, entity.name)
            for entity in entities
            if topic_of("entity", entity.id) in new
        }
        return [replace(entity, id=known.get(entity.id) or entity.id) for entity in entities]

    def put_relationships(
        self,
        scope: UserScope,
        relationships: Sequence[Relationship],
        *,
        agent: str | None = None,
        once: Once | None = None,
    ) -> list[tuple[Relationship, Outcome]]:
        """Store 1 to 30 relationships, each as the current version under its id, and return the
        outcome of each.

        Raises errors before anything is written: `Unprocessable` (`unknown_entity`, or for an end
        before the beginning) and `Conflict` (`too_many_relationships`).
        """
        graph = self.read(scope)
        for number, relationship in enumerate(relationships):
            for name, end in (("from", relationship.start), ("to", relationship.end)):
                if end != scope.user and graph.names.id_of(end) not in graph.entities:
                    raise _refused(
                        f"relationships.{number}.{name}",
                        "is not the id of an entity of the user",
                        code="unknown_entity",
                    )
        self._check_times(relationships, "relationships")
        relationships = [with_stored_ids(thing, graph) for thing in relationships]
        return [
            (relationship_of(outcome.record), outcome.outcome)
            for outcome in self._put(scope, relationships, agent=agent, once=once)
        ]

    def _check_times(self, things: Sequence[Entity | Relationship], what: str) -> None:
        now = milliseconds(self.clock.now())
        for number, thing in enumerate(things):
            begun = now if thing.valid_from is None else min(thing.valid_from, now)
            if thing.valid_to is not None and thing.valid_to < begun:
                raise _refused(
                    f"{what}.{number}.valid_to",
                    "must not be before valid_from, which is now by default",
                )

    def _put(
        self,
        scope: UserScope,
        things: Sequence[Entity | Relationship],
        *,
        agent: str | None,
        once: Once | None,
    ) -> tuple[Remembered, ...]:
        statements = [statement_of(thing, agent=agent) for thing in things]
        return self.remember(scope, statements, once=once, guard=partial(self.limit.guarded, scope))

    def entity(self, scope: UserScope, name: str) -> Entity:
        """Return the entity with this id. Raises `NotFound` (`entity_not_found`)."""
        graph = self.read(scope)
        entity = graph.entities.get(graph.names.id_of(name))
        if entity is None:
            raise _missing("entity")
        return entity

    def relationship(self, scope: UserScope, name: str) -> Relationship:
        """Return the relationship with this id. Raises `NotFound` (`relationship_not_found`)."""
        relationship = self.read(scope).relationships.get(name)
        if relationship is None:
            raise _missing("relationship")
        return relationship

    def change_entity(self, scope: UserScope, name: str, changes: Mapping[str, Any]) -> Entity:
        """Change the given fields of an entity (`name`, `valid_to`) and the given ones of its
        `properties`. A property that is given as None is removed. Return the new version. It is
        valid from the same time as the version before.

        Raises `NotFound` (`entity_not_found`), and `Unprocessable` for an end before the beginning.
        """
        graph = self.read(scope)
        stored = graph.names.every(graph.names.id_of(name))
        record = self._changed(scope, "entity", stored, changes)
        return entity_of(record) if len(stored) == 1 else self.entity(scope, name)

    def change_relationship(
        self, scope: UserScope, name: str, changes: Mapping[str, Any]
    ) -> Relationship:
        """Change `valid_to` and the given `properties` of a relationship, as `change_entity` does.
        Raises `NotFound` (`relationship_not_found`).
        """
        names = self.read(scope).names
        return between(
            relationship_of(self._changed(scope, "relationship", (name,), changes)), names
        )

    def _changed(
        self, scope: UserScope, kind: GraphType, stored: Sequence[str], changes: Mapping[str, Any]
    ) -> Record:
        """Change all of the `stored` records in one transaction, and return the new record of the
        first.
        """
        read = entity_of if kind == "entity" else relationship_of

        def attempt() -> Record:
            records = [self._stored(scope, kind, name) for name in stored]
            before = [read(record) for record in records]
            after = [_with(thing, changes) for thing in before]
            _check_end(before, changes)
            if after == before:
                return records[0]
            agents = [record.agent for record in records]
            statements = [_now(thing, agent) for thing, agent in zip(after, agents, strict=True)]
            prepared = self.remember.prepared(scope, statements)
            topics = [topic_of(kind, name) for name in stored]
            pointers = self.memories.pointers(scope, topics)
            if [pointers[topic].record for topic in topics] != [record.id for record in records]:
                raise CommitLost("Another writer changed this first; nothing was written.")
            if prepared.changes_anything:
                self.memories.commit(scope, prepared.commit)
            return prepared.made[0].record

        return until_committed(attempt, clock=self.clock)

    def delete_entity(self, scope: UserScope, name: str) -> None:
        """Remove an entity with all its versions, and all its relationships. Raises `NotFound`
        (`entity_not_found`).
        """

        def topics() -> list[str]:
            names = self.read(scope).names
            # the named thing is removed last
            stored = sorted(
                names.every(names.id_of(name)), key=lambda stored_name: stored_name == name
            )
            ways = () if name == scope.user else (Which(start=name), Which(end=name))
            ends = {
                relationship.id
                for way in ways
                for relationship in self.read.relationships(scope, way)
            }
            return [
                *(topic_of("relationship", end) for end in sorted(ends)),
                *(topic_of("entity", thing) for thing in stored),
            ]

        self._remove(scope, "entity", name, topics)

    def delete_relationship(self, scope: UserScope, name: str) -> None:
        """Remove a relationship with all its versions. Raises `NotFound`
        (`relationship_not_found`).
        """
        self._remove(scope, "relationship", name, lambda: [topic_of("relationship", name)])

    def _remove(
        self, scope: UserScope, kind: GraphType, name: str, topics: Callable[[], Sequence[str]]
    ) -> None:
        """Remove these topics, and every export that may hold them. Repeating an interrupted call
        finishes the removal. Raises `NotFound`.
        """
        try:
            self.entity(scope, name) if kind == "entity" else self._stored(scope, kind, name)
        except NotFound:
            if self.memories.pointers(scope, [topic_of(kind, name)]):
                self.exports(scope)
            raise
        until_committed(lambda: self._delete(scope, topics()), clock=self.clock)
        self.exports(scope)

    def _delete(self, scope: UserScope, topics: Sequence[str]) -> None:
        epoch = self.memories.user(scope).epoch
        parts = [topics[start : start + 100] for start in range(0, len(topics), 100)]
        pointers = {
            key: pointer
            for part in parts
            for key, pointer in self.memories.pointers(scope, part).items()
        }
        there = [
            pointers[topic]
            for topic in topics
            if topic in pointers and pointers[topic].record is not None
        ]
        removals = [
            Removal(self.memories.versions(scope, record.topic_key), record) for record in there
        ]
        for commit in transactions(removals, epoch=epoch, room=self.memories.room):
            self.memories.commit(scope, commit)

    def neighbors(self, scope: UserScope, part: GraphPart, *, most: int) -> Around:
        """Return the neighbourhood of an entity, of the user, or of a preference, with at most
        `most` nodes. Raises `NotFound` (`entity_not_found`).
        """
        graph = self.read(scope)
        part = replace(part, start=graph.names.id_of(part.start))
        if part.start not in graph.nodes:
            raise _missing("entity")
        return around(graph, part, most=most)

    def _stored(self, scope: UserScope, kind: GraphType, name: str) -> Record:
        topic = topic_of(kind, name)
        pointer = self.memories.pointers(scope, [topic]).get(topic)
        records = (
            self.memories.records(scope, [pointer.record]) if pointer and pointer.record else ()
        )
        if not records or is_expired(records[0], now=seconds(self.clock.now())):
            raise _missing(kind)
        return records[0]


def _with(thing: Entity | Relationship, changes: Mapping[str, Any]) -> Entity | Relationship:
    fields = dict(changes)
    properties = fields.pop("properties", {})
    merged = {
        name: value
        for name, value in {**thing.properties, **properties}.items()
        if value is not None
    }
    return replace(thing, **fields, properties=merged)


def _now(thing: Entity | Relationship, agent: str | None) -> Statement:
    """Return the statement of the thing's next version, which a caller gives now. It keeps the
    beginning of the thing.
    """
    return statement_of(
        replace(thing, since=thing.valid_from, valid_from=None, method="given"), agent=agent
    )


def _check_end(before: Sequence[Entity | Relationship], changes: Mapping[str, Any]) -> None:
    """Raise `Unprocessable` if the changes set an end before the beginning."""
    ends, begun = changes.get("valid_to"), min(record.valid_from or 0 for record in before)
    if ends is not None and ends < begun:
        raise _refused("valid_to", "must not be before valid_from")


def _missing(kind: GraphType) -> NotFound:
    return NotFound(f"There is no such {kind}.", code=f"{kind}_not_found")


def _refused(name: str, message: str, *, code: str = Unprocessable.code) -> Unprocessable:
    return Unprocessable(
        "The graph can't hold this.", code=code, errors=(FieldError(name, message),)
    )

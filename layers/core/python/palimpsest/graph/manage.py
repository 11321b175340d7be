"""Store, change, read and delete the entities and relationships of a user, those that an extractor found too, and keep
them within their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from palimpsest.clock import Clock, milliseconds, seconds
from palimpsest.errors import CommitLost, FieldError, NotFound, Unprocessable
from palimpsest.graph import (
    MOST_THINGS,
    PREFERENCE_TYPE,
    USER_NAMES,
    USER_TYPE,
    Around,
    Entity,
    Graph,
    Part,
    Relation,
    Relationship,
    Which,
    around,
    entity_id,
    entity_of,
    relationship_id,
    relationship_of,
    statement_of,
    topic_of,
)
from palimpsest.graph.ports import Graphs
from palimpsest.graph.read import current
from palimpsest.idempotency import Once
from palimpsest.memory import GraphType, Record, is_expired
from palimpsest.memory.decisions import Outcome, Remembered
from palimpsest.memory.ports import Memories, MemoryCommit
from palimpsest.memory.preferences import AtMost
from palimpsest.memory.remember import Remember
from palimpsest.memory.removal import Removal, RemovesExports, no_exports, transactions
from palimpsest.memory.statements import Statement
from palimpsest.retry import until_committed
from palimpsest.scope import UserScope
from palimpsest.text import normalized


@dataclass(frozen=True, slots=True)
class GraphLimit:
    """`most` is how many entities, and how many relationships, a user may have; None: any number."""

    memories: Memories
    most: int | None = MOST_THINGS

    def guarded(self, scope: UserScope, commit: MemoryCommit) -> MemoryCommit:
        """The commit, made so that it is lost if another writer took the room that it counted on.

        Raises `Conflict` (`too_many_entities`, `too_many_relationships`) if there is no room.
        """
        for each in self._each():
            commit = each.guarded(scope, commit)
        return commit

    def _each(self) -> Iterator[AtMost]:
        if self.most is not None:
            yield AtMost(self.memories, topic_of("entity", ""), self.most, "entities")
            yield AtMost(self.memories, topic_of("relationship", ""), self.most, "relationships")


@dataclass(frozen=True, slots=True)
class ManageGraph:
    """Every method raises `Unavailable`."""

    memories: Memories
    remember: Remember
    read: Graphs
    clock: Clock
    limit: GraphLimit
    exports: RemovesExports = no_exports

    def put_entities(
        self, scope: UserScope, given: Sequence[Entity], *, agent: str | None = None, once: Once | None = None
    ) -> list[tuple[Entity, Outcome]]:
        """Store 1 to 30 entities, each as the current version under its id; return the outcome of each.

        Refused before anything is written: `Unprocessable` for a reserved type, `Conflict` (`too_many_entities`).
        """
        for number, one in enumerate(given):
            if one.type == PREFERENCE_TYPE or (one.type == USER_TYPE) != (one.id == scope.user):
                message = "User is the type of the user's own id alone, Preference that of preferences"
                raise _refused(f"entities.{number}.type", message, code="reserved_type")
        return [(entity_of(one.record), one.outcome) for one in self._put(scope, given, agent=agent, once=once)]

    def put_relationships(
        self, scope: UserScope, given: Sequence[Relationship], *, agent: str | None = None, once: Once | None = None
    ) -> list[tuple[Relationship, Outcome]]:
        """Store 1 to 30 relationships, each as the current version under its id; return the outcome of each.

        Refused before anything is written: `Unprocessable` (`unknown_entity`), `Conflict` (`too_many_relationships`).
        """
        topics = sorted({topic_of("entity", end) for one in given for end in (one.start, one.end)})
        there = current(self.memories, scope, topics, now=milliseconds(self.clock.now()))
        for number, one in enumerate(given):
            for name, end in (("from", one.start), ("to", one.end)):
                if end != scope.user and topic_of("entity", end) not in there:
                    raise _refused(f"relationships.{number}.{name}", "no entity of the user", code="unknown_entity")
        return [(relationship_of(one.record), one.outcome) for one in self._put(scope, given, agent=agent, once=once)]

    def _put(
        self, scope: UserScope, given: Sequence[Entity | Relationship], *, agent: str | None, once: Once | None
    ) -> tuple[Remembered, ...]:
        statements = [statement_of(one, agent=agent) for one in given]
        return self.remember(scope, statements, once=once, guard=partial(self.limit.guarded, scope))

    def entity(self, scope: UserScope, name: str) -> Entity:
        """Raises `NotFound` (`entity_not_found`)."""
        return entity_of(self._stored(scope, "entity", name))

    def relationship(self, scope: UserScope, name: str) -> Relationship:
        """Raises `NotFound` (`relationship_not_found`)."""
        return relationship_of(self._stored(scope, "relationship", name))

    def change_entity(self, scope: UserScope, name: str, changes: Mapping[str, Any]) -> Entity:
        """Set fields of an entity (`name`, `valid_to`) and, of `properties`, those that are given; one that is None is
        removed. Return the new version. Raises `NotFound` (`entity_not_found`), `Unprocessable`.
        """
        return entity_of(self._changed(scope, "entity", name, changes))

    def change_relationship(self, scope: UserScope, name: str, changes: Mapping[str, Any]) -> Relationship:
        """As `change_entity`, for `valid_to` and `properties`. Raises `NotFound` (`relationship_not_found`)."""
        return relationship_of(self._changed(scope, "relationship", name, changes))

    def _changed(self, scope: UserScope, kind: GraphType, name: str, changes: Mapping[str, Any]) -> Record:
        def attempt() -> Record:
            topic = topic_of(kind, name)
            record = self._stored(scope, kind, name)
            found = entity_of(record) if kind == "entity" else relationship_of(record)
            after = _with(found, changes)
            prepared = self.remember.prepared(scope, [statement_of(after, agent=record.agent)])
            if self.memories.pointers(scope, [topic])[topic].record != record.id:
                raise CommitLost("Another writer was first.")
            if prepared.changes_anything:
                self.memories.commit(scope, prepared.commit)
            return prepared.made[0].record

        return until_committed(attempt, clock=self.clock)

    def delete_entity(self, scope: UserScope, name: str) -> None:
        """Remove an entity with all its versions and the relationships that it has. Raises `NotFound`
        (`entity_not_found`).
        """

        def topics() -> list[str]:
            ways = () if name == scope.user else (Which(start=name), Which(end=name))
            ends = {one.id for way in ways for one in self.read.relationships(scope, way)}
            return [*(topic_of("relationship", each) for each in sorted(ends)), topic_of("entity", name)]

        self._remove(scope, "entity", name, topics)

    def delete_relationship(self, scope: UserScope, name: str) -> None:
        """Remove a relationship with all its versions. Raises `NotFound` (`relationship_not_found`)."""
        self._remove(scope, "relationship", name, lambda: [topic_of("relationship", name)])

    def _remove(self, scope: UserScope, kind: GraphType, name: str, topics: Callable[[], Sequence[str]]) -> None:
        """Remove these topics, and every export that may hold them: the same call again does so after one that ended in
        between. Raises `NotFound`.
        """
        try:
            self._stored(scope, kind, name)
        except NotFound:
            if self.memories.pointers(scope, [topic_of(kind, name)]):
                self.exports(scope)
            raise
        until_committed(lambda: self._delete(scope, topics()), clock=self.clock)
        self.exports(scope)

    def _delete(self, scope: UserScope, topics: Sequence[str]) -> None:
        epoch = self.memories.user(scope).epoch
        parts = [topics[start : start + 100] for start in range(0, len(topics), 100)]
        pointers = {key: each for part in parts for key, each in self.memories.pointers(scope, part).items()}
        there = [pointers[topic] for topic in topics if topic in pointers and pointers[topic].record is not None]
        removals = [Removal(self.memories.versions(scope, each.topic_key), each) for each in there]
        for commit in transactions(removals, epoch=epoch, room=self.memories.room):
            self.memories.commit(scope, commit)

    def neighbors(self, scope: UserScope, part: Part, *, most: int) -> Around:
        """What is around an entity, the user, or a preference: at most so many nodes. Raises `NotFound`
        (`entity_not_found`).
        """
        graph = self.read.part(scope, part, most=most)
        if part.start not in graph.nodes:
            raise _missing("entity")
        return around(graph, part, most=most)

    def _stored(self, scope: UserScope, kind: GraphType, name: str) -> Record:
        topic = topic_of(kind, name)
        pointer = self.memories.pointers(scope, [topic]).get(topic)
        found = self.memories.records(scope, [pointer.record]) if pointer and pointer.record else ()
        if not found or is_expired(found[0], now=seconds(self.clock.now())):
            raise _missing(kind)
        return found[0]


def _with(found: Entity | Relationship, changes: Mapping[str, Any]) -> Entity | Relationship:
    """The thing with these changes, said now by the caller."""
    fields = dict(changes)
    given = fields.pop("properties", {})
    merged = {name: value for name, value in {**found.properties, **given}.items() if value is not None}
    return replace(found, **fields, properties=merged, valid_from=None, method="given")


def _missing(kind: GraphType) -> NotFound:
    return NotFound(f"There is no such {kind}.", code=f"{kind}_not_found")


def _refused(name: str, message: str, *, code: str) -> Unprocessable:
    return Unprocessable("The graph can't hold this.", code=code, errors=(FieldError(name, message),))


def graph_statements(found: Sequence[tuple[Statement, Relation]], graph: Graph, *, user: str) -> list[Statement]:
    """The statements that store the relations, each with the source and time of the statement that it came with: its
    entities, then itself.

    A name that one entity of the graph has means that one. What is stored already is said again as it is, with the
    properties that it has.
    """
    names = _names(graph, user)
    made: dict[tuple[str, str], Statement] = {}
    for said, relation in found:
        start, end = (
            names.setdefault(normalized(name), Entity(entity_id(kind, name), kind, name))
            for name, kind in ((relation.start, relation.start_type), (relation.end, relation.end_type))
        )
        edge = _edge(relation, start, end, graph)
        things: list[Entity | Relationship] = [each for each in (start, end) if each.type != USER_TYPE]
        for thing in (*things, edge):
            statement = _said(thing, said)
            made[statement.topic or "", str(statement.data)] = statement
    return list(made.values())


def _edge(relation: Relation, start: Entity, end: Entity, graph: Graph) -> Relationship:
    name = relationship_id(start.id, relation.type, None if relation.single else end.id)
    known = graph.relationships.get(name)
    properties = known.properties if known and known.end == end.id else {}
    return Relationship(name, relation.type, start.id, end.id, properties)


def _names(graph: Graph, user: str) -> dict[str, Entity]:
    """The entities by name, as far as a name is that of one alone."""
    named: dict[str, list[Entity]] = {}
    for each in graph.entities.values():
        named.setdefault(normalized(each.name), []).append(each)
    names = {name: several[0] for name, several in named.items() if len(several) == 1}
    me = Entity(user, USER_TYPE, user)
    return {**names, **dict.fromkeys((*USER_NAMES, normalized(user)), me)}


def _said(thing: Entity | Relationship, said: Statement) -> Statement:
    now = replace(thing, source=said.source, valid_from=said.valid_from, valid_to=None, method=said.method)
    return statement_of(now, agent=said.agent, prompt_hash=said.prompt_hash)

"""The engine that answers queries in Cypher, how graphs are read, and where one is searched that no process holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from palimpsest.graph import ANY, Entity, Graph, Part, Relationship, Which
from palimpsest.graph.cypher import Query
from palimpsest.scope import UserScope


@dataclass(frozen=True, slots=True)
class Limits:
    """What a query may take. `memory` is in bytes, beyond what the graph itself needs; `answer` is bytes of JSON."""

    seconds: float = 5.0
    rows: int = 1_000
    memory: int = 256 * 1024 * 1024
    answer: int = 2_000_000


@dataclass(frozen=True, slots=True)
class Rows:
    """What a query returned: names of the columns, and rows of JSON values. `is_whole`: no row was left out."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    is_whole: bool = True


class GraphEngine(Protocol):
    """Reads what it is given and nothing else: no query can change a graph, see another user's, or reach files or the
    network. `most` is how many entities, and how many relationships, a graph may have.
    """

    @property
    def most(self) -> int: ...

    def query(
        self, scope: UserScope, graph: Graph, asked: Query, parameters: Mapping[str, Any], *, limits: Limits
    ) -> Rows:
        """What the query returns over the nodes and edges of the graph, which is the user's. A node is
        `{_label, id, name, …}`, an edge `{_label, id, …}`; what a node lacks is null. A type or property that nothing
        has matches nothing.

        Raises `Unprocessable`: `invalid_query` for what is no query, `query_stopped` for one that failed on its way, or
        took more than its limits allow; `no_graph_engine` where there is none. Raises `Unavailable`.
        """


class Graphs(Protocol):
    """Reads graphs of users. What it returns is what the tables have now; every call raises `Unavailable`.

    Entities and relationships are in the order of their ids, those after `after`, at most `most` (None: all).
    """

    def entities(
        self, scope: UserScope, which: Which = ANY, *, after: str | None = None, most: int | None = None
    ) -> list[Entity]:
        """The current entities that are meant."""

    def relationships(
        self, scope: UserScope, which: Which = ANY, *, after: str | None = None, most: int | None = None
    ) -> list[Relationship]:
        """The current relationships that are meant."""

    def part(self, scope: UserScope, part: Part, *, most: int) -> Graph:
        """A graph with at least what `around` finds in the user's: the start is in its nodes if it holds now."""

    def about(self, scope: UserScope, names: Sequence[str]) -> Graph:
        """A graph with at least the entities that have these names, and the relationships between them and the user."""

    def whole(self, scope: UserScope, *, most: int) -> Graph:
        """The user's graph. Raises `Conflict` (`too_many_entities`, `too_many_relationships`)."""


class GraphIndex(Protocol):
    """A projection of users' graphs, for those that no process can hold. It knows things by their topics, follows the
    tables a moment later, and holds no properties. No call reaches what is of another owner. Raises `Unavailable`.

    Topics are returned in order, those after `after`, at most `limit`.
    """

    def write(self, scope: UserScope, things: Mapping[str, Sequence[Entity | Relationship]]) -> None:
        """Have what is under each topic (at most 100) replaced by these; where there are none, it goes. Safe to repeat.
        An end of a relationship may come later than the relationship.
        """

    def topics(self, scope: UserScope, records: Sequence[str]) -> list[str]:
        """The topics under which it has what one of these records held."""

    def entities(
        self,
        scope: UserScope,
        *,
        kind: str | None = None,
        name: str | None = None,
        names: Sequence[str] | None = None,
        after: str | None = None,
        limit: int,
    ) -> list[str]:
        """The topics of entities: of that type, whose name holds `name` in any case, or is one of `names` as
        `normalized` has them.
        """

    def relationships(
        self,
        scope: UserScope,
        *,
        kinds: Sequence[str] = (),
        starts: Sequence[str] | None = None,
        ends: Sequence[str] | None = None,
        after: str | None = None,
        limit: int,
    ) -> list[str]:
        """The topics of relationships, also of those to preferences: of one of these types, from one and to one of
        these nodes, where they are given (at most 100 of each).
        """

    def sizes(self, scope: UserScope) -> tuple[int, int]:
        """How many entities and how many relationships it has of the user, without preferences."""

"""The engine that answers queries in Cypher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from palimpsest.graph.neighbourhood import Graph
from palimpsest.graph.query import CypherQuery
from palimpsest.scope import UserScope


@dataclass(frozen=True, slots=True)
class GraphLimits:
    """The limits of a query. `memory` is in bytes, in addition to the memory of the graph itself.
    `answer` is in bytes of JSON.
    """

    seconds: float = 5.0
    rows: int = 1_000
    memory: int = 256 * 1024 * 1024
    answer: int = 2_000_000


@dataclass(frozen=True, slots=True)
class Rows:
    """The result of a query: names of the columns, and rows of JSON values. `is_whole` is true if
    no row was left out.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    is_whole: bool = True


class GraphEngine(Protocol):
    """Answers queries in Cypher over one given graph. No query can change a graph, see another
    user's graph, or reach files or the network. `most` is how many entities, and how many
    relationships, a graph may have.
    """

    @property
    def most(self) -> int: ...

    def read(self, text: str) -> CypherQuery:
        """Return the query if it only reads. Raises `Unprocessable` (`query_writes`,
        `invalid_query`, `query_too_large`).
        """

    def query(
        self,
        scope: UserScope,
        graph: Graph,
        query: CypherQuery,
        parameters: Mapping[str, Any],
        *,
        limits: GraphLimits,
    ) -> Rows:
        """Return the result of the query over the nodes and edges of the user's graph. A node is
        `{_label, id, name, …}`, an edge `{_label, id, …}`. Missing properties are null. An unknown
        type or property matches nothing.

        Raises `Unprocessable`: `invalid_query` for an invalid query, `query_stopped` for a query
        that failed while it ran or exceeded its limits, `no_graph_engine` if there is no engine.
        Raises `Unavailable`.
        """

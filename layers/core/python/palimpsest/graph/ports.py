"""The engine that answers queries in Cypher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from palimpsest.graph.cypher import CypherQuery
from palimpsest.graph.neighbourhood import Graph
from palimpsest.scope import UserScope


@dataclass(frozen=True, slots=True)
class GraphLimits:
    """What a query may take. `memory` is in bytes, beyond what the graph itself needs; `answer` is
    bytes of JSON.
    """

    seconds: float = 5.0
    rows: int = 1_000
    memory: int = 256 * 1024 * 1024
    answer: int = 2_000_000


@dataclass(frozen=True, slots=True)
class Rows:
    """What a query returned: names of the columns, and rows of JSON values. `is_whole`: no row was
    left out.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    is_whole: bool = True


class GraphEngine(Protocol):
    """Reads what it is given and nothing else: no query can change a graph, see another user's, or
    reach files or the network. `most` is how many entities, and how many relationships, a graph may
    have.
    """

    @property
    def most(self) -> int: ...

    def query(
        self,
        scope: UserScope,
        graph: Graph,
        asked: CypherQuery,
        parameters: Mapping[str, Any],
        *,
        limits: GraphLimits,
    ) -> Rows:
        """What the query returns over the nodes and edges of the graph, which is the user's. A node
        is `{_label, id, name, …}`, an edge `{_label, id, …}`; what a node lacks is null. A type or
        property that nothing has matches nothing.

        Raises `Unprocessable`: `invalid_query` for what is no query, `query_stopped` for one that
        failed on its way, or took more than its limits allow; `no_graph_engine` where there is
        none. Raises `Unavailable`.
        """

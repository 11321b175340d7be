"""Answer a query in Cypher over a user's graph, or over what is around one entity in it, as it is stored now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from palimpsest.errors import FieldError, NotFound, Unprocessable
from palimpsest.graph.cypher import read_query
from palimpsest.graph.ports import GraphEngine, Graphs, Limits, Rows
from palimpsest.graph.read import check_sizes
from palimpsest.graph.walk import Graph, around
from palimpsest.scope import UserScope

USER = "userId"
"""A parameter that every query has: the user's id."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is within `depth` steps of a node, by its id."""

    start: str
    depth: int = 1


@dataclass(frozen=True, slots=True)
class QueryGraph:
    read: Graphs
    engine: GraphEngine

    def __call__(
        self,
        scope: UserScope,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        part: Part | None = None,
        limits: Limits | None = None,
    ) -> Rows:
        """Run a query that only reads, with `parameters` for the names behind `$`; `$userId` is the user's id, unless
        it is given. With `part` the rest of the graph is not there for it.

        Raises `Unprocessable` (`query_writes`, `invalid_query`, `missing_parameter`, `query_stopped`,
        `no_graph_engine`), `NotFound` for a part of no entity, `Conflict` for what is too large, and `Unavailable`.
        """
        asked = read_query(text)
        given = {USER: scope.user, **(parameters or {})}
        if missing := sorted(asked.parameters - given.keys()):
            errors = (FieldError(f"parameters.{missing[0]}", "is missing"),)
            raise Unprocessable("The query has a parameter without a value.", code="missing_parameter", errors=errors)
        graph = self.read.whole(scope, most=self.engine.most) if part is None else self._part(scope, part)
        used = {name: value for name, value in given.items() if name in asked.parameters}
        return self.engine.query(scope, graph, asked, used, limits=limits or Limits())

    def _part(self, scope: UserScope, part: Part) -> Graph:
        most = self.engine.most
        graph = self.read.part(scope, part.start, depth=part.depth, direction="both", types=frozenset(), most=most)
        if part.start not in graph.nodes:
            raise NotFound("There is no such entity.", code="entity_not_found")
        found = around(graph, part.start, depth=part.depth, most=most)
        nodes = {one.id: one for one in (graph.nodes[part.start], *(one for one, _ in found.nodes))}
        check_sizes(len(nodes) if found.is_whole else most + 1, len(found.edges), most=most)
        return Graph(nodes=nodes, edges=found.edges)

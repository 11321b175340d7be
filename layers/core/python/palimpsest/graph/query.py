"""Answer a query in Cypher over a user's graph, as it is stored now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from palimpsest.errors import FieldError, Unprocessable
from palimpsest.graph.cypher import read_query
from palimpsest.graph.ports import GraphEngine, Limits, Rows
from palimpsest.graph.read import ReadGraph, check_sizes
from palimpsest.scope import UserScope

USER = "userId"
"""A parameter that every query has: the user's id."""


@dataclass(frozen=True, slots=True)
class QueryGraph:
    read: ReadGraph
    engine: GraphEngine

    def __call__(
        self, scope: UserScope, text: str, parameters: Mapping[str, Any] | None = None, *, limits: Limits | None = None
    ) -> Rows:
        """Run a query that only reads, with `parameters` for the names behind `$`; `$userId` is the user's id, unless
        it is given.

        Raises `Unprocessable` (`query_writes`, `invalid_query`, `missing_parameter`, `query_stopped`,
        `no_graph_engine`), `Conflict` for a graph that is too large, and `Unavailable`.
        """
        asked = read_query(text)
        given = {USER: scope.user, **(parameters or {})}
        if missing := sorted(asked.parameters - given.keys()):
            errors = (FieldError(f"parameters.{missing[0]}", "is missing"),)
            raise Unprocessable("The query has a parameter without a value.", code="missing_parameter", errors=errors)
        graph = self.read(scope)
        check_sizes(len(graph.entities), len(graph.relationships), most=self.engine.most)
        used = {name: value for name, value in given.items() if name in asked.parameters}
        return self.engine.query(scope, graph, asked, used, limits=limits or Limits())

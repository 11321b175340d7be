"""Keeps graphs in child processes. Each process lives as long as its graph does not change."""

from __future__ import annotations

import json
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palimpsest.errors import FieldError, Unprocessable
from palimpsest.graph.neighbourhood import Graph
from palimpsest.graph.ports import GraphLimits, Rows
from palimpsest.graph.query import CypherQuery
from palimpsest.graph.things import MOST_THINGS
from palimpsest.scope import UserScope

from palimpsest_graph.cypher import read_query
from palimpsest_graph.ladybug.process import Ended, GraphProcess
from palimpsest_graph.ladybug.tables import Tables

HELD = 2  # processes at the same time

GRACE = 1.0  # extra seconds in which a query may end by itself


@dataclass(slots=True)
class _Held:
    key: str
    process: GraphProcess
    tables: Tables


class LadybugGraphs:
    """Implements `GraphEngine`. Safe for many threads, which take turns."""

    def __init__(self) -> None:
        self._held: OrderedDict[UserScope, _Held] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def most(self) -> int:
        return MOST_THINGS

    def read(self, text: str) -> CypherQuery:
        return read_query(text)

    def query(
        self,
        scope: UserScope,
        graph: Graph,
        query: CypherQuery,
        parameters: Mapping[str, Any],
        *,
        limits: GraphLimits,
    ) -> Rows:
        with self._lock:
            try:
                self._hold(scope, graph, limits)
                answer = self._asked(scope, query, parameters, limits)
            except Ended as error:
                self._drop(scope)
                message = f"it took more than {limits.seconds:g} seconds, or too much memory"
                raise _refused("query_stopped", message) from error
        if "invalid" in answer:
            raise _refused("invalid_query", answer["invalid"])
        if "stopped" in answer:
            raise _refused("query_stopped", answer["stopped"])
        return Rows(
            answer["columns"], [json.loads(row) for row in answer["rows"]], answer["is_whole"]
        )

    @property
    def processes(self) -> tuple[int, ...]:
        """Return the ids of the processes. The process that was asked last comes last."""
        with self._lock:
            return tuple(held.process.id for held in self._held.values())

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            for scope in list(self._held):
                self._drop(scope)

    def _hold(self, scope: UserScope, graph: Graph, limits: GraphLimits) -> None:
        held = self._held.get(scope)
        if held is None or held.key != graph.key:
            self._drop(scope)
            while len(self._held) >= HELD:
                self._drop(next(iter(self._held)))
            tables = Tables.of(graph)
            with tempfile.TemporaryDirectory() as folder:
                statements = list(tables.load(graph, Path(folder)))
                process = GraphProcess(statements, memory=limits.memory)
            self._held[scope] = _Held(graph.key, process, tables)
        self._held.move_to_end(scope)

    def _asked(
        self,
        scope: UserScope,
        query: CypherQuery,
        parameters: Mapping[str, Any],
        limits: GraphLimits,
    ) -> dict[str, Any]:
        held = self._held[scope]
        held.tables, statements = held.tables.more_for(query)
        request = {
            "statements": statements,
            "cypher": query.renamed(held.tables.edges),
            "parameters": dict(parameters),
            "seconds": limits.seconds,
            "rows": limits.rows,
            "answer": limits.answer,
        }
        answer = held.process.ask(request, seconds=limits.seconds + GRACE)
        if statements and "invalid" in answer:  # perhaps not all statements were run
            self._drop(scope)
        return answer

    def _drop(self, scope: UserScope) -> None:
        held = self._held.pop(scope, None)
        if held is not None:
            held.process.end()


def _refused(code: str, message: str) -> Unprocessable:
    reason = message.strip().partition("\n")[0][:500]
    return Unprocessable(
        f"The query can't be run: {reason}", code=code, errors=(FieldError("cypher", reason),)
    )

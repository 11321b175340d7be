"""A user's graph as tables of the engine, one for each type. All tables of nodes have the same
columns, and so have all tables of edges.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from palimpsest.clock import stamp
from palimpsest.errors import Conflict
from palimpsest.graph.neighbourhood import Graph
from palimpsest.graph.query import CypherQuery
from palimpsest.graph.things import PREFERENCE_TYPE, PREFERS, USER_TYPE, Entity, Relationship

MOST_TYPES = 200  # of nodes, and of edges from one type of nodes to another
MOST_PROPERTIES = 200
LARGEST = 2**63
OWN = {"id": "STRING", "valid_from": "STRING", "valid_to": "STRING"}
COPYING = "header=false, parallel=false"


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a graph. `nodes` and `edges` map each type in lower case to the name of its
    table. The engine does not distinguish upper and lower case, nor a table of nodes from a table
    of edges with the same name. `columns` maps the properties to the engine's types.
    """

    nodes: Mapping[str, str]
    edges: Mapping[str, str]
    columns: Mapping[str, str]

    @classmethod
    def of(cls, graph: Graph) -> Tables:
        """Return the tables for a graph. Raises `Conflict` (`graph_too_varied`)."""
        nodes = _tables(
            [USER_TYPE, PREFERENCE_TYPE, *(node.type for node in graph.nodes.values())], taken=()
        )
        edges = _tables([PREFERS, *(edge.type for edge in graph.edges)], taken=nodes)
        columns = {"value": "STRING", **_columns((*graph.nodes.values(), *graph.edges))}
        if len(nodes) > MOST_TYPES or len(columns) > MOST_PROPERTIES:
            raise _too_varied()
        return cls(nodes, edges, columns)

    def load(self, graph: Graph, folder: Path) -> Iterator[str]:
        """Yield the statements that load the graph from files, which are written into the folder.
        Raises `Conflict`.
        """
        by_table: dict[str, list[Entity]] = defaultdict(list)
        for node in graph.nodes.values():
            by_table[self._table_of(node)].append(node)
        for table in self.nodes.values():
            yield self.node_table(table)
            yield from self._copied(folder, f"`{table}`", COPYING, map(self._node, by_table[table]))
        pairs: dict[str, dict[tuple[str, str], list[Relationship]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for edge in graph.edges:
            ends = (self._table_of(graph.nodes[edge.start]), self._table_of(graph.nodes[edge.end]))
            pairs[self.edges[edge.type.casefold()]][ends].append(edge)
        if sum(map(len, pairs.values())) > MOST_TYPES:
            raise _too_varied()
        for table in self.edges.values():
            yield self.edge_table(table, pairs[table])
            for (start, end), edges in pairs[table].items():
                options = f"from='{start}', to='{end}', {COPYING}"
                yield from self._copied(folder, f"`{table}`", options, map(self._edge, edges))

    def more_for(self, query: CypherQuery) -> tuple[Tables, list[str]]:
        """Return the tables with the types and properties that a query names and the graph lacks,
        and the statements that create these.
        """
        nodes, edges, columns = dict(self.nodes), dict(self.edges), dict(self.columns)
        statements: list[str] = []
        known = {name.casefold() for name in (*columns, *OWN, "name")}
        for name in query.properties:
            if name.casefold() not in known:
                known.add(name.casefold())
                columns[name] = "STRING"
                every = (*nodes.values(), *edges.values())
                statements += [f"ALTER TABLE `{table}` ADD `{name}` STRING" for table in every]
        made = Tables(nodes, edges, columns)
        for kind in query.types:
            key = kind.text.casefold()
            if (
                kind.of == "node"
                and key not in nodes
                and key not in map(str.casefold, edges.values())
            ):
                nodes[key] = kind.text
                statements.append(made.node_table(kind.text))
            elif kind.of == "edge" and key not in edges:
                edges |= _tables([kind.text], taken=nodes)
                statements.append(made.edge_table(edges[key], ()))
        return made, statements

    def node_table(self, table: str) -> str:
        columns = self._columns({**OWN, "name": "STRING"})
        return f"CREATE NODE TABLE `{table}`({columns}, PRIMARY KEY(id))"

    def edge_table(self, table: str, pairs: Iterable[tuple[str, str]]) -> str:
        ends = [f"FROM `{start}` TO `{end}`" for start, end in pairs] or [
            f"FROM {USER_TYPE} TO {USER_TYPE}"
        ]
        return f"CREATE REL TABLE `{table}`({', '.join(ends)}, {self._columns(OWN)})"

    def _columns(self, own: Mapping[str, str]) -> str:
        return ", ".join(f"`{name}` {kind}" for name, kind in {**own, **self.columns}.items())

    def _table_of(self, node: Entity) -> str:
        return self.nodes[node.type.casefold()]

    def _node(self, node: Entity) -> Sequence[Any]:
        return [node.id, *_times(node), node.name, *self._values(node)]

    def _edge(self, edge: Relationship) -> Sequence[Any]:
        return [edge.start, edge.end, edge.id, *_times(edge), *self._values(edge)]

    def _values(self, thing: Entity | Relationship) -> Iterator[Any]:
        properties = {name.casefold(): value for name, value in thing.properties.items()}
        for name, kind in self.columns.items():
            value = properties.get(name.casefold())
            is_text = kind != "STRING" or isinstance(value, str) or value is None
            yield value if is_text else json.dumps(value, ensure_ascii=False, sort_keys=True)

    def _copied(
        self, folder: Path, table: str, options: str, rows: Iterable[Sequence[Any]]
    ) -> Iterator[str]:
        lines = [",".join(map(_field, row)) for row in rows]
        if lines:
            file = folder / f"{len(list(folder.iterdir()))}.csv"
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
            yield f"COPY {table} FROM '{file}' ({options})"


def _tables(types: Iterable[str], *, taken: Iterable[str]) -> dict[str, str]:
    """Return a table name for each type, whatever its case. No table gets a name that is taken."""
    tables: dict[str, str] = {}
    for kind in types:
        tables.setdefault(kind.casefold(), f"{kind}_" if kind.casefold() in taken else kind)
    return tables


def _columns(things: Iterable[Entity | Relationship]) -> dict[str, str]:
    kinds: dict[str, set[str]] = defaultdict(set)
    names: dict[str, str] = {}
    for thing in things:
        for name, value in thing.properties.items():
            if value is not None:
                names.setdefault(name.casefold(), name)
                kinds[name.casefold()].add(_kind(value))
    return {
        names[key]: _common(kinds_of_name) for key, kinds_of_name in kinds.items() if key != "value"
    }


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "BOOL"
    if isinstance(value, int) and abs(value) < LARGEST:
        return "INT64"
    return "DOUBLE" if isinstance(value, float) else "STRING"


def _common(kinds: set[str]) -> str:
    """Return the type that can hold values of all these types. If they are mixed, all values become
    texts.
    """
    if len(kinds) == 1:
        return next(iter(kinds))
    return "DOUBLE" if kinds == {"INT64", "DOUBLE"} else "STRING"


def _times(thing: Entity | Relationship) -> Iterator[str | None]:
    for moment in (thing.valid_from, thing.valid_to):
        yield None if moment is None else stamp(datetime.fromtimestamp(moment / 1000, UTC))


def _field(value: Any) -> str:
    """Return a value as a field of a CSV file. Null is an empty field. An empty text is in
    quotation marks, which distinguish it from null.
    """
    if value is None:
        return ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return '"' + text.replace('"', '""') + '"'


def _too_varied() -> Conflict:
    detail = (
        f"A graph that is queried has at most {MOST_TYPES} types and {MOST_PROPERTIES} properties."
    )
    return Conflict(detail, code="graph_too_varied")

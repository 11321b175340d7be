"""The contract of the engine of queries, over every adapter: what it answers, and what it
survives.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from palimpsest.errors import Conflict, Unprocessable
from palimpsest.graph.neighbourhood import Graph
from palimpsest.graph.ports import GraphEngine, GraphLimits
from palimpsest.graph.query import CypherQuery
from palimpsest.graph.things import Entity, Relationship
from palimpsest.scope import UserScope
from palimpsest_graph.cypher import read_query
from palimpsest_graph.ladybug.graphs import LadybugGraphs

SARAH, DAVID = UserScope("acme", "sarah"), UserScope("acme", "david")
ENTITIES = (
    Entity("sarah", "User", "sarah"),
    Entity("preference/language", "Preference", "language", {"value": "German"}),
    Entity(
        "acme",
        "Company",
        'Acme, "the" one\n',
        {"employees": 120, "listed": True, "rate": 1.5, "of": ["a"]},
        0,
    ),
    Entity("be", "City", "Berlin", {"employees": 5, "empty": ""}),
)
EDGES = (
    Relationship("p1", "PREFERS", "sarah", "preference/language"),
    Relationship("r1", "WORKS_AT", "sarah", "acme", {"role": "CEO"}, 0, 86_400_000),
    Relationship("r2", "IS_IN", "acme", "be"),
    Relationship("r3", "CITY", "be", "be"),
)  # fmt: skip
ROOMY = GraphLimits(seconds=60.0, memory=128 * 1024 * 1024)
TIGHT = replace(
    ROOMY, seconds=1.0
)  # for queries without end alone: on a busy machine any takes long


@pytest.fixture
def graphs() -> Iterator[GraphEngine]:
    made = LadybugGraphs()
    yield made
    made.close()


def graph_of(
    entities: tuple[Entity, ...] = ENTITIES, edges: tuple[Relationship, ...] = EDGES
) -> Graph:
    return Graph(nodes={entity.id: entity for entity in entities}, edges=edges)


WHOLE = graph_of()


def rows(
    graphs: GraphEngine,
    cypher: str,
    *,
    graph: Graph = WHOLE,
    scope: UserScope = SARAH,
    **given: Any,
) -> list[Any]:
    return [
        list(row)
        for row in graphs.query(scope, graph, read_query(cypher), given, limits=ROOMY).rows
    ]


def refusal(
    graphs: GraphEngine, cypher: str | CypherQuery, *, limits: GraphLimits = ROOMY, **more: Any
) -> str:
    asked = read_query(cypher) if isinstance(cypher, str) else cypher
    with pytest.raises(Unprocessable) as refused:
        graphs.query(SARAH, more.pop("graph", WHOLE), asked, more, limits=limits)
    return refused.value.code


def unread(text: str) -> CypherQuery:
    """A query that nobody has looked at: what would the engine do with it?"""
    return CypherQuery(text, (), (), frozenset())


def test_the_users_preferences_are_found_as_anybody_would_ask(graphs: GraphEngine) -> None:
    asked = "MATCH (u:User {id: $userId})-[:PREFERS]->(p) RETURN p.name, p.value"
    assert rows(graphs, asked, userId="sarah") == [["language", "German"]]
    assert rows(graphs, asked, userId="david") == []


@pytest.mark.parametrize(
    "value", [5, -(2**63), 1.5, True, None, "x", [1, 2], ["a"], {"a": [1, None]}]
)
def test_a_parameter_may_have_any_value_of_json(graphs: GraphEngine, value: Any) -> None:
    assert rows(graphs, "RETURN $given", given=value) == [[value]]
    assert rows(
        graphs, "MATCH (c:City) WHERE c.employees < $most RETURN c.id LIMIT $k", most=6, k=1
    ) == [["be"]]


@pytest.mark.parametrize("value", [2**63, ["a", 1], [True, 1], "\ud800"])
def test_a_value_that_the_engine_has_no_type_for_is_refused(
    graphs: GraphEngine, value: Any
) -> None:
    assert refusal(graphs, "RETURN $given", given=value) == "invalid_query"
    assert rows(graphs, "MATCH (c:City) RETURN c.id") == [["be"]]


def test_nodes_edges_and_values_come_back_as_they_are(graphs: GraphEngine) -> None:
    (found,) = rows(
        graphs, "MATCH (:User)-[r:WORKS_AT]->(c) RETURN c, r, c.employees + 1, c.missing"
    )
    assert found[0] == {
        "_label": "Company",
        "id": "acme",
        "name": ENTITIES[2].name,
        "employees": 120,
        "listed": True,
        "rate": 1.5,
        "of": '["a"]',
        "valid_from": "1970-01-01T00:00:00.000Z",
    }
    assert found[1] == {
        "_label": "WORKS_AT", "id": "r1", "role": "CEO", "valid_from": "1970-01-01T00:00:00.000Z",
        "valid_to": "1970-01-02T00:00:00.000Z",
    }  # fmt: skip
    assert found[2:] == [121, None]
    assert rows(graphs, "RETURN 10.0^400, [0.0/0.0, 1.5], {a: -(10.0^400)}") == [
        [None, [None, 1.5], {"a": None}]
    ]
    assert rows(graphs, "MATCH (c:City) RETURN c.empty") == [[""]]


def test_paths_of_several_steps_and_aggregates(graphs: GraphEngine) -> None:
    assert rows(graphs, "MATCH (u:User)-[:WORKS_AT|IS_IN*1..3]->(b:City) RETURN b.name") == [
        ["Berlin"]
    ]
    assert rows(graphs, "MATCH (n) RETURN label(n) AS kind, count(*) ORDER BY kind") == [
        ["City", 1], ["Company", 1], ["Preference", 1], ["User", 1]
    ]  # fmt: skip


def test_types_and_properties_that_nothing_has_match_nothing(graphs: GraphEngine) -> None:
    assert rows(graphs, "MATCH (n:Person)-[:KNOWS]->(m {nick: 'x'}) RETURN m.nick") == []
    optional = "MATCH (u:User) OPTIONAL MATCH (u)-[:KNOWS]->(m:Person) RETURN u.nick, m.name"
    assert rows(graphs, optional) == [[None, None]]
    assert (
        rows(
            graphs,
            "MATCH (u:User {id: 'sarah'})-[:PREFERS]->(p) RETURN p.name",
            graph=Graph(nodes={}),
        )
        == []
    )


def test_a_type_of_edges_may_be_called_as_a_type_of_nodes(graphs: GraphEngine) -> None:
    assert rows(graphs, "MATCH (a:City)-[r:CITY]->(b:City) RETURN r.id") == [["r3"]]


def test_the_next_query_sees_the_graph_as_it_is_then(graphs: GraphEngine) -> None:
    asked = "MATCH (c:City) RETURN count(*)"
    assert rows(graphs, asked) == [[1]]
    assert rows(graphs, asked, graph=graph_of((*ENTITIES, Entity("ro", "City", "Rome")))) == [[2]]


def test_no_query_sees_another_users_graph(graphs: GraphEngine) -> None:
    other = graph_of((Entity("david", "User", "david"),), ())
    for _ in range(2):
        assert rows(graphs, "MATCH (n) RETURN count(*)") == [[4]]
        assert rows(graphs, "MATCH (n) RETURN n.id", graph=other, scope=DAVID) == [["david"]]


def test_of_many_rows_the_first_come_and_it_says_so(graphs: GraphEngine) -> None:
    asked = read_query("UNWIND range(1, 50) AS n RETURN n")
    found = graphs.query(SARAH, WHOLE, asked, {}, limits=GraphLimits(rows=3))
    assert ([list(row) for row in found.rows], found.is_whole) == ([[1], [2], [3]], False)
    large = read_query("UNWIND range(1, 50) AS n RETURN repeat('x', 1000)")
    assert len(graphs.query(SARAH, WHOLE, large, {}, limits=GraphLimits(answer=10_000)).rows) < 10


@pytest.mark.parametrize(
    "text", ["MATCH (n) RETURN", "MATCH (n) RETURN nonsense(n)", "RETURN 1 +", "MATCH (n) RETURN m"]
)
def test_what_the_engine_does_not_understand_is_refused(graphs: GraphEngine, text: str) -> None:
    assert refusal(graphs, text) == "invalid_query"
    assert rows(graphs, "MATCH (c:City) RETURN c.id") == [["be"]]


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a)-[*1..30]-(b), (c)-[*1..30]-(d) RETURN count(*)",
        "UNWIND range(1, 100000000) AS x UNWIND range(1, 1000000) AS y RETURN count(*)",
        (
            "UNWIND range(1, 9000) AS x UNWIND range(1, 9000) AS y UNWIND range(1, 9000) AS z RETURN x "
            "+ y + z ORDER BY z"
        ),
        "RETURN size(range(1, 1000000000))",
        "UNWIND range(1, 400) AS n RETURN repeat(repeat('x', 1000000), 100)",
        "RETURN 1 / 0",
    ],
)
def test_a_query_without_end_is_stopped_and_the_next_one_answered(
    graphs: GraphEngine, text: str
) -> None:
    """Also one whose constants alone are too large: that shows while the engine prepares it."""
    begun = time.monotonic()
    assert refusal(graphs, text, limits=TIGHT) in ("query_stopped", "invalid_query")
    assert time.monotonic() - begun < 60
    assert rows(graphs, "MATCH (c:City) RETURN c.id") == [["be"]]


@pytest.mark.parametrize(
    "text",
    [
        "CREATE (:City {id: 'x'})",
        "MATCH (n) DETACH DELETE n",
        "MATCH (n) SET n.name = 'x'",
        "CREATE NODE TABLE Foo(id STRING, PRIMARY KEY(id))",
        "LOAD FROM '{folder}/read.csv' (file_format='csv', header=false) RETURN *",
        "COPY (MATCH (n) RETURN n.id) TO '{folder}/written.csv'",
        "COPY City FROM '{folder}/read.csv'",
        "INSTALL httpfs",
        "LOAD EXTENSION '{folder}/x'",
        "ATTACH '{folder}/x' AS x (dbtype lbug)",
        "EXPORT DATABASE '{folder}/exported'",
        "IMPORT DATABASE '{folder}/exported'",
        "COMMIT; MATCH (n) DETACH DELETE n",
    ],
)  # fmt: skip
def test_even_unread_no_query_writes_or_reaches_a_file(
    graphs: GraphEngine, text: str, tmp_path: Path
) -> None:
    """The check before a query runs is not all that stands in its way."""
    (tmp_path / "read.csv").write_text("secret,secret\n")
    assert rows(graphs, "MATCH (n) RETURN count(*)") == [[4]]
    assert refusal(graphs, unread(text.replace("{folder}", str(tmp_path)))) in (
        "invalid_query",
        "query_stopped",
    )
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["read.csv"]
    assert rows(graphs, "MATCH (n) RETURN count(*)") == [[4]]
    assert rows(graphs, "MATCH (n) WHERE n.name = 'x' RETURN n") == []


def test_a_process_that_was_killed_is_replaced(graphs: GraphEngine) -> None:
    assert isinstance(graphs, LadybugGraphs)
    assert rows(graphs, "MATCH (n) RETURN count(*)") == [[4]]
    os.kill(graphs.processes[0], 9)
    with pytest.raises(Unprocessable):
        rows(graphs, "MATCH (n) RETURN count(*)")
    assert rows(graphs, "MATCH (n) RETURN count(*)") == [[4]]


def test_a_graph_at_its_limit_is_loaded_and_queried_in_time(graphs: GraphEngine) -> None:
    nodes = tuple(Entity(f"n{number}", "City", f"place {number}") for number in range(2_000))
    edges = tuple(
        Relationship(f"e{each}", "IS_NEAR", f"n{each % 2_000}", f"n{each * 7 % 2_000}")
        for each in range(20_000)
    )
    found = rows(
        graphs,
        "MATCH (a:City {id: 'n1'})-[:IS_NEAR]->(b) RETURN count(DISTINCT b.id)",
        graph=graph_of(nodes, edges),
    )
    assert found == [[1]]


def test_a_graph_of_too_many_types_is_refused(graphs: GraphEngine) -> None:
    many = tuple(Entity(f"n{number}", f"Type{number}", "x") for number in range(300))
    with pytest.raises(Conflict):
        rows(graphs, "MATCH (n) RETURN n", graph=graph_of(many, ()))

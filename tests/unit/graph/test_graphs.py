"""A user's graph read whole: lists, neighbours and queries, over tables in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from palimpsest.clock import FakeClock, milliseconds
from palimpsest.errors import Conflict, NotFound
from palimpsest.graph.manage import GraphLimit, ManageGraph
from palimpsest.graph.neighbourhood import GraphPart, Which
from palimpsest.graph.ports import Rows
from palimpsest.graph.read import QueryGraph, ReadGraph
from palimpsest.graph.things import Entity, Relationship, relationship_id
from palimpsest.memory.preferences import ManagePreferences
from palimpsest.memory.remember import Remember
from palimpsest.memory.removal.users import Erase
from palimpsest.scope import UserScope
from palimpsest_graph.ladybug.graphs import LadybugGraphs
from palimpsest_local.stores.memories import LocalMemories
from palimpsest_local.stores.sessions import LocalSessions
from palimpsest_local.stores.tenants import LocalTenants

from tests.service import DAVID, SARAH


class Kept:
    """Graphs of users over tables in memory."""

    def __init__(self) -> None:
        self.time = FakeClock()
        state = LocalSessions().state
        self.memories = LocalMemories(state)
        remember = Remember(self.memories, LocalTenants(state), self.time)
        self.graphs = ReadGraph(self.memories, self.time)
        self.manage = ManageGraph(
            self.memories, remember, self.graphs, self.time, GraphLimit(self.memories)
        )
        self.preferences = ManagePreferences(self.memories, remember, self.time)
        self.engine = LadybugGraphs()

    def put(self, *things: Entity | Relationship, scope: UserScope = SARAH) -> None:
        for thing in things:
            if isinstance(thing, Entity):
                self.manage.put_entities(scope, [thing])
            else:
                self.manage.put_relationships(scope, [thing])

    def entities(
        self, *, after: str | None = None, most: int | None = None, **which: Any
    ) -> list[str]:
        return [
            entity.id
            for entity in self.graphs.entities(SARAH, Which(**which), after=after, most=most)
        ]

    def relationships(self, **which: Any) -> list[str]:
        return [
            relationship.id for relationship in self.graphs.relationships(SARAH, Which(**which))
        ]

    def around(
        self, name: str, *, scope: UserScope = SARAH, most: int = 100, **how: Any
    ) -> list[tuple[str, int]]:
        found = self.manage.neighbors(scope, GraphPart(name, **how), most=most)
        return [(one.id, depth) for one, depth in found.nodes]

    def query(self, text: str, *, part: GraphPart | None = None) -> Rows:
        return QueryGraph(self.graphs, self.engine)(SARAH, text, part=part)


@pytest.fixture
def kept() -> Iterator[Kept]:
    made = Kept()
    yield made
    made.engine.close()


def city(name: str) -> Entity:
    return Entity(name.lower(), "City", name)


def edge(start: str, kind: str, end: str, **more: Any) -> Relationship:
    return Relationship(relationship_id(start, kind, end), kind, start, end, **more)


def chain(kept: Kept) -> None:
    """Sarah works at Acme, which is in Berlin, which is in Germany; Berlin is near Rome."""
    kept.put(
        Entity("acme", "Company", "Acme"),
        city("Berlin"),
        city("Rome"),
        Entity("de", "Country", "Germany"),
    )
    kept.put(
        edge("sarah", "WORKS_AT", "acme"),
        edge("acme", "IS_IN", "berlin"),
        edge("berlin", "IS_IN", "de"),
    )
    kept.put(edge("berlin", "IS_NEAR", "rome"))


def test_lists_are_in_the_order_of_ids_by_type_name_and_ends(kept: Kept) -> None:
    chain(kept)
    assert kept.entities() == ["acme", "berlin", "de", "rome"]
    assert kept.entities(kind="City") == ["berlin", "rome"]
    assert kept.entities(name="ER") == ["berlin", "de"]
    assert kept.entities(kind="City", after="berlin", most=1) == ["rome"]
    of = relationship_id
    assert kept.relationships(kind="IS_IN") == sorted(
        [of("acme", "IS_IN", "berlin"), of("berlin", "IS_IN", "de")]
    )
    assert kept.relationships(start="berlin", end="rome") == [of("berlin", "IS_NEAR", "rome")]
    assert len(kept.relationships(start="berlin")) == 2
    assert kept.relationships(end="acme") == [of("sarah", "WORKS_AT", "acme")]


def test_neighbors_are_found_step_by_step_in_the_direction_asked_for(kept: Kept) -> None:
    chain(kept)
    assert kept.around("sarah", depth=2) == [("acme", 1), ("berlin", 2)]
    assert sorted(kept.around("sarah", depth=4)) == [
        ("acme", 1),
        ("berlin", 2),
        ("de", 3),
        ("rome", 3),
    ]
    assert kept.around("berlin", direction="in", depth=4) == [("acme", 1), ("sarah", 2)]
    assert kept.around("acme", types=frozenset({"IS_IN"}), depth=2) == [("berlin", 1), ("de", 2)]
    assert len(kept.around("berlin", most=2)) == 2
    with pytest.raises(NotFound):
        kept.around("nowhere")


def test_more_than_a_page_comes_whole_and_a_hub_is_cut_where_it_was_asked_to_be(kept: Kept) -> None:
    many = [city(f"Place{number:03}") for number in range(230)]
    for start in range(0, 230, 30):
        kept.manage.put_entities(SARAH, many[start : start + 30])
        kept.manage.put_relationships(
            SARAH, [edge("sarah", "KNOWS", each.id) for each in many[start : start + 30]]
        )
    assert kept.entities() == [each.id for each in many]
    assert kept.entities(after="place100", most=101) == [each.id for each in many[101:202]]
    assert len(kept.relationships(start="sarah")) == 230
    part = GraphPart("sarah", direction="out")
    assert kept.manage.neighbors(SARAH, part, most=230).is_whole
    cut = kept.manage.neighbors(SARAH, part, most=150)
    assert (len(cut.nodes), cut.is_whole) == (150, False)


def test_preferences_are_neighbors_and_in_no_list(kept: Kept) -> None:
    kept.preferences.set(SARAH, {"language": "German"})
    kept.put(city("Berlin"), edge("sarah", "LIVES_IN", "berlin"))
    assert sorted(kept.around("sarah")) == [("berlin", 1), ("preference/language", 1)]
    assert kept.around("preference/language", depth=2) == [("sarah", 1), ("berlin", 2)]
    assert (kept.entities(), len(kept.relationships())) == (["berlin"], 1)


def test_the_next_version_replaces_the_one_before_also_its_ends(kept: Kept) -> None:
    kept.put(city("Berlin"), city("Rome"))
    home = edge("sarah", "LIVES_IN", "berlin")
    kept.put(home)
    kept.time.advance(60)
    kept.put(Relationship(home.id, "LIVES_IN", "sarah", "rome"), Entity("rome", "City", "Roma"))
    assert kept.around("sarah") == [("rome", 1)]
    assert (kept.around("berlin"), kept.relationships(end="berlin")) == ([], [])
    assert (kept.entities(name="roma"), kept.entities(name="rome")) == (["rome"], [])


def test_what_has_ended_is_listed_and_no_neighbor(kept: Kept) -> None:
    soon = milliseconds(kept.time.now()) + 3_600_000
    kept.put(city("Berlin"), edge("sarah", "LIVES_IN", "berlin", valid_to=soon))
    assert kept.around("sarah") == [("berlin", 1)]
    kept.time.advance(3_600)
    assert (kept.around("sarah"), len(kept.relationships())) == ([], 1)


def test_what_is_removed_is_in_no_answer(kept: Kept) -> None:
    chain(kept)
    kept.manage.delete_entity(SARAH, "berlin")
    assert kept.entities() == ["acme", "de", "rome"]
    assert kept.around("sarah", depth=4) == [("acme", 1)]
    assert len(kept.relationships()) == 1
    kept.manage.delete_entity(SARAH, "acme")
    kept.manage.delete_entity(SARAH, "de")
    kept.manage.delete_entity(SARAH, "rome")
    assert (kept.around("sarah", depth=4), kept.entities()) == ([], [])


def test_erasing_a_user_leaves_nothing_and_nobody_elses_goes(kept: Kept) -> None:
    chain(kept)
    kept.preferences.set(SARAH, {"language": "German"})
    kept.put(city("Oslo"), edge("david", "LIVES_IN", "oslo"), scope=DAVID)
    Erase(kept.memories, kept.time)(SARAH)
    assert (kept.entities(), kept.relationships(), kept.around("sarah")) == ([], [], [])
    kept.memories.wipe(SARAH, below_epoch=1)
    assert kept.around("david", scope=DAVID) == [("oslo", 1)]


def test_no_list_and_no_step_reaches_another_users_graph(kept: Kept) -> None:
    chain(kept)
    kept.put(Entity("acme", "Company", "Acme"), edge("david", "WORKS_AT", "acme"), scope=DAVID)
    assert kept.around("david", scope=DAVID, depth=4) == [("acme", 1)]
    assert [entity.id for entity in kept.graphs.entities(DAVID)] == ["acme"]
    with pytest.raises(NotFound):
        kept.around("berlin", scope=DAVID)
    assert len(kept.graphs.relationships(DAVID)) == 1


def test_cypher_runs_over_the_whole_or_over_what_is_around_an_entity(kept: Kept) -> None:
    chain(kept)
    count = "MATCH (n) RETURN count(*)"
    assert kept.query(count).rows == [[5]]
    assert kept.query(count, part=GraphPart("sarah", 2)).rows == [[3]]
    named = kept.query(
        "MATCH (:City)-[r]->(n) RETURN label(r), n.name ORDER BY n.name", part=GraphPart("rome", 2)
    )
    assert named.rows == [["IS_IN", "Germany"], ["IS_NEAR", "Rome"]]
    with pytest.raises(NotFound):
        kept.query(count, part=GraphPart("nowhere", 1))


def test_of_a_graph_beyond_the_engines_limit_a_part_is_queried(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain(kept)
    monkeypatch.setattr(LadybugGraphs, "most", 3)
    with pytest.raises(Conflict):
        kept.query("MATCH (n) RETURN n")
    assert kept.query("MATCH (n) RETURN count(*)", part=GraphPart("sarah", 2)).rows == [[3]]
    with pytest.raises(Conflict):
        kept.query("MATCH (n) RETURN n", part=GraphPart("sarah", 4))

"""The contract of `Graphs`, over both ways to read one: whole from the tables, and through an index in Neptune."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from palimpsest.bootstrap.engines import graphs_over, limit_of_graphs
from palimpsest.clock import FakeClock, milliseconds
from palimpsest.engines.embedded import EmbeddedIndex
from palimpsest.engines.in_memory.jobs import InMemoryOwners
from palimpsest.engines.in_memory.memories import InMemoryMemories
from palimpsest.engines.in_memory.sessions import InMemorySessions
from palimpsest.engines.in_memory.tenants import InMemoryTenants
from palimpsest.engines.ladybug import LadybugGraphs
from palimpsest.engines.neptune import NeptuneIndex
from palimpsest.errors import Conflict, NotFound, Unavailable
from palimpsest.graph import Entity, Part, Relationship, Which, relationship_id
from palimpsest.graph.indexed import ProjectGraph
from palimpsest.graph.manage import ManageGraph
from palimpsest.graph.ports import GraphIndex, Rows
from palimpsest.graph.read import QueryGraph
from palimpsest.jobs.kinds import ReindexPayload
from palimpsest.jobs.ports import Changed, RecordChanged
from palimpsest.memory import GRAPH as GRAPH_TYPES
from palimpsest.memory.preferences import ManagePreferences
from palimpsest.memory.remember import Remember
from palimpsest.memory.removal.erase import Erase
from palimpsest.scope import UserScope
from palimpsest.search.embed import Embed
from palimpsest.search.rebuild import Reindex

from tests.doubles.meanings import Meanings
from tests.doubles.neptune_api import GRAPH, NeptuneApi, neptune_api
from tests.service import DAVID, SARAH


@dataclass
class Kept:
    """Graphs of users over tables in memory; `follow` has the index follow them, where there is one."""

    index: GraphIndex | None
    time: FakeClock = field(default_factory=FakeClock)
    seen: dict[UserScope, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sessions = InMemorySessions()
        state = self.sessions.state
        self.memories = InMemoryMemories(state)
        remember = Remember(self.memories, InMemoryTenants(state), self.time)
        self.graphs = graphs_over(self.memories, self.time, self.index)
        limit = limit_of_graphs(self.memories, self.index)
        self.manage = ManageGraph(self.memories, remember, self.graphs, self.time, limit)
        self.preferences = ManagePreferences(self.memories, remember, self.time)
        self.engine = LadybugGraphs()
        self.project = ProjectGraph(self.memories, self.index, self.time) if self.index else None

    def put(self, *things: Entity | Relationship, scope: UserScope = SARAH) -> None:
        for one in things:
            if isinstance(one, Entity):
                self.manage.put_entities(scope, [one])
            else:
                self.manage.put_relationships(scope, [one])
        self.follow()

    def changes(self) -> list[Changed]:
        """What the stream would tell: every record that is there, or was there before."""
        told: list[Changed] = []
        for scope in (SARAH, DAVID):
            pages = (self.memories.listed(scope, types=types, limit=10_000) for types in (frozenset(), GRAPH_TYPES))
            there = {record.id for page in pages for record in page.records}
            told += (
                RecordChanged(scope.tenant, scope.user, name) for name in sorted(there | self.seen.get(scope, set()))
            )
            self.seen.setdefault(scope, set()).update(there)
        return told

    def follow(self) -> None:
        if self.project is not None:
            assert self.project(self.changes()) == set()

    def entities(self, *, after: str | None = None, most: int | None = None, **which: Any) -> list[str]:
        return [one.id for one in self.graphs.entities(SARAH, Which(**which), after=after, most=most)]

    def relationships(self, **which: Any) -> list[str]:
        return [one.id for one in self.graphs.relationships(SARAH, Which(**which))]

    def around(self, name: str, *, scope: UserScope = SARAH, most: int = 100, **how: Any) -> list[tuple[str, int]]:
        found = self.manage.neighbors(scope, Part(name, **how), most=most)
        return [(one.id, depth) for one, depth in found.nodes]

    def query(self, text: str, *, part: Part | None = None) -> Rows:
        return QueryGraph(self.graphs, self.engine)(SARAH, text, part=part)


@pytest.fixture
def api() -> Iterator[NeptuneApi]:
    with neptune_api() as served:
        yield served


@pytest.fixture(params=["whole", "neptune"])
def kept(request: pytest.FixtureRequest) -> Iterator[Kept]:
    if request.param == "whole":
        made = Kept(None)
        yield made
    else:
        made = Kept(NeptuneIndex(GRAPH, client=request.getfixturevalue("api").client()))
        yield made
    made.engine.close()


def city(name: str) -> Entity:
    return Entity(name.lower(), "City", name)


def edge(start: str, kind: str, end: str, **more: Any) -> Relationship:
    return Relationship(relationship_id(start, kind, end), kind, start, end, **more)


def chain(kept: Kept) -> None:
    """Sarah works at Acme, which is in Berlin, which is in Germany; Berlin is near Rome."""
    kept.put(Entity("acme", "Company", "Acme"), city("Berlin"), city("Rome"), Entity("de", "Country", "Germany"))
    kept.put(edge("sarah", "WORKS_AT", "acme"), edge("acme", "IS_IN", "berlin"), edge("berlin", "IS_IN", "de"))
    kept.put(edge("berlin", "IS_NEAR", "rome"))


def test_lists_are_in_the_order_of_ids_by_type_name_and_ends(kept: Kept) -> None:
    chain(kept)
    assert kept.entities() == ["acme", "berlin", "de", "rome"]
    assert kept.entities(kind="City") == ["berlin", "rome"]
    assert kept.entities(name="ER") == ["berlin", "de"]
    assert kept.entities(kind="City", after="berlin", most=1) == ["rome"]
    of = relationship_id
    assert kept.relationships(kind="IS_IN") == sorted([of("acme", "IS_IN", "berlin"), of("berlin", "IS_IN", "de")])
    assert kept.relationships(start="berlin", end="rome") == [of("berlin", "IS_NEAR", "rome")]
    assert len(kept.relationships(start="berlin")) == 2
    assert kept.relationships(end="acme") == [of("sarah", "WORKS_AT", "acme")]


def test_neighbors_are_found_step_by_step_in_the_direction_asked_for(kept: Kept) -> None:
    chain(kept)
    assert kept.around("sarah", depth=2) == [("acme", 1), ("berlin", 2)]
    assert sorted(kept.around("sarah", depth=4)) == [("acme", 1), ("berlin", 2), ("de", 3), ("rome", 3)]
    assert kept.around("berlin", direction="in", depth=4) == [("acme", 1), ("sarah", 2)]
    assert kept.around("acme", types=frozenset({"IS_IN"}), depth=2) == [("berlin", 1), ("de", 2)]
    assert len(kept.around("berlin", most=2)) == 2
    with pytest.raises(NotFound):
        kept.around("nowhere")


def test_more_than_a_page_comes_whole_and_a_hub_is_cut_where_it_was_asked_to_be(kept: Kept) -> None:
    many = [city(f"Place{number:03}") for number in range(230)]
    for start in range(0, 230, 30):
        kept.manage.put_entities(SARAH, many[start : start + 30])
        kept.manage.put_relationships(SARAH, [edge("sarah", "KNOWS", each.id) for each in many[start : start + 30]])
    kept.follow()
    assert kept.entities() == [each.id for each in many]
    assert kept.entities(after="place100", most=101) == [each.id for each in many[101:202]]
    assert len(kept.relationships(start="sarah")) == 230
    part = Part("sarah", direction="out")
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


def test_what_is_removed_is_in_no_answer_and_the_index_has_nothing_of_it(kept: Kept, api: NeptuneApi) -> None:
    chain(kept)
    kept.manage.delete_entity(SARAH, "berlin")
    assert kept.entities() == ["acme", "de", "rome"]  # at once, before the index has followed
    assert kept.around("sarah", depth=4) == [("acme", 1)]
    kept.follow()
    assert len(kept.relationships()) == 1
    kept.manage.delete_entity(SARAH, "acme")
    kept.manage.delete_entity(SARAH, "de")
    kept.manage.delete_entity(SARAH, "rome")
    kept.follow()
    assert (kept.around("sarah", depth=4), kept.entities()) == ([], [])
    assert api.run("MATCH (n) RETURN n.`~id`") == []


def test_erasing_a_user_leaves_nothing_and_nobody_elses_goes(kept: Kept, api: NeptuneApi) -> None:
    chain(kept)
    kept.preferences.set(SARAH, {"language": "German"})
    kept.put(city("Oslo"), edge("david", "LIVES_IN", "oslo"), scope=DAVID)
    Erase(kept.memories, kept.time)(SARAH)
    assert (kept.entities(), kept.relationships(), kept.around("sarah")) == ([], [], [])
    kept.memories.wipe(SARAH, below_epoch=1)
    kept.follow()
    assert {row["n.owner"] for row in api.run("MATCH (n:Entity) RETURN n.owner")} <= {"acme#david", None}
    assert not [row for row in api.run("MATCH (n:Entity) RETURN n.`~id` AS key") if "sarah" in row["key"]]
    assert kept.around("david", scope=DAVID) == [("oslo", 1)]


def test_no_list_and_no_step_reaches_another_users_graph(kept: Kept) -> None:
    chain(kept)
    kept.put(Entity("acme", "Company", "Acme"), edge("david", "WORKS_AT", "acme"), scope=DAVID)
    assert kept.around("david", scope=DAVID, depth=4) == [("acme", 1)]
    assert [one.id for one in kept.graphs.entities(DAVID)] == ["acme"]
    with pytest.raises(NotFound):
        kept.around("berlin", scope=DAVID)
    assert len(kept.graphs.relationships(DAVID)) == 1


HOSTILE = (
    "x'}) MATCH (n) DETACH DELETE n //",
    'a" OR 1=1 --',
    "`) RETURN n //",
    "\\u0027})--(m) RETURN m //",
    "$owner",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_caller_says_is_never_part_of_a_query(kept: Kept, text: str) -> None:
    kept.put(city("Oslo"), scope=DAVID)
    kept.put(Entity("odd", "City", text))
    assert kept.entities(name=text) == ["odd"]
    assert kept.entities(kind=text) == kept.relationships(kind=text, start=text, end=text) == []
    assert kept.around("odd", types=frozenset({text})) == []
    assert [one.id for one in kept.graphs.about(SARAH, [text]).entities.values()] == ["odd"]
    assert [one.id for one in kept.graphs.entities(DAVID)] == ["oslo"]


def test_names_are_found_with_what_holds_between_them(kept: Kept) -> None:
    chain(kept)
    found = kept.graphs.about(SARAH, ["ACME", "berlin.", "Nobody"])
    assert {"acme", "berlin"} <= found.entities.keys()
    assert relationship_id("sarah", "WORKS_AT", "acme") in found.relationships
    assert relationship_id("acme", "IS_IN", "berlin") in found.relationships


def test_cypher_runs_over_the_whole_or_over_what_is_around_an_entity(kept: Kept) -> None:
    chain(kept)
    count = "MATCH (n) RETURN count(*)"
    assert kept.query(count).rows == [[5]]
    assert kept.query(count, part=Part("sarah", 2)).rows == [[3]]
    named = kept.query("MATCH (:City)-[r]->(n) RETURN label(r), n.name ORDER BY n.name", part=Part("rome", 2))
    assert named.rows == [["IS_IN", "Germany"], ["IS_NEAR", "Rome"]]
    with pytest.raises(NotFound):
        kept.query(count, part=Part("nowhere", 1))


def test_of_a_graph_beyond_the_engines_limit_a_part_is_queried(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    chain(kept)
    monkeypatch.setattr(LadybugGraphs, "most", 3)
    with pytest.raises(Conflict):
        kept.query("MATCH (n) RETURN n")
    assert kept.query("MATCH (n) RETURN count(*)", part=Part("sarah", 2)).rows == [[3]]
    with pytest.raises(Conflict):
        kept.query("MATCH (n) RETURN n", part=Part("sarah", 4))


def test_through_the_index_a_graph_may_be_larger_than_a_process_holds(
    api: NeptuneApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.graph.manage.MOST_THINGS", 3)
    limits = [limit_of_graphs(Kept(None).memories, index) for index in (None, NeptuneIndex(GRAPH, client=api.client()))]
    assert [limit.most for limit in limits] == [20_000, None]


def through_the_index(api: NeptuneApi) -> Kept:
    return Kept(NeptuneIndex(GRAPH, client=api.client()))


def test_the_index_itself_returns_and_removes_what_is_its_owners_alone(api: NeptuneApi) -> None:
    """Not only because the tables have nothing of another owner's."""
    kept = through_the_index(api)
    chain(kept)
    kept.put(Entity("acme", "Company", "Acme"), edge("david", "WORKS_AT", "acme"), scope=DAVID)
    index = NeptuneIndex(GRAPH, client=api.client())
    own = f"relationship:{relationship_id('david', 'WORKS_AT', 'acme')}"
    assert index.entities(DAVID, limit=100) == ["entity:acme"]
    assert index.entities(DAVID, name="er", limit=100) == index.entities(DAVID, names=["berlin"], limit=100) == []
    for starts, ends in ((None, None), (["david"], None), (None, ["acme"]), (["david", "sarah"], ["acme"])):
        assert index.relationships(DAVID, starts=starts, ends=ends, limit=100) == [own]
    assert index.relationships(DAVID, starts=["sarah"], limit=100) == []
    assert index.sizes(DAVID) == (1, 1)
    records = [one.record for one in kept.graphs.entities(SARAH)]
    assert (index.topics(DAVID, records), len(index.topics(SARAH, records))) == ([], 4)
    index.write(DAVID, {"entity:acme": (), own: (), "entity:berlin": ()})
    assert (index.sizes(DAVID), index.sizes(SARAH)) == ((0, 0), (4, 4))


@pytest.mark.parametrize("order", [1, -1])
def test_the_index_follows_in_any_order_and_any_number_of_times(api: NeptuneApi, order: int) -> None:
    kept = through_the_index(api)
    kept.manage.put_entities(SARAH, [city("Berlin"), city("Rome")])
    home = edge("sarah", "LIVES_IN", "berlin")
    kept.manage.put_relationships(SARAH, [home])
    kept.time.advance(1)
    kept.manage.put_relationships(SARAH, [Relationship(home.id, "LIVES_IN", "sarah", "rome")])
    assert kept.project is not None
    for change in kept.changes()[::order] * 2:
        assert kept.project([change]) == set()
    assert (kept.entities(), kept.around("sarah")) == (["berlin", "rome"], [("rome", 1)])
    assert len(api.run("MATCH ()-[r]->() RETURN r.topic")) == 1


def test_all_that_the_index_has_of_a_user_is_brought_up_to_date(
    api: NeptuneApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what the tables removed without a change that arrived."""
    monkeypatch.setattr("palimpsest.graph.indexed.PAGE", 2)
    kept = through_the_index(api)
    chain(kept)
    kept.put(Entity("acme", "Company", "Acme"), edge("david", "WORKS_AT", "acme"), scope=DAVID)
    index = NeptuneIndex(GRAPH, client=api.client())
    assert index.sizes(SARAH) == (4, 4)
    kept.manage.delete_entity(SARAH, "berlin")
    assert kept.project is not None
    kept.project.whole(SARAH)
    assert (index.sizes(SARAH), index.sizes(DAVID)) == ((3, 1), (1, 1))


def test_what_is_removed_while_it_is_written_does_not_stay_in_the_index(
    api: NeptuneApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables are read before a write and behind it: the removal comes in between, and its own change is lost."""
    kept = through_the_index(api)
    kept.manage.put_entities(SARAH, [city("Berlin")])
    write = NeptuneIndex.write

    def meanwhile(index: NeptuneIndex, *given: Any) -> None:
        monkeypatch.setattr(NeptuneIndex, "write", write)
        kept.manage.delete_entity(SARAH, "berlin")
        write(index, *given)

    monkeypatch.setattr(NeptuneIndex, "write", meanwhile)
    kept.follow()
    assert api.run("MATCH (n) RETURN n.`~id`") == []


def test_a_rebuilding_of_the_search_index_fills_this_one_with_what_was_there_before(
    api: NeptuneApi, tmp_path: Path
) -> None:
    kept = through_the_index(api)
    kept.preferences.set(SARAH, {"language": "German"})
    kept.manage.put_entities(SARAH, [city("Berlin")])
    kept.manage.put_relationships(SARAH, [edge("sarah", "LIVES_IN", "berlin")])
    embed = embedding(kept, tmp_path)
    owners, state = InMemoryOwners(kept.sessions, kept.memories), ReindexPayload()
    rebuild = Reindex(owners, kept.memories, kept.sessions, embed.index, embed)
    while not state.is_done:
        state = rebuild(state)
    assert kept.entities() == ["berlin"]
    assert sorted(kept.around("sarah")) == [("berlin", 1), ("preference/language", 1)]


def test_a_record_counts_as_indexed_once_both_indexes_have_it(api: NeptuneApi, tmp_path: Path) -> None:
    kept = through_the_index(api)
    ((made, _),) = kept.manage.put_entities(SARAH, [city("Berlin")])
    embed, changes, states = embedding(kept, tmp_path), tuple(kept.changes()), []
    embed.index.prepare()
    api.fails = [(500, "InternalServerException")]
    for left in (changes, ()):
        assert embed(changes) == left
        states += [record.index_state for record in kept.memories.records(SARAH, [made.record])]
    assert states == ["pending", "done"]


def embedding(kept: Kept, folder: Path) -> Embed:
    index = EmbeddedIndex(folder / "index.sqlite", space=Meanings().space)
    return Embed(kept.memories, kept.sessions, index, Meanings(), kept.time, graph=kept.project)


@pytest.mark.parametrize(
    "failure", [(429, "ThrottlingException"), (409, "ConflictException"), (422, "UnprocessableException"), (500, "x")]
)
def test_an_index_that_does_not_answer_is_unavailable_and_its_changes_come_again(
    api: NeptuneApi, failure: tuple[int, str]
) -> None:
    kept = through_the_index(api)
    kept.manage.put_entities(SARAH, [city("Berlin")])
    assert kept.project is not None
    api.fails = [failure]
    changes = kept.changes()
    assert kept.project(changes) == set(changes)
    kept.follow()
    api.fails = [failure]
    with pytest.raises(Unavailable):
        kept.entities()
    assert kept.entities() == ["berlin"]


def test_every_query_has_a_limit_of_time_and_an_owner(api: NeptuneApi) -> None:
    kept = through_the_index(api)
    chain(kept)
    kept.around("sarah", depth=2)
    kept.relationships(kind="IS_IN", start="acme", end="berlin")
    kept.graphs.whole(SARAH, most=10)
    assert {asked["queryTimeoutMilliseconds"] for asked in api.asked} == {5_000}
    for asked in api.asked:
        named = asked["parameters"]
        keys = [*named.get("keys", ()), *(row.get("key", row.get("source")) for row in named.get("rows", ()))]
        assert named.get("owner") == "acme#sarah" or (keys and all(key.startswith("acme#sarah#") for key in keys))

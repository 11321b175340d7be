"""The knowledge graph through the front door: entities and relationships stored, versioned, walked
through, deleted.
"""

from collections.abc import Callable
from typing import Any

import pytest
from palimpsest.memory.ports import Pointer
from palimpsest.offline.extractor import PatternExtractor
from palimpsest.scope import UserScope

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Answer, Client

GRAPH = "/v1/users/sarah/graph"
ACME = {"id": "acme", "type": "Company", "name": "Acme", "properties": {"employees": 120}}
BERLIN = {"id": "berlin", "type": "City", "name": "Berlin"}


def entities(call: Client, *given: dict[str, Any], user: str = "sarah") -> Answer:
    return call("POST", f"/v1/users/{user}/graph/entities", {"entities": list(given)})


def relate(call: Client, start: str, kind: str, end: str, **more: Any) -> Answer:
    row = {"type": kind, "from": start, "to": end, **more}
    return call("POST", f"{GRAPH}/relationships", {"relationships": [row]})


def rows(call: Client, what: str, user: str = "sarah", **query: object) -> list[Any]:
    found: list[Any] = call("GET", f"/v1/users/{user}/graph/{what}", query=query).json[what]
    return found


def names(call: Client, of: str = "sarah", **query: object) -> list[tuple[str, int]]:
    found = call("GET", f"{GRAPH}/entities/{of}/neighbors", query=query).json["entities"]
    return [(row["name"], row["depth"]) for row in found]


@pytest.fixture
def whole(call: Client) -> Client:
    """Sarah works at Acme, which is in Berlin, which is in Germany."""
    assert (
        entities(call, ACME, BERLIN, {"id": "de", "type": "Country", "name": "Germany"}).status
        == 201
    )
    for start, kind, end in (
        ("sarah", "WORKS_AT", "acme"),
        ("acme", "IS_IN", "berlin"),
        ("berlin", "IS_IN", "de"),
    ):
        assert relate(call, start, kind, end).status == 201
    return call


def test_an_entity_comes_back_as_it_was_stored(call: Client) -> None:
    source = {
        "session_id": "s",
        "message_ids": ["m1"],
        "seqs": [1],
        "quote": "I work at Acme",
        "text": None,
    }
    (made,) = entities(call, ACME | {"source": source, "valid_from": "2025-01-01T00:00:00Z"}).json[
        "entities"
    ]
    assert made.pop("outcome") == "created"
    assert made == call("GET", f"{GRAPH}/entities/acme").json == rows(call, "entities")[0]
    assert (made["properties"], made["source"], made["valid_to"]) == (
        {"employees": 120},
        source,
        None,
    )


def test_without_an_id_the_same_name_and_type_are_the_same_entity(call: Client) -> None:
    first = entities(call, {"type": "Company", "name": "Acme"}).json["entities"][0]
    again = entities(call, {"type": "Company", "name": "ACME"}).json["entities"][0]
    other = entities(call, {"type": "Club", "name": "Acme"}).json["entities"][0]
    assert first["id"] == again["id"] != other["id"]


def test_a_change_is_a_new_version_and_the_older_one_stays_in_the_history(
    call: Client, service: Service
) -> None:
    entities(call, ACME | {"properties": {"employees": 120, "sector": "tools"}})
    service.time.advance(60)
    change = {"name": "Acme AG", "properties": {"employees": 130, "sector": None}}
    changed = call("PATCH", f"{GRAPH}/entities/acme", change).json
    assert (changed["name"], changed["properties"]) == ("Acme AG", {"employees": 130})
    chain = call("GET", f"/v1/users/sarah/memories/{changed['memory_id']}/history").json["versions"]
    assert [row["data"]["name"] for row in chain] == ["Acme AG", "Acme"]
    assert [row["name"] for row in rows(call, "entities")] == ["Acme AG"]


def test_of_a_single_relationship_the_newer_one_replaces_the_older(
    call: Client, service: Service
) -> None:
    entities(call, BERLIN, {"id": "rome", "type": "City", "name": "Rome"})
    for place in ("berlin", "rome"):
        service.time.advance(1)
        relate(call, "sarah", "LIVES_IN", place, single=True)
        relate(call, "sarah", "KNOWS", place)
    assert sorted((row["type"], row["to"]) for row in rows(call, "relationships")) == [
        ("KNOWS", "berlin"), ("KNOWS", "rome"), ("LIVES_IN", "rome")
    ]  # fmt: skip


def test_neighbors_are_found_step_by_step_in_the_direction_asked_for(whole: Client) -> None:
    assert names(whole) == [("Acme", 1)]
    assert names(whole, depth=3) == [("Acme", 1), ("Berlin", 2), ("Germany", 3)]
    assert names(whole, of="berlin", direction="out", depth=4) == [("Germany", 1)]
    assert names(whole, of="berlin", direction="in", depth=4) == [("Acme", 1), ("sarah", 2)]
    assert names(whole, of="acme", types="IS_IN", depth=2) == [("Berlin", 1), ("Germany", 2)]
    cut = whole("GET", f"{GRAPH}/entities/sarah/neighbors", query={"depth": 4, "limit": 2}).json
    assert ([row["name"] for row in cut["entities"]], cut["is_whole"]) == (
        ["Acme", "Berlin"],
        False,
    )


def test_preferences_are_neighbors_of_the_user(call: Client) -> None:
    call("PUT", "/v1/users/sarah/preferences/language", {"value": "German"})
    found = call("GET", f"{GRAPH}/entities/sarah/neighbors").json
    assert [(row["type"], row["name"], row["properties"]) for row in found["entities"]] == [
        ("Preference", "language", {"value": "German"})
    ]
    assert [row["type"] for row in found["relationships"]] == ["PREFERS"]


def test_what_has_ended_is_listed_and_no_neighbor(whole: Client, service: Service) -> None:
    (job,) = rows(whole, "relationships", type="WORKS_AT")
    ended = whole(
        "PATCH", f"{GRAPH}/relationships/{job['id']}", {"valid_to": "2026-01-01T01:00:00Z"}
    )
    assert ended.status == 200
    assert names(whole) == [("Acme", 1)]
    service.time.advance(3_600)
    assert names(whole) == []
    assert [row["valid_to"] for row in rows(whole, "relationships", type="WORKS_AT")] == [
        "2026-01-01T01:00:00.000Z"
    ]


def test_an_entity_goes_with_its_versions_and_relationships(whole: Client) -> None:
    memory_id = whole("GET", f"{GRAPH}/entities/acme").json["memory_id"]
    assert whole("DELETE", f"{GRAPH}/entities/acme").json == {"id": "acme", "deleted": True}
    assert [row["from"] for row in rows(whole, "relationships")] == ["berlin"]
    assert whole("GET", f"/v1/users/sarah/memories/{memory_id}").status == 404
    assert whole("DELETE", f"{GRAPH}/entities/acme").json["code"] == "entity_not_found"
    (left,) = rows(whole, "relationships")
    assert whole("DELETE", f"{GRAPH}/relationships/{left['id']}").status == 200
    assert (
        whole("DELETE", f"{GRAPH}/relationships/{left['id']}").json["code"]
        == "relationship_not_found"
    )


def test_pages_join_to_the_whole_list_and_filters_choose(call: Client) -> None:
    entities(
        call,
        *({"id": f"e{number}", "type": "City", "name": f"Place {number}"} for number in range(7)),
        ACME,
    )
    found, query = [], {"limit": 3, "type": "City"}
    while True:
        page = call("GET", f"{GRAPH}/entities", query=query).json
        found += [row["id"] for row in page["entities"]]
        if page["next_cursor"] is None:
            break
        query = {**query, "cursor": page["next_cursor"]}
    assert found == [f"e{number}" for number in range(7)]
    assert [row["id"] for row in rows(call, "entities", name="PLACE 6")] == ["e6"]
    assert (
        call("GET", f"{GRAPH}/entities", query={"cursor": query["cursor"]}).json["code"]
        == "invalid_cursor"
    )


def test_the_graph_is_the_users_and_the_tenants_own(whole: Client, service: Service) -> None:
    other = service.client(tenant="other")
    for stranger, user in ((other, "sarah"), (whole, "david")):
        assert rows(stranger, "entities", user) == rows(stranger, "relationships", user) == []
        place = f"/v1/users/{user}/graph/entities/acme"
        assert stranger("GET", place).status == stranger("DELETE", place).status == 404
        assert stranger("GET", f"{place}/neighbors").status == 404
        body = {"relationships": [{"type": "KNOWS", "from": user, "to": "acme"}]}
        refused = stranger("POST", f"/v1/users/{user}/graph/relationships", body)
        assert (refused.status, refused.json["code"]) == (422, "unknown_entity")
    assert len(rows(whole, "entities")) == 3


def test_erasing_the_user_erases_the_graph(whole: Client, service: Service) -> None:
    service.work_while_waiting()
    assert whole("DELETE", "/v1/users/sarah", query={"wait": 5}).status == 200
    assert rows(whole, "entities") == rows(whole, "relationships") == []
    assert names(whole) == []
    assert entities(whole, ACME).json["entities"][0]["outcome"] == "created"


def test_what_came_from_a_session_goes_with_it(call: Client, service: Service) -> None:
    service.work_while_waiting()
    call.append("s", "I work at Acme.")
    entities(call, ACME | {"source": {"session_id": "s"}}, BERLIN)
    relate(call, "sarah", "WORKS_AT", "acme", source={"session_id": "s"})
    assert call("DELETE", "/v1/sessions/s", query={"wait": 5}).status == 200
    assert [row["id"] for row in rows(call, "entities")] == ["berlin"]
    assert rows(call, "relationships") == []


def test_forgetting_reaches_the_graph_and_lists_of_memories_do_not(
    whole: Client, service: Service
) -> None:
    service.work_while_waiting()
    assert whole("GET", "/v1/users/sarah/memories").json["memories"] == []
    body = {"filter": {"subject": "Acme"}}
    would = whole("POST", "/v1/users/sarah/memories/forget", body | {"dry_run": True}).json
    assert would["count"] == 1
    assert whole("POST", "/v1/users/sarah/memories/forget", body | {"wait": 5}).status == 200
    assert [row["id"] for row in rows(whole, "entities")] == ["berlin", "de"]
    assert names(whole) == []


def test_it_expires_with_facts(whole: Client, service: Service) -> None:
    service.time.advance(366 * 24 * 3600)
    assert rows(whole, "entities") == rows(whole, "relationships") == []
    assert whole("GET", f"{GRAPH}/entities/acme").status == 404


@pytest.mark.parametrize(
    ("entity", "field", "code"),
    [
        ({"type": "company", "name": "x"}, "entities.0.type", None),
        ({"type": "Company) DELETE (n", "name": "x"}, "entities.0.type", None),
        ({"type": "Company", "name": " "}, "entities.0.name", None),
        ({"type": "Company", "name": "x", "properties": {"id": 1}}, "entities.0.properties", None),
        ({"type": "Company", "name": "x", "properties": {"a b": 1}}, "entities.0.properties", None),
        (
            {"type": "Company", "name": "x", "properties": {"a": "x" * 17_000}},
            "entities.0.properties.a",
            None,
        ),
        ({"type": "Preference", "name": "x"}, "entities.0.type", "reserved_type"),
        ({"type": "User", "name": "x"}, "entities.0.type", "reserved_type"),
        ({"type": "Company", "name": "x", "id": "sarah"}, "entities.0.type", "reserved_type"),
    ],
)
def test_an_entity_that_is_none_is_refused_and_nothing_is_written(
    call: Client, entity: dict[str, Any], field: str, code: str | None
) -> None:
    refused = entities(call, entity, BERLIN)
    assert (refused.status, refused.json["errors"][0]["field"]) == (422, field)
    assert code in (None, refused.json["code"])
    assert rows(call, "entities") == []


def test_a_relationship_needs_ends_that_are_there_and_times_in_order(whole: Client) -> None:
    missing = relate(whole, "sarah", "KNOWS", "nobody")
    assert (missing.status, missing.json["errors"][0]["field"]) == (422, "relationships.0.to")
    times = {"valid_from": "2025-02-01T00:00:00Z", "valid_to": "2025-01-01T00:00:00Z"}
    assert relate(whole, "sarah", "KNOWS", "acme", **times).status == 422
    assert relate(whole, "sarah", "knows", "acme").status == 422
    assert whole("GET", f"{GRAPH}/entities/..%20/neighbors").status == 400
    assert whole("GET", f"{GRAPH}/entities/acme/neighbors", query={"depth": 5}).status == 422
    assert len(rows(whole, "relationships")) == 3


@pytest.mark.parametrize(
    "times",
    [
        {"valid_from": "1969-12-31T23:59:59Z"},
        {"valid_from": "0001-01-01T00:00:00Z"},
        {"valid_to": "2025-01-01T00:00:00Z"},
        {"valid_to": "1950-01-01T00:00:00Z"},
        {"valid_from": "2025-02-01T00:00:00Z", "valid_to": "2025-01-31T00:00:00Z"},
    ],
)
def test_nothing_begins_before_1970_or_ends_before_it_begins(
    whole: Client, times: dict[str, str]
) -> None:
    for refused in (
        entities(whole, {"type": "City", "name": "Rome", **times}),
        relate(whole, "acme", "AT", "de", **times),
    ):
        assert refused.status == 422
        assert refused.json["errors"][0]["field"].startswith(("entities.0", "relationships.0"))
    assert (len(rows(whole, "entities")), len(rows(whole, "relationships"))) == (3, 3)


@pytest.mark.parametrize("what", ["entities", "relationships"])
def test_a_change_can_t_end_it_before_it_began_and_may_end_it_in_the_past(
    whole: Client, service: Service, what: str
) -> None:
    row = (
        {"type": "AT", "from": "acme", "to": "de"}
        if what == "relationships"
        else {"type": "City", "name": "Rome"}
    )
    since = "2020-01-01T00:00:00.000Z"
    whole("POST", f"{GRAPH}/{what}", {what: [row | {"id": "x", "valid_from": since}]})
    for changes in ({"properties": {"seen": True}}, {"valid_to": None, "properties": {"seen": 2}}):
        service.time.advance(60)
        changed = whole("PATCH", f"{GRAPH}/{what}/x", changes)
        assert (changed.status, changed.json["valid_from"]) == (200, since), (
            "what it is like changes, not since when"
        )
    early = whole("PATCH", f"{GRAPH}/{what}/x", {"valid_to": "2019-12-31T00:00:00Z"})
    assert (early.status, early.json["errors"][0]["field"]) == (422, "valid_to")
    ended = whole("PATCH", f"{GRAPH}/{what}/x", {"valid_to": "2024-05-01T00:00:00Z"}).json
    assert (ended["valid_from"], ended["valid_to"]) == (since, "2024-05-01T00:00:00.000Z")
    assert whole("GET", f"{GRAPH}/{what}/x").json == ended


def test_a_change_that_changes_nothing_makes_no_version(whole: Client, service: Service) -> None:
    before = whole("GET", f"{GRAPH}/entities/acme").json
    service.time.advance(60)
    assert (
        whole(
            "PATCH", f"{GRAPH}/entities/acme", {"name": "Acme", "properties": {"employees": 120}}
        ).json
        == before
    )


def test_past_the_limit_new_ones_are_refused_and_stored_ones_may_change(
    whole: Client, service: Service
) -> None:
    object.__setattr__(service.memories_app.graph.limit, "most", 3)
    refused = entities(whole, {"type": "City", "name": "Rome"})
    assert (refused.status, refused.json["code"]) == (409, "too_many_entities")
    assert relate(whole, "acme", "KNOWS", "de").json["code"] == "too_many_relationships"
    assert entities(whole, ACME | {"name": "Acme AG"}).status == 201
    assert relate(whole, "sarah", "WORKS_AT", "acme", properties={"role": "CEO"}).status == 201


def test_an_entity_is_no_memory_that_can_be_patched(whole: Client) -> None:
    memory_id = whole("GET", f"{GRAPH}/entities/acme").json["memory_id"]
    refused = whole("PATCH", f"/v1/users/sarah/memories/{memory_id}", {"content": "x"})
    assert (refused.status, refused.json["code"]) == (409, "is_in_graph")
    assert whole.save({"type": "entity", "content": "x"}).status == 422


ASKED = "MATCH (u:User {id: $userId})-[:PREFERS]->(p) RETURN p.name, p.value"


def query(call: Client, cypher: str, user: str = "sarah", **parameters: object) -> Answer:
    return call(
        "POST", f"/v1/users/{user}/graph/query", {"cypher": cypher, "parameters": parameters}
    )


def test_the_graph_is_queried_in_cypher(whole: Client) -> None:
    assert query(whole, ASKED).json == {
        "columns": ["p.name", "p.value"],
        "rows": [],
        "is_whole": True,
    }
    whole(
        "PUT", "/v1/users/sarah/preferences", {"preferences": {"language": "German", "short": True}}
    )
    assert query(whole, ASKED + " ORDER BY p.name").json["rows"] == [
        ["language", "German"],
        ["short", "true"],
    ]
    found = query(
        whole,
        "MATCH (:User)-[:WORKS_AT]->(c)-[:IS_IN*]->(p {name: $name}) RETURN c.employees",
        name="Germany",
    )
    assert found.json["rows"] == [[120]]


def test_a_part_of_the_graph_is_queried_as_if_there_were_no_other(whole: Client) -> None:
    def found(**around: object) -> Answer:
        body = {"cypher": "MATCH (n) RETURN n.name ORDER BY n.name", "around": around}
        return whole("POST", f"{GRAPH}/query", body)

    assert found(depth=2).json["rows"] == [["Acme"], ["Berlin"], ["sarah"]]
    assert found(entity_id="de").json["rows"] == [["Berlin"], ["Germany"]]
    assert found(entity_id="nowhere").json["code"] == "entity_not_found"
    assert found(depth=5).status == 422


def test_a_query_reads_and_says_why_it_is_refused(whole: Client) -> None:
    refusals = {
        "MATCH (n) DETACH DELETE n": "query_writes",
        "LOAD FROM '/etc/passwd' RETURN *": "invalid_query",
        "MATCH (n) RETURN": "invalid_query",
        "MATCH (n {id: $missing}) RETURN n": "missing_parameter",
    }
    for cypher, code in refusals.items():
        refused = query(whole, cypher)
        assert (refused.status, refused.json["code"]) == (422, code)
    assert len(rows(whole, "entities")) == 3


def test_a_query_finds_the_users_own_graph_whoever_it_names(
    whole: Client, service: Service
) -> None:
    whole("PUT", "/v1/users/sarah/preferences/language", {"value": "German"})
    assert query(whole, ASKED, user="david").json["rows"] == []
    assert query(whole, ASKED, user="david", userId="sarah").json["rows"] == []
    assert query(whole, "MATCH (n) RETURN n.id", user="david").json["rows"] == [["david"]]
    other = service.client(tenant="other")
    assert query(other, "MATCH (n) RETURN count(*)").json["rows"] == [[1]]


def test_only_a_new_entity_lists_those_that_are_there(
    whole: Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[str] = []
    topics = service.memories.topics

    def counting(scope: UserScope, *, prefix: str) -> tuple[Pointer, ...]:
        listed.append(prefix)
        return topics(scope, prefix=prefix)

    monkeypatch.setattr(service.memories, "topics", counting)
    assert entities(whole, {"type": "City", "name": "Rome"}).status == 201
    assert sorted(listed) == [
        "entity:",
        "entity:",
        "preference:",
        "relationship:",
    ]  # what is there, and how much
    assert (
        entities(whole, {"type": "City", "name": "Rome", "properties": {"hills": 7}}).status == 201
    )
    assert entities(whole, ACME | {"name": "Acme AG"}).status == 201
    assert len(listed) == 4


def test_a_graph_over_the_limit_is_not_queried(
    whole: Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(service.memories_app.query_graph.engine), "most", 2)
    refused = query(whole, ASKED)
    assert (refused.status, refused.json["code"]) == (409, "too_many_entities")


def test_what_a_message_said_of_the_graph_is_taken_back_with_it(
    call: Client, service: Service
) -> None:
    service.work_while_waiting()
    service.extractor = PatternExtractor()
    service.wire_workers()
    call.append("s", "I work at Acme.")
    assert call("POST", "/v1/sessions/s/extract", {"wait": 5}).status == 200
    assert names(call) == [("Acme", 1)]
    assert (
        call("PATCH", "/v1/sessions/s/messages/1", {"content": "I work.", "wait": 5}).status == 200
    )
    assert rows(call, "entities") == rows(call, "relationships") == []


@pytest.fixture
def at_home(call: Client, service: Service) -> Client:
    """Sarah said that she lives in Hamburg."""
    service.work_while_waiting()
    service.extractor = PatternExtractor()
    service.wire_workers()
    call.append("s", "I live in Hamburg.")
    assert call("POST", "/v1/sessions/s/extract", {"wait": 5}).status == 200
    assert names(call) == [("Hamburg", 1)]
    service.time.advance(60)
    return call


def memory(call: Client) -> str:
    (found,) = call("GET", "/v1/users/sarah/memories").json["memories"]
    return f"/v1/users/sarah/memories/{found['id']}"


FORGET = "/v1/users/sarah/memories/forget"
CORRECTIONS: dict[str, Callable[[Client], Answer]] = {
    "saved": lambda call: call.save(
        {"type": "fact", "content": "Lives in Bremen", "topic_key": "residence"}
    ),
    "changed": lambda call: call("PATCH", memory(call), {"content": "Lives in Bremen"}),
    "changed as mem0 does": lambda call: call(
        "PUT",
        f"/compat/mem0/memories/{memory(call).rpartition('/')[2]}@sarah",
        {"text": "Lives in Bremen"},
    ),
}


@pytest.mark.parametrize("how", CORRECTIONS)
def test_a_corrected_fact_ends_what_was_drawn_from_it(
    at_home: Client, service: Service, how: str
) -> None:
    assert CORRECTIONS[how](at_home).status in (200, 201)
    assert names(at_home) == []
    (edge,) = rows(at_home, "relationships")
    assert (edge["type"], edge["valid_from"][:19]) == ("LIVES_IN", "2026-01-01T00:00:00")
    assert edge["valid_to"][:19] >= "2026-01-01T00:01:00"
    assert [row["name"] for row in rows(at_home, "entities")] == ["Hamburg"]


DELETIONS: dict[str, Callable[[Client], Answer]] = {
    "deleted": lambda call: call("DELETE", memory(call)),
    "forgotten": lambda call: call("POST", FORGET, {"filter": {"types": ["fact"]}, "wait": 5}),
}


@pytest.mark.parametrize("how", DELETIONS)
def test_a_deleted_fact_takes_along_what_was_drawn_from_it_alone(at_home: Client, how: str) -> None:
    assert DELETIONS[how](at_home).status == 200
    assert rows(at_home, "relationships") == rows(at_home, "entities") == []


def test_what_is_forgotten_with_its_fact_is_not_ended_but_gone(at_home: Client) -> None:
    assert at_home("POST", FORGET, {"filter": {"session_id": "s"}, "wait": 5}).status == 200
    assert rows(at_home, "relationships") == rows(at_home, "entities") == []


def test_what_has_ended_goes_with_its_session_too(at_home: Client) -> None:
    CORRECTIONS["saved"](at_home)
    assert at_home("DELETE", "/v1/sessions/s", query={"wait": 5}).status == 200
    assert rows(at_home, "relationships") == rows(at_home, "entities") == []


def test_entities_are_one_by_type_and_name_whatever_their_ids(whole: Client) -> None:
    (made,) = entities(
        whole, {"type": "Company", "name": "ACME", "properties": {"listed": True}}
    ).json["entities"]
    assert (made["id"], made["properties"]) == ("acme", {"listed": True}), (
        "without an id it is the one that is there"
    )
    (other,) = entities(
        whole, {"id": "a1", "type": "Company", "name": "acme", "properties": {"of": 1}}
    ).json["entities"]
    assert (other["id"], other["outcome"]) == ("a1", "created")
    found = whole("GET", f"{GRAPH}/entities/acme").json
    assert (found["id"], found["properties"]) == ("a1", {"listed": True, "of": 1})
    assert [row["id"] for row in rows(whole, "entities", type="Company")] == ["a1"]
    assert (
        names(whole, of="acme", direction="out")
        == names(whole, of="a1", direction="out")
        == [("Berlin", 1)]
    )
    (job,) = rows(whole, "relationships", to="acme")
    assert (job["to"], rows(whole, "relationships", to="a1")) == ("a1", [job])
    again = relate(whole, "sarah", "WORKS_AT", "a1").json["relationships"][0]
    assert again["id"] == job["id"], "the same relationship, by whatever id of its end"
    assert query(whole, "MATCH (c:Company) RETURN c.id, c.of").json["rows"] == [["a1", 1]]


def test_what_is_one_changes_and_goes_as_one(whole: Client, service: Service) -> None:
    entities(whole, {"id": "a1", "type": "Company", "name": "Acme"})
    service.time.advance(60)
    change = {"name": "Globex", "properties": {"employees": None, "of": 2}}
    changed = whole("PATCH", f"{GRAPH}/entities/acme", change).json
    assert (changed["id"], changed["name"], changed["properties"]) == ("a1", "Globex", {"of": 2})
    assert [row["name"] for row in rows(whole, "entities", type="Company")] == ["Globex"]
    assert whole("DELETE", f"{GRAPH}/entities/a1").status == 200
    assert whole("GET", f"{GRAPH}/entities/acme").status == 404
    assert [row["from"] for row in rows(whole, "relationships")] == ["berlin"]


def test_one_that_gets_another_name_is_another_again(whole: Client, service: Service) -> None:
    entities(whole, {"id": "a1", "type": "Company", "name": "Acme"})
    service.time.advance(1)
    entities(whole, {"id": "a1", "type": "Company", "name": "Acme Two"})
    assert [row["id"] for row in rows(whole, "entities", type="Company")] == ["a1", "acme"]


def test_a_made_id_means_what_has_that_type_and_name_and_tells_a_writer_no_other(
    whole: Client, service: Service
) -> None:
    blind = service.client(scopes="write")
    (made,) = entities(blind, {"type": "Company", "name": "Acme"}).json["entities"]
    assert made["id"].startswith("ent_"), "the caller's own id is not for a key that may not read"
    assert relate(blind, made["id"], "IS_IN", "de").status == 201
    assert whole("GET", f"{GRAPH}/entities/{made['id']}").json["id"] == "acme"
    assert [row["from"] for row in rows(whole, "relationships", to="de")] == ["acme", "berlin"]

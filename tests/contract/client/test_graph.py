"""The knowledge graph as the client has it."""

import pytest
from palimpsest_client import Palimpsest
from palimpsest_client.errors import EntityNotFound, QueryWrites, UnknownEntity


def test_a_graph_is_stored_walked_through_queried_and_deleted(memory: Palimpsest) -> None:
    sarah = memory.user("sarah")
    acme, berlin = sarah.put_entities(
        {"type": "Company", "name": "Acme"},
        {"id": "be", "type": "City", "name": "Berlin"},
        key="once",
    )
    works, lies = sarah.put_relationships(
        {"type": "WORKS_AT", "from": "sarah", "to": acme["id"]},
        {"type": "IS_IN", "from": acme["id"], "to": "be"},
    )
    around = sarah.neighbors(depth=2, types=["WORKS_AT", "IS_IN"])
    assert [(row["name"], row["depth"]) for row in around["entities"]] == [
        ("Acme", 1),
        ("Berlin", 2),
    ]
    assert sarah.change_entity(acme["id"], properties={"employees": 120})["properties"] == {
        "employees": 120
    }
    assert sarah.change_relationship(works["id"], properties={"role": "CEO"})["to"] == acme["id"]
    asked = (
        "MATCH (:User)-[r:WORKS_AT]->(c)-[:IS_IN]->(:City {id: $city}) RETURN r.role, c.employees"
    )
    assert sarah.query_graph(asked, {"city": "be"})["rows"] == [["CEO", 120]]
    assert [row["id"] for row in sarah.entities(type="City")] == [berlin["id"]]
    assert [row["id"] for row in sarah.relationships(to="be")] == [lies["id"]]
    assert sarah.delete_relationship(lies["id"])["deleted"]
    assert sarah.delete_entity(acme["id"])["deleted"]
    assert list(sarah.relationships()) == []


def test_what_is_refused_is_an_error_of_its_own(memory: Palimpsest) -> None:
    sarah = memory.user("sarah")
    with pytest.raises(EntityNotFound):
        sarah.delete_entity("nobody")
    with pytest.raises(UnknownEntity):
        sarah.put_relationships({"type": "KNOWS", "from": "sarah", "to": "nobody"})
    with pytest.raises(QueryWrites):
        sarah.query_graph("MATCH (n) DETACH DELETE n")

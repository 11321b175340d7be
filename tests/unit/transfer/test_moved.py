"""What a line of a record becomes when its file is imported for another user."""

import json
from typing import Any

from palimpsest.graph.things import relationship_id
from palimpsest.transfer.moved import Moved

OLD, NEW = (relationship_id(user, "WORKS_AT", None) for user in ("sarah", "sara"))


def row(kind: str, **more: Any) -> dict[str, Any]:
    return {"kind": "record", "type": kind, "content": "I work at Acme.", **more}


WORKS = row(
    "relationship",
    content="sarah WORKS_AT acme [{}, null]",
    topic_key=f"relationship:{OLD}",
    data={"type": "WORKS_AT", "start": "sarah", "end": "acme"},
)
MOVED = Moved.of([json.dumps(WORKS).encode(), b""], was="sarah", now="sara")


def test_a_relationship_of_the_user_begins_at_the_other_user() -> None:
    assert MOVED.row(WORKS) == {
        **WORKS,
        "content": "sara WORKS_AT acme [{}, null]",
        "topic_key": f"relationship:{NEW}",
        "data": {"type": "WORKS_AT", "start": "sara", "end": "acme"},
    }


def test_a_memory_still_names_the_relationships_that_were_drawn_from_it() -> None:
    fact = row("fact", draws=[f"relationship:{OLD}", "relationship:own"])
    moved = {**fact, "draws": [f"relationship:{NEW}", "relationship:own"]}
    assert MOVED.row(fact) == moved


def test_the_users_own_node_is_that_of_the_other_user() -> None:
    node = row("entity", topic_key="entity:sarah", data={"type": "User", "name": "Sarah Lee"})
    assert MOVED.row(node) == {**node, "topic_key": "entity:sara"}


def test_everything_else_stays() -> None:
    company = row("entity", topic_key="entity:acme", data={"type": "Company", "name": "Acme"})
    owns = row(
        "relationship",
        content="acme OWNS globex [{}, null]",
        topic_key="relationship:own",
        data={"type": "OWNS", "start": "acme", "end": "globex"},
    )
    for other in (company, owns, row("fact"), row("preference", data="sarah")):
        assert MOVED.row(other) == other

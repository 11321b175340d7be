"""A key with the scope `write` alone: it changes what is there, and learns nothing of it."""

from pathlib import Path
from typing import Any

import pytest
from palimpsest.api.call import KEY
from palimpsest_description.openapi import OPERATIONS, description

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

SECRET = "zebra"
ANOTHER = "poppy"
MEMORIES = "/v1/users/sarah/memories"
PREFERENCES = "/v1/users/sarah/preferences"
GRAPH = "/v1/users/sarah/graph"
MEM0 = "/compat/mem0/memories"
TEA = {"type": "fact", "content": "likes tea", "topic_key": "drink"}
RATED = "POST /v1/users/sarah/recalls/rec_1"
WRITES: dict[str, tuple[str, dict[str, Any] | None, int]] = {
    "create_session": ("POST /v1/sessions", {"session_id": "empty", "user_id": "sarah"}, 200),
    "replace_session": ("PUT /v1/sessions/s", {"memory": {"max_tokens": 9_000}}, 200),
    "change_session": ("PATCH /v1/sessions/s", {"metadata": {"seen": True}}, 200),
    "delete_session": ("DELETE /v1/sessions/s?wait=5", None, 200),
    "end_session": ("POST /v1/sessions/s/end", {}, 200),
    "append_messages": (
        "POST /v1/sessions/s/messages",
        {"messages": [{"role": "user", "content": "hi"}]},
        201,
    ),
    "remove_messages": ("DELETE /v1/sessions/s/messages?from=2&wait=5", None, 200),
    "redact_message": (
        "PATCH /v1/sessions/s/messages/1",
        {"content": "[redacted]", "wait": 5},
        200,
    ),
    "extract_session": ("POST /v1/sessions/s/extract", {"wait": 5}, 200),
    "forget_sessions": ("POST /v1/sessions/forget", {"user_id": "sarah", "wait": 5}, 200),
    "ingest_transcript": (
        "POST /v1/users/sarah/ingest",
        {"messages": [{"role": "user", "content": "fact: likes tea"}], "wait": 5},
        200,
    ),
    "save_memories": (f"POST {MEMORIES}", {"memories": [TEA]}, 201),
    "change_memory": (f"PATCH {MEMORIES}/ID", {"importance": 0.9}, 200),
    "revert_memory": (f"POST {MEMORIES}/OLD/revert", {}, 200),
    "delete_memory": (f"DELETE {MEMORIES}/ID", None, 200),
    "forget_memories": (f"POST {MEMORIES}/forget", {"filter": {"types": ["fact"]}, "wait": 5}, 200),
    "name_user": ("PUT /v1/users/sarah", {"name": "Sarah"}, 200),
    "put_preferences": (f"PUT {PREFERENCES}", {"preferences": {"theme": "dark"}}, 200),
    "put_preference": (f"PUT {PREFERENCES}/theme", {"value": "dark"}, 201),
    "delete_preference": (f"DELETE {PREFERENCES}/theme", None, 200),
    "delete_preferences": (f"DELETE {PREFERENCES}?wait=5", None, 200),
    "put_vectors": (
        "POST /v1/users/sarah/vectors",
        {"vectors": [{"id": "v", "values": [1.0]}]},
        200,
    ),
    "delete_vectors": ("DELETE /v1/users/sarah/vectors", None, 200),
    "put_entities": (
        f"POST {GRAPH}/entities",
        {"entities": [{"id": "e", "type": "City", "name": "Rome"}]},
        201,
    ),
    "change_entity": (f"PATCH {GRAPH}/entities/e", {"properties": {"of": "Italy"}}, 200),
    "delete_entity": (f"DELETE {GRAPH}/entities/e", None, 200),
    "put_relationships": (
        f"POST {GRAPH}/relationships",
        {"relationships": [{"id": "r", "type": "KNOWS", "from": "sarah", "to": "e"}]},
        201,
    ),
    "change_relationship": (f"PATCH {GRAPH}/relationships/r", {"properties": {"since": 2020}}, 200),
    "delete_relationship": (f"DELETE {GRAPH}/relationships/r", None, 200),
    "import_user": ("POST /v1/users/bob/import", {"format": "mem0", "data": [], "wait": 5}, 200),
    "put_user_import_part": ("PUT /v1/users/bob/import/u/0", {"data": SECRET}, 200),
    "mem0_add": (
        f"POST {MEM0}",
        {"messages": [{"role": "user", "content": "hi"}], "user_id": "sarah", "infer": False},
        200,
    ),
    "mem0_update": (f"PUT {MEM0}/ID@sarah", {"metadata": {"seen": True}}, 200),
    "mem0_delete": (f"DELETE {MEM0}/ID@sarah", None, 200),
    "mem0_delete_all": (f"DELETE {MEM0}?user_id=sarah", None, 200),
    "give_feedback": (f"{RATED}/feedback", {"useful": ["mem_0"], "missing": "More"}, 200),
    "close_review": ("DELETE /v1/users/sarah/reviews/REVIEW", None, 200),
    "retry_job": ("POST /v1/jobs/JOB/retry", {}, 202),
}
ONCE = (
    "delete_session",
    "delete_memory",
    "mem0_delete",
    "delete_preference",
    "delete_entity",
    "delete_relationship",
    "close_review",
)
"""What is gone after the first call."""


@pytest.fixture
def names(service: Service) -> dict[str, str]:
    return stored(service, SECRET)


def stored(service: Service, secret: str) -> dict[str, str]:
    """Ids by the word that stands for them; what is stored says nothing but the secret."""
    call = service.client()
    number = len({*secret})  # another secret has other numbers and days
    weight, day = number / 10, f"2025-0{number}-01T00:00:00Z"
    hidden = {
        "system": secret,
        "metadata": {secret: secret},
        "user_id": "sarah",
        "agent_id": secret,
    }
    call("POST", "/v1/sessions", {"session_id": "s", **hidden})
    call(
        "POST",
        "/v1/sessions",
        {"session_id": "empty", "user_id": "sarah", "metadata": {secret: secret}},
    )
    call.append("s", f"fact: {secret}", f"fact: more {secret}")
    more = {
        "subject": secret,
        "keywords": [secret],
        "queries": [secret],
        "metadata": {secret: secret},
    }
    source = {"session_id": secret, "message_ids": [secret], "quote": secret}
    (old,) = call.save({**TEA, **more, "content": secret, "source": source}).json["memories"]
    service.time.advance(1)
    weighed = {**TEA, **more, "source": source, "importance": weight, "confidence": weight}
    (new,) = call.save(weighed).json["memories"]
    call("PUT", PREFERENCES, {"preferences": {secret: secret, "theme": secret}})
    call(
        "POST",
        "/v1/users/sarah/vectors",
        {"vectors": [{"id": "v", "values": [1.0], "metadata": {secret: secret}}]},
    )
    about = {
        "properties": {secret: secret},
        "source": source,
        "valid_from": day,
        "valid_to": day.replace("2025", "2035"),
    }
    entity = {"id": "e", "type": secret.title(), "name": secret, **about}
    call("POST", f"{GRAPH}/entities", {"entities": [entity]})
    relationship = {"id": "r", "type": secret.upper(), "from": "sarah", "to": "e", **about}
    call("POST", f"{GRAPH}/relationships", {"relationships": [relationship]})
    call("POST", f"{MEMORIES}/forget", {"filter": {"subject": secret}})
    service.fail(job := service.outbox[-1])
    service.delivered = len(service.outbox)
    service.work_while_waiting()
    (review,) = call("POST", f"{RATED.split()[1]}/feedback", {"missing": secret}).json["reviews"]
    return {"ID": new["id"], "OLD": old["id"], "JOB": job.id, "REVIEW": review}


def test_every_operation_that_needs_write_alone_is_tried() -> None:
    assert {
        operation.name for operation in OPERATIONS if operation.scopes == ("write",)
    } == WRITES.keys()


@pytest.mark.parametrize("name", WRITES)
def test_what_is_stored_does_not_come_back(
    name: str, names: dict[str, str], service: Service
) -> None:
    place, body, status = WRITES[name]
    for word, of in names.items():
        place = place.replace(word, of)
    method, _, path = place.partition(" ")
    path, _, query = path.partition("?")
    given = dict(each.split("=") for each in query.split("&")) if query else None
    whole = service.client(scopes="read write") if name not in ONCE else None
    blind = service.client(scopes="write")
    answers = [
        client(method, path, body, query=given, headers={KEY: "k"})
        for client in (blind, whole, blind)
        if client
    ]
    assert answers[0].status == status, answers[0].text
    assert all(SECRET not in answer.text.casefold() for answer in answers[::2])
    told = [each for each in names.values() if each in answers[0].text and each not in path]
    assert told == [] or name == "save_memories"  # the id of what it saved


@pytest.mark.parametrize("name", WRITES)
def test_whatever_is_stored_the_answer_is_the_same(name: str, tmp_path: Path) -> None:
    """But for ids, which the service makes of what is stored, and for counts."""
    answers = []
    for secret in (SECRET, ANOTHER):
        (tmp_path / secret).mkdir()
        service = Service(tmp_path / secret)
        place, body, status = WRITES[name]
        for word, of in stored(service, secret).items():
            place = place.replace(word, of)
        method, _, path = place.partition(" ")
        path, _, query = path.partition("?")
        given = dict(each.split("=") for each in query.split("&")) if query else None
        answer = service.client(scopes="write")(method, path, body, query=given)
        assert answer.status == status, answer.text
        answers.append(_without_ids(answer.json))
    assert answers[0] == answers[1]


def _without_ids(answer: Any) -> Any:
    if isinstance(answer, list):
        return [_without_ids(each) for each in answer]
    if not isinstance(answer, dict):
        return answer
    return {
        name: _without_ids(value)
        for name, value in answer.items()
        if name not in ("id", "job_id", "tokens")
    }


def test_trying_to_forget_needs_read(call: Client, service: Service, names: dict[str, str]) -> None:
    writer = service.client(scopes="write")
    asked: dict[str, Any] = {
        f"{MEMORIES}/forget": {"filter": {"types": ["fact"]}},
        "/v1/sessions/forget": {"user_id": "sarah"},
    }
    for path, body in asked.items():
        refused = writer("POST", path, body | {"dry_run": True})
        assert (refused.status, refused.json["code"]) == (403, "missing_scope")
        assert call("POST", path, body | {"dry_run": True}).json["count"] > 0


def test_the_answer_keeps_its_shape(call: Client, service: Service, names: dict[str, str]) -> None:
    """So a client that was generated can read it: every field is there, of its type."""
    shapes = description()["components"]["schemas"]
    writer = service.client(scopes="write")
    session = writer("PATCH", "/v1/sessions/s", {}).json
    assert session.keys() >= set(shapes["Session"]["required"])
    assert (session["system"], session["memory"], session["metadata"], session["user_id"]) == (
        "",
        {},
        {},
        "",
    )
    (memory,) = writer("POST", MEMORIES, {"memories": [TEA]}).json["memories"]
    assert memory.keys() >= set(shapes["SavedMemory"]["required"])
    assert (memory["id"], memory["outcome"], memory["content"]) == (names["ID"], "unchanged", "")

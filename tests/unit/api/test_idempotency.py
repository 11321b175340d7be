"""`Idempotency-Key`: every operation that makes something makes it once, and names it again when it
is asked again.
"""

from pathlib import Path
from typing import Any

import pytest
from palimpsest.api.call import KEY
from palimpsest.idempotency import KEY_SECONDS
from palimpsest_description.openapi import OPERATIONS
from palimpsest_local.stores.shelves import NO_END

from tests.service import DAY
from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Answer, Client

SAVE = "/v1/users/sarah/memories"
EVENT = {"memories": [{"type": "event", "content": "ran a race"}]}
MESSAGES = [{"role": "user", "content": "fact: likes tea"}]
OLD = "{old}"
"""Stands for the id of a superseded memory, `JOB` for that of a job that failed."""
JOB = "{job}"
LINES = '{"format":"palimpsest","kind":"export","version":1}\n{"kind":"user","user_id":"u"}\n{"kind":"end","lines":3}\n'
MAKING: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "create_session": ("POST /v1/sessions", {"user_id": "sarah"}, {"user_id": "bob"}),
    "append_messages": (
        "POST /v1/sessions/s/messages",
        {"messages": MESSAGES},
        {"messages": [*MESSAGES, *MESSAGES]},
    ),
    "prune_window": ("POST /v1/sessions/s/prune", {"strategy": "fifo"}, {"strategy": "summarize"}),
    "extract_session": ("POST /v1/sessions/s/extract", {}, {"if_needed": True}),
    "end_session": ("POST /v1/sessions/s/end", {}, {"wait": 1}),
    "forget_sessions": ("POST /v1/sessions/forget", {"user_id": "bob"}, {"user_id": "sarah"}),
    "retry_job": (f"POST /v1/jobs/{JOB}/retry", {}, {"wait": 1}),
    "ingest_transcript": (
        "POST /v1/users/sarah/ingest",
        {"messages": MESSAGES},
        {"messages": MESSAGES * 2},
    ),
    "save_memories": (
        f"POST {SAVE}",
        EVENT,
        {"memories": [{"type": "fact", "content": "likes tea"}]},
    ),
    "give_feedback": (
        "POST /v1/users/sarah/recalls/rec_1/feedback",
        {"missing": "My street."},
        {"missing": "My town."},
    ),
    "revert_memory": (f"POST {SAVE}/{OLD}/revert", {}, {"wait": 1}),
    "forget_memories": (
        f"POST {SAVE}/forget",
        {"filter": {"types": ["fact"]}},
        {"filter": {"types": ["event"]}},
    ),
    "export_user": ("POST /v1/users/sarah/export", {}, {"wait": 1}),
    "export_tenant": ("POST /v1/export", {}, {"wait": 1}),
    "import_user": ("POST /v1/users/bob/import", {"data": LINES}, {"format": "mem0", "data": []}),
    "import_tenant": ("POST /v1/import", {"data": LINES}, {"data": LINES, "wait": 1}),
    "put_vectors": (
        "POST /v1/users/sarah/vectors",
        {"vectors": [{"id": "v", "values": [1.0]}]},
        {"vectors": [{"id": "w", "values": [2.0]}]},
    ),
    "put_entities": (
        "POST /v1/users/sarah/graph/entities",
        {"entities": [{"type": "City", "name": "Rome"}]},
        {"entities": [{"type": "City", "name": "Oslo"}]},
    ),
    "put_relationships": (
        "POST /v1/users/sarah/graph/relationships",
        {"relationships": [{"type": "KNOWS", "from": "sarah", "to": "sarah"}]},
        {"relationships": [{"type": "LIKES", "from": "sarah", "to": "sarah"}]},
    ),
    "put_static_fact": (
        "PUT /v1/static-facts/chair",
        {"content": "A chair"},
        {"content": "No chair"},
    ),
}


class Died(Exception):
    """The function stopped."""


class Made:
    """A service in which there is something to prune, to revert and to retry; and what there is in
    it.
    """

    def __init__(self, folder: Path) -> None:
        self.service = service = Service(folder)
        self.call = call = service.client()
        call.append("s", "hello", "and more")
        call.append("his", "hello", user_id="bob")
        for employer in ("works at A", "works at B"):
            service.time.advance(1)
            saved = call.save({"type": "fact", "content": employer, "topic_key": "employer"})
            self.old = getattr(self, "old", saved.json["memories"][0]["id"])
        call("POST", f"{SAVE}/forget", {"filter": {"types": ["task"]}})
        self.job = service.outbox[-1]
        service.fail(self.job)

    def __call__(self, place: str, body: object, key: str | None = "once") -> Answer:
        method, _, path = place.replace(OLD, self.old).replace(JOB, self.job.id).partition(" ")
        return self.call(method, path, body, headers={} if key is None else {KEY: key})

    def things(self) -> dict[str, Any]:
        """Everything that calls make, without times."""
        state = self.service.sessions.state
        sessions = {
            name: (
                len(found.messages.between(0, NO_END)),
                [each.last for each in found.compactions.between(0, NO_END)],
                found.head.status,
            )
            for (_, name), found in state.partitions.items()
            if found.head
        }
        return {
            "sessions": sorted(sessions.values()),
            "records": sorted(record.content for record in self.service.records()),
            "jobs": sorted(job.kind for job in state.outbox),
            "facts": len(self.service.facts.all(self.service.session().owner)),
        }


def test_every_operation_that_makes_something_is_tried() -> None:
    assert MAKING.keys() == {operation.name for operation in OPERATIONS if operation.makes}
    posts = {operation.name for operation in OPERATIONS if operation.method == "POST"}
    reading = {
        "get_context_for",
        "recall",
        "search_memories",
        "search_vectors",
        "query_graph",
        "mem0_search",
        "mem0_list_by",
    }
    assert posts - MAKING.keys() == reading | {
        "call_tool",
        "call_mcp",
        "mem0_add",
    }  # protocols without a key


@pytest.mark.parametrize("name", MAKING)
def test_the_same_call_again_makes_nothing_and_another_body_is_409(
    name: str, tmp_path: Path
) -> None:
    made = Made(tmp_path)
    place, body, other = MAKING[name]
    first = made(place, body)
    assert first.status < 300
    there = made.things()
    made.service.time.advance(60)
    again = made(place, body)
    assert (again.status, again.json.keys()) == (first.status, first.json.keys())
    ids = [field for field in ("id", "session_id", "job_id", "messages") if field in first.json]
    assert [again.json[field] for field in ids] == [first.json[field] for field in ids]
    refused = made(place, other)
    takes_body = name not in ("retry_job", "revert_memory", "export_user", "export_tenant")
    assert (refused.status, refused.json["code"]) == (
        (409, "idempotency_key_reused") if takes_body else (422, "invalid")
    )
    assert made.things() == there


@pytest.mark.parametrize("name", MAKING)
def test_a_call_cut_off_after_any_of_its_writes_makes_everything_once_when_it_is_sent_again(
    name: str, tmp_path: Path
) -> None:
    """The function stops before or after each write in turn; then the call is repeated."""
    place, body, _ = MAKING[name]
    whole = Made(tmp_path)
    assert whole(place, body).status < 300
    stop_at, is_cut = 0, True
    while is_cut:
        made, steps = Made(tmp_path), 0

        def die(_step: str, stop: int = stop_at) -> None:
            nonlocal steps
            steps += 1
            if steps == stop + 1:
                raise Died

        made.service.sessions.state.faults = die
        is_cut = made(place, body).status == 500
        made.service.sessions.state.faults = lambda _: None
        made.service.time.advance(3600)
        assert made(place, body).status < 300, f"after step {stop_at}"
        assert made.things() == whole.things(), f"after step {stop_at}"
        stop_at += 1
    assert stop_at > 2


def test_an_event_sent_three_times_with_its_key_is_one_record(
    service: Service, call: Client
) -> None:
    answers = []
    for _ in range(3):
        answers.append(call("POST", SAVE, EVENT, headers={KEY: "race-1"}))
        service.time.advance(3600)
    assert [answer.status for answer in answers] == [201, 201, 201]
    first, *others = (
        [{**memory, "decay": None} for memory in answer.json["memories"]] for answer in answers
    )
    assert others == [first, first]  # but for how far it has faded, which is told as of now
    assert service.contents() == ["ran a race"]
    call("POST", SAVE, EVENT, headers={KEY: "race-2"})
    assert service.contents() == ["ran a race", "ran a race"]


def test_statements_that_take_several_transactions_go_on_where_a_call_was_cut_off(
    tmp_path: Path,
) -> None:
    made = Made(tmp_path)

    def topics(place: str) -> dict[str, Any]:
        return {
            "memories": [
                {"type": "fact", "content": f"{place} {n}", "topic_key": f"t{n}"} for n in range(30)
            ]
        }

    made(f"POST {SAVE}", topics("was in"), None)
    made.service.time.advance(1)
    written = 0

    def die(step: str) -> None:
        nonlocal written
        written += step == "after commit memories"
        if written == 1:
            raise Died

    made.service.sessions.state.faults = die
    assert made(f"POST {SAVE}", topics("is in")).status == 500
    made.service.sessions.state.faults = lambda _: None
    assert 0 < sum(record.content.startswith("is in") for record in made.service.records()) < 30
    made.service.time.advance(1)
    answer = made(f"POST {SAVE}", topics("is in")).json
    assert [row["outcome"] for row in answer["memories"]] == ["created"] * 30
    assert all(row["supersedes"] for row in answer["memories"])
    assert sum(record.content.startswith("is in") for record in made.service.records()) == 30


def test_a_call_that_was_refused_leaves_its_key_free(call: Client) -> None:
    assert call("POST", "/v1/sessions/s/extract", {}, headers={KEY: "k"}).status == 404
    call.append("s", "hello")
    assert (
        call("POST", "/v1/sessions/s/extract", {"if_needed": True}, headers={KEY: "k"}).status
        == 200
    )


def test_a_key_belongs_to_its_route_its_user_and_its_tenant(service: Service, call: Client) -> None:
    for path in (SAVE, "/v1/users/bob/memories"):
        assert (
            call("POST", path, EVENT, headers={KEY: "k"}).json["memories"][0]["outcome"]
            == "created"
        )
    other = service.client(tenant="other")
    assert (
        other("POST", SAVE, EVENT, headers={KEY: "k"}).json["memories"][0]["outcome"] == "created"
    )


def test_a_key_is_forgotten_after_more_than_a_day(service: Service, call: Client) -> None:
    for wait in (DAY, KEY_SECONDS - DAY + 1):
        call("POST", SAVE, EVENT, headers={KEY: "k"})
        assert len(service.records()) == 1
        service.time.advance(wait)
    call("POST", SAVE, EVENT, headers={KEY: "k"})
    assert len(service.records()) == 2


def test_what_was_removed_since_does_not_come_back(service: Service, call: Client) -> None:
    (row,) = call("POST", SAVE, EVENT, headers={KEY: "k"}).json["memories"]
    call("DELETE", f"{SAVE}/{row['id']}")
    assert call("POST", SAVE, EVENT, headers={KEY: "k"}).json == {"memories": []}
    call("DELETE", "/v1/users/sarah")
    assert call("POST", SAVE, EVENT, headers={KEY: "k"}).json == {"memories": []}
    assert service.records() == []


def test_no_text_is_stored_under_a_key(service: Service, call: Client) -> None:
    call("POST", SAVE, EVENT, headers={KEY: "k"})
    (kept,) = service.sessions.state.calls.values()
    assert "race" not in repr(kept)
    assert "sarah" not in repr(kept)


@pytest.mark.parametrize(
    ("path", "body"),
    [(SAVE, EVENT), ("/v1/sessions/forget", {"user_id": "sarah", "dry_run": True})],
)
def test_a_key_that_is_no_id_is_refused(call: Client, path: str, body: object) -> None:
    answer = call("POST", path, body, headers={KEY: "a b"})
    assert (answer.status, answer.json["code"], answer.json["errors"][0]["field"]) == (
        400,
        "invalid_id",
        KEY,
    )

"""Erasing a user: nothing is there from the answer on, a job removes it, and what comes afterwards
is another life.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from palimpsest.scope import Scope, UserScope
from palimpsest.search.documents import of_message, of_record
from palimpsest.search.embed import Embed
from palimpsest.search.ports import Document

from tests.doubles.owned_index import OwnedIndex
from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

TENANT = Scope("acme")
SARAH = TENANT.user("sarah")
USER = "/v1/users/sarah"
GONE = "/v1/sessions/old"


@pytest.fixture
def known(call: Client, service: Service) -> Client:
    """Of Sarah there is something of every kind: said, extracted, saved, superseded, indexed, and
    still pending.
    """
    call.append("old", "fact[city]: lives in Rome", "fact: likes tea")
    call.append("older", "fact: plays chess", agent_id="hr")
    call("POST", "/v1/sessions/old/extract", {})
    service.drain()
    call.save({"type": "fact", "content": "lives in Paris", "topic_key": "city"}, "has a dog")
    service.brought_up_to_date()
    saved = call("GET", f"{USER}/memories").json["memories"][0]["id"]
    call("POST", f"{USER}/recalls/rec_1/feedback", {"wrong": [saved], "missing": "a secret wish"})
    call.append("old", "fact: was said last")
    call("POST", "/v1/sessions/old/extract", {})
    return call


def everything(call: Client) -> dict[str, Any]:
    """Whatever can be read of Sarah, through every door there is to it."""
    query = {"query": "tea chess Rome Paris dog", "k": 20}
    return {
        "sessions": call("GET", "/v1/sessions").json["sessions"],
        "of user": call("GET", "/v1/sessions", query={"user_id": "sarah"}).json["sessions"],
        "by words": call("GET", "/v1/sessions", query={"user_id": "sarah", "q": "tea chess"}).json[
            "sessions"
        ],
        "memories": call("GET", f"{USER}/memories").json["memories"],
        "reviews": call("GET", f"{USER}/reviews").json["reviews"],
        "counts": call("GET", USER).json["memories"]["total"],
        "users": call("GET", "/v1/users").json["users"],
        "recall": call("POST", f"{USER}/recall", query).json["memories"],
        "keyword": call("POST", f"{USER}/memories/search", {**query, "mode": "keyword"}).json[
            "memories"
        ],
        "vector": call("POST", f"{USER}/memories/search", {**query, "mode": "vector"}).json[
            "memories"
        ],
    }


SESSION_CALLS = [
    ("GET", "", None),
    ("GET", "/messages", None),
    ("GET", "/context", None),
    ("GET", "/compactions", None),
    ("POST", "/context", {"message": "tea?"}),
    ("PATCH", "", {"system": "x"}),
    ("PUT", "", {"system": "x"}),
    ("POST", "/end", None),
    ("POST", "/extract", {}),
    ("POST", "/prune", {"strategy": "fifo"}),
    ("DELETE", "/messages", None),
    ("DELETE", "", None),
]


def test_everything_is_there_before(known: Client) -> None:
    assert all(everything(known).values())


@pytest.mark.parametrize("is_done", [False, True])
def test_nothing_is_there_from_the_answer_on(
    known: Client, service: Service, *, is_done: bool
) -> None:
    assert known("DELETE", USER).status == 202
    if is_done:
        service.drain()
    assert not any(everything(known).values()), everything(known)
    for method, rest, body in SESSION_CALLS:
        assert known(method, f"{GONE}{rest}", body).status == 404, (method, rest)
    append = {"messages": [{"role": "user", "content": "hm"}]}
    assert (
        known("POST", f"{GONE}/messages", append).status == 404
    )  # and nobody is named to begin it again


def test_the_jobs_receipt_fills_store_by_store(known: Client, service: Service) -> None:
    answer = known("DELETE", USER)
    pending = known("GET", answer.headers["Location"]).json
    assert (pending["kind"], pending["state"], pending["user_id"]) == ("erase", "pending", "sarah")
    assert (
        pending["receipt"]["sessions"]
        == pending["receipt"]["memories"]
        == {"state": "pending", "count": 0}
    )
    service.drain()
    waiting = known("GET", answer.headers["Location"]).json
    assert (waiting["state"], waiting["receipt"]["index"]) == ("running", {"state": "pending"})
    assert waiting["receipt"]["memories"]["state"] == "done"
    told = tuple(service.sent_again.changes)  # whatever becomes of the streams' records
    assert service.embed(told) == told  # the records are of this same moment
    service.time.advance(1)
    assert service.embed(told) == ()
    assert OwnedIndex(service.index, SARAH).keys() == ()
    done = known("GET", answer.headers["Location"]).json
    assert (done["state"], done["error"]) == ("done", None)
    assert done["receipt"]["sessions"] == {"state": "done", "count": 2}
    assert done["receipt"]["memories"]["state"] == "done"
    assert done["receipt"]["memories"]["count"] >= 5
    assert done["receipt"]["index"] == {"state": "done"}
    assert done["receipt"]["exports"] == {"state": "done", "count": 0}
    remains = {
        "jobs": "2026-01-31",
        "tombstones": "2026-02-01",
        "queues": "2026-01-15",
        "streams": "2026-01-02",
        "logs": "2026-04-01",
        "backups": "2026-02-05",
    }
    for store, day in remains.items():
        assert done["receipt"][store] == {"state": "expires", "until": f"{day}T00:00:00.000Z"}
    assert done["receipt"]["keys"] == {"state": "expires", "until": "2026-01-02T01:00:00.000Z"}
    assert done["receipt"]["epoch"] == {"state": "stays"}


def test_a_receipt_names_the_end_of_the_logs_of_its_deployment(
    known: Client, service: Service
) -> None:
    service.app = replace(service.app, log_days=365)
    address = known("DELETE", USER).headers["Location"]
    assert known("GET", address).json["receipt"]["logs"]["until"] == "2027-01-01T00:00:00.000Z"


def test_only_an_admin_erases_a_user(known: Client, service: Service) -> None:
    refused = service.client(scopes="read write")("DELETE", USER)
    assert (refused.status, refused.json["code"]) == (403, "missing_scope")
    assert service.client(scopes="admin")("DELETE", USER).status == 202


def test_an_erasure_that_is_waited_for_answers_its_receipt(known: Client, service: Service) -> None:
    service.work_while_waiting()
    answer = known("DELETE", USER, query={"wait": 5})
    assert (answer.status, answer.json["state"]) == (200, "done")
    assert answer.json["receipt"]["sessions"] == {"state": "done", "count": 2}


def test_the_tables_hold_nothing_that_was_said(known: Client, service: Service) -> None:
    known("DELETE", USER)
    service.drain()
    partitions = service.sessions.state.partitions.values()
    assert {partition.head.status for partition in partitions if partition.head} == {"deleted"}
    for partition in partitions:
        assert (partition.messages.between(0, 10**9), partition.compactions.between(0, 10**9)) == (
            [],
            [],
        )
        assert (partition.settings, dict(partition.keys)) == (None, {})
    kept = repr([service.memories.known["acme", "sarah"].eras, service.sessions.state.jobs])
    assert not any(word in kept for word in ("tea", "chess", "Rome", "Paris", "dog", "said last"))


def test_the_index_loses_what_the_tables_lost_and_a_late_write_does_not_bring_it_back(
    known: Client, service: Service
) -> None:
    part = OwnedIndex(service.index, UserScope("acme", "sarah"))
    before = tuple(service.changes())
    late = [*documents(service)]
    assert {document.key.partition("_")[0] for document in late} >= {"mem", "old/1", "older/1"}
    assert part.count() >= 6
    service.time.advance(1)
    known("DELETE", USER)
    service.drain()
    embed = Embed(
        service.memories, service.sessions, service.index, service.embedder, service.clock
    )
    assert embed(before) == ()
    assert part.count() == 0
    part.write(late)
    assert part.count() == 0


def documents(service: Service) -> Iterator[Document]:
    """What a worker that reads now would write."""
    sessions = service.sessions
    for record in service.memories.listed(SARAH, limit=100).records:
        yield of_record(record).with_vector(None, is_whole=True)
    for name in ("old", "older"):
        session = TENANT.session(name)
        head = sessions.open(session).head
        assert head is not None
        for message in sessions.messages(session, first=1, last=head.seq):
            item = of_message(message, session=name, head=head)
            assert item is not None
            yield item.with_vector(None, is_whole=True)


def test_workers_that_come_late_do_nothing(known: Client, service: Service) -> None:
    late = service.outbox[-1]
    assert known("GET", f"/v1/jobs/{late.id}").json["state"] == "pending"
    read = len(service.extractor.read)
    known("DELETE", USER)
    for _ in range(2):
        service.handle(late)
    service.drain()
    service.handle(late)
    assert len(service.extractor.read) == read
    assert known("GET", f"/v1/jobs/{late.id}").json["error"] == "erased"
    assert not any(everything(known).values())


@pytest.mark.parametrize("is_done", [False, True])
def test_who_comes_back_finds_nothing_old_and_loses_nothing_new(
    known: Client, service: Service, *, is_done: bool
) -> None:
    pending = list(service.outbox)
    known("DELETE", USER)
    if is_done:
        service.drain()
    again = known.append("old", "fact[city]: lives in Rome").json
    assert again["created"]
    assert again["messages"][0]["seq"] > 4
    known.save("has a dog")
    known("POST", "/v1/sessions/old/extract", {})
    service.drain()
    for job in pending:
        service.handle(job)
    service.drain()
    assert [row["content"] for row in known("GET", f"{GONE}/messages").json["messages"]] == [
        "fact[city]: lives in Rome"
    ]
    contents = {row["content"] for row in known("GET", f"{USER}/memories").json["memories"]}
    assert contents == {"lives in Rome", "has a dog"}
    assert [session["session_id"] for session in known("GET", "/v1/sessions").json["sessions"]] == [
        "old"
    ]


def test_an_id_of_the_first_life_may_be_used_by_somebody_else(
    known: Client, service: Service
) -> None:
    known("DELETE", USER)
    assert known.append("old", "hello", user_id="bob").json["created"]
    service.drain()
    assert [row["content"] for row in known("GET", f"{GONE}/messages").json["messages"]] == [
        "hello"
    ]


def test_nobody_else_loses_anything(known: Client, service: Service) -> None:
    other = service.client(tenant="other")
    known.append("bobs", "hello", user_id="bob")
    for who, user in ((known, "bob"), (other, "sarah")):
        who.save("likes tea", user=user)
    other.append("old", "hello")
    known("DELETE", USER)
    service.drain()
    assert [each["user_id"] for each in known("GET", "/v1/users").json["users"]] == ["bob"]
    assert known("GET", "/v1/users/bob").json["memories"]["total"] == 1
    assert known("GET", "/v1/sessions/bobs").status == 200
    assert other("GET", USER).json["memories"]["total"] == 1
    assert other("GET", GONE).status == 200


def test_erasing_who_is_not_known_is_done_at_once_and_leaves_no_trace_of_them(
    call: Client, service: Service
) -> None:
    answer = call("DELETE", "/v1/users/nobody")
    service.drain()
    assert call("GET", answer.headers["Location"]).json["result"] == {"sessions": 0, "memories": 0}
    assert call("GET", "/v1/users").json["users"] == []


def test_erasing_twice_is_two_erasures(known: Client, service: Service) -> None:
    first, second = (known("DELETE", USER).json["job_id"] for _ in range(2))
    assert first != second
    service.drain()
    service.time.advance(1)
    assert service.embed(tuple(service.sent_again.changes)) == ()
    assert {known("GET", f"/v1/jobs/{name}").json["state"] for name in (first, second)} == {"done"}
    assert not any(everything(known).values())


def test_erasing_needs_the_scope_write(service: Service) -> None:
    answer = service.client(scopes="read")("DELETE", USER)
    assert (answer.status, answer.json["code"]) == (403, "missing_scope")
    assert service.outbox == []

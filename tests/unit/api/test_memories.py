"""Memories through the front door: saved with an outcome, listed, changed, reverted, deleted, each
with its past.
"""

from typing import Any

import pytest

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

MEMORIES = "/v1/users/sarah/memories"


def employer(content: str, **more: Any) -> dict[str, Any]:
    return {"type": "fact", "content": content, "topic_key": "Employer", **more}


def ids(call: Client, **query: object) -> list[str]:
    return [row["content"] for row in call("GET", MEMORIES, query=query).json["memories"]]


def saved(call: Client, *memories: Any) -> list[str]:
    """Save each by itself; their ids."""
    return [call.save(memory).json["memories"][0]["id"] for memory in memories]


def test_a_memory_comes_back_as_it_was_said(call: Client) -> None:
    told = {
        "type": "instruction",
        "content": "Answer in German.",
        "subject": "language",
        "speaker": "Ann",
        "occurs_at": "2026-01-10",
        "due_at": "2026-01-12T09:00:00Z",
        "topic_key": "Answer  language!",
        "keywords": ["german"],
        "queries": ["Which language?"],
        "importance": 0.9,
        "confidence": 0.8,
        "valid_from": "2025-12-24T18:00:00+01:00",
        "agent_id": "hr-assistant",
        "metadata": {
            "team": {"name": "hr", "tags": ["a", 1]},
            "level": 3,
            "is_vip": True,
            "share": 0.5,
        },
        "data": {"form": [1, None]},
        "source": {
            "session_id": "s",
            "message_ids": ["m1"],
            "seqs": [4],
            "quote": "auf Deutsch bitte",
            "text": None,
        },
    }
    answer = call.save(told)
    assert answer.status == 201
    (row,) = answer.json["memories"]
    assert row == {
        **told,
        "id": row["id"],
        "sources": [told["source"]],
        "topic_key": "answer_language",
        "valid_from": "2025-12-24T17:00:00.000Z",
        "valid_to": None,
        "ended": False,
        "rests_on": [],
        "rests_on_changed": False,
        "status": "current",
        "version": 1,
        "created_at": "2026-01-01T00:00:00.000Z",
        "supersedes": None,
        "superseded_by": None,
        "method": "given",
        "expires_at": "2027-01-01T00:00:00.000Z",
        "access_count": 0,
        "last_accessed_at": None,
        "decay": 0.9454,  # eight days and seven hours of ninety
        "outcome": "created",
    }
    del row["outcome"]
    assert call("GET", f"{MEMORIES}/{row['id']}").json == row
    assert call("GET", MEMORIES).json == {"memories": [row], "next_cursor": None}


def test_a_source_may_be_a_text(call: Client) -> None:
    told = {"type": "fact", "content": "Sarah works in Marketing.", "source": "HR, May 2026"}
    (row,) = call.save(told).json["memories"]
    named: dict[str, Any] = {
        "session_id": None,
        "message_ids": [],
        "seqs": [],
        "quote": None,
        "text": "HR, May 2026",
    }
    assert row["source"] == call("GET", f"{MEMORIES}/{row['id']}").json["source"] == named
    for wrong in ("", " ", "x" * 1_001, 7):
        answer = call.save({**told, "source": wrong})
        assert (
            answer.status,
            answer.json["errors"][0]["field"].startswith("memories.0.source"),
        ) == (422, True)


def test_each_memory_of_a_request_has_its_outcome(call: Client) -> None:
    first = call.save("likes tea", employer("works at A"), "sings").json["memories"]
    answer = call.save("Likes tea.", employer("works at B"), "likes coffee", "sings")
    assert [row["outcome"] for row in answer.json["memories"]] == [
        "updated",
        "created",
        "created",
        "unchanged",
    ]
    assert [row["version"] for row in answer.json["memories"]] == [1, 2, 1, 1]
    assert [row["supersedes"] for row in answer.json["memories"]] == [
        None,
        first[1]["id"],
        None,
        None,
    ]
    assert sorted(ids(call)) == ["Likes tea.", "likes coffee", "sings", "works at B"]


def test_saved_again_with_other_metadata_or_importance_it_is_updated(call: Client) -> None:
    memory = {"type": "fact", "content": "likes tea", "metadata": {"by": "form"}, "importance": 0.6}
    (before,) = call.save(memory).json["memories"]
    (after,) = call.save({**memory, "importance": 0.9}).json["memories"]
    assert after == {**before, "importance": 0.9, "outcome": "updated"}
    (last,) = call.save({"type": "fact", "content": "likes tea", "metadata": {}}).json["memories"]
    assert (last["outcome"], last["metadata"], last["importance"]) == ("updated", {}, 0.9)
    assert call("GET", f"{MEMORIES}/{before['id']}").json["metadata"] == {}


def test_the_same_request_again_changes_nothing(call: Client) -> None:
    told: list[Any] = [
        employer("works at A"),
        "likes tea",
        {"type": "event", "content": "ran a race", "valid_from": "2025-06-01T10:00:00Z"},
    ]
    first = call.save(*told)
    again = call.save(*told)
    assert {row["outcome"] for row in again.json["memories"]} == {"unchanged"}
    assert [row["id"] for row in again.json["memories"]] == [
        row["id"] for row in first.json["memories"]
    ]


def test_an_old_version_still_answers_and_says_what_came_after_it(
    call: Client, service: Service
) -> None:
    (old,) = saved(call, employer("works at A"))
    service.time.advance(60)
    (new,) = saved(call, employer("works at B"))
    row = call("GET", f"{MEMORIES}/{old}").json
    assert (row["status"], row["superseded_by"], row["valid_to"]) == (
        "superseded",
        new,
        "2026-01-01T00:01:00.000Z",
    )
    row = call("GET", f"{MEMORIES}/{new}").json
    assert (row["status"], row["supersedes"], row["version"], row["valid_to"]) == (
        "current",
        old,
        2,
        None,
    )
    assert ids(call) == ["works at B"]


def test_what_is_told_late_of_an_earlier_time_is_superseded_from_the_start(
    call: Client, service: Service
) -> None:
    service.time.advance(3600)
    call.save(employer("works at B", valid_from="2026-01-01T00:30:00Z"))
    (late,) = call.save(employer("works at A", valid_from="2026-01-01T00:10:00Z")).json["memories"]
    assert (late["outcome"], late["status"], late["version"]) == ("created", "superseded", 1)
    assert late["valid_to"] == "2026-01-01T00:30:00.000Z"
    assert ids(call) == ["works at B"]


def test_a_client_whose_clock_is_ahead_does_not_hold_a_topic(
    call: Client, service: Service
) -> None:
    (row,) = call.save(employer("works at A", valid_from="2027-01-01T00:00:00Z")).json["memories"]
    assert row["valid_from"] == "2026-01-01T00:00:00.000Z"
    service.time.advance(1)
    saved(call, employer("works at B"))
    assert ids(call) == ["works at B"]


def test_history_has_every_version_newest_first_in_pages(call: Client, service: Service) -> None:
    contents = [f"works at {name}" for name in "ABCDE"]
    for content in contents:
        (first,) = saved(call, employer(content))
        service.time.advance(60)
    path = f"{MEMORIES}/{first}/history"
    assert [row["content"] for row in call("GET", path).json["versions"]] == contents[::-1]
    seen: list[int] = []
    query: dict[str, object] | None = {"limit": 2, "order": "asc"}
    while query is not None:
        page = call("GET", path, query=query).json
        seen += [row["version"] for row in page["versions"]]
        query = {**query, "cursor": page["next_cursor"]} if page["next_cursor"] else None
    assert seen == [1, 2, 3, 4, 5]


def test_a_memory_without_a_topic_is_its_whole_history(call: Client) -> None:
    (tea,) = saved(call, "likes tea")
    assert [row["id"] for row in call("GET", f"{MEMORIES}/{tea}/history").json["versions"]] == [tea]


def test_reverting_makes_an_old_value_a_new_version(call: Client, service: Service) -> None:
    old, new = saved(call, employer("works at A"), employer("works at B"))
    service.time.advance(60)
    answer = call("POST", f"{MEMORIES}/{old}/revert")
    assert answer.status == 200
    assert (answer.json["content"], answer.json["version"], answer.json["supersedes"]) == (
        "works at A",
        3,
        new,
    )
    assert answer.json["id"] not in {old, new}
    again = call("POST", f"{MEMORIES}/{answer.json['id']}/revert")
    assert (again.status, again.json["code"]) == (409, "is_current")


def test_new_content_supersedes_and_other_fields_change_in_place(
    call: Client, service: Service
) -> None:
    (tea,) = saved(
        call, {"type": "fact", "content": "likes tea", "metadata": {"a": 1}, "keywords": ["tea"]}
    )
    service.time.advance(60)
    change = {"importance": 0.9, "subject": "drinks", "metadata": {"b": 2}, "keywords": ["drink"]}
    row = call("PATCH", f"{MEMORIES}/{tea}", change).json
    assert row["id"] == tea
    assert {name: row[name] for name in change} == change
    row = call("PATCH", f"{MEMORIES}/{tea}", {"content": "likes coffee"}).json
    assert (row["content"], row["supersedes"], row["version"], row["importance"]) == (
        "likes coffee",
        tea,
        2,
        0.9,
    )
    assert call("GET", f"{MEMORIES}/{tea}").json["status"] == "superseded"
    refused = call("PATCH", f"{MEMORIES}/{tea}", {"importance": 0.1})
    assert (refused.status, refused.json["code"]) == (409, "not_current")


def test_a_deleted_memory_is_gone_and_no_older_one_comes_back(call: Client) -> None:
    old, new = saved(call, employer("works at A"), employer("works at B"))
    assert call("DELETE", f"{MEMORIES}/{new}").json == {
        "id": new,
        "deleted": True,
        "hidden": {"messages": 0, "message_ids": []},
    }
    for method in ("GET", "DELETE"):
        answer = call(method, f"{MEMORIES}/{new}")
        assert (answer.status, answer.json["code"]) == (404, "memory_not_found")
    assert ids(call) == []
    assert call("GET", f"{MEMORIES}/{old}").json["status"] == "superseded"


def test_memories_are_gone_when_their_days_are_over_unless_said_again(
    call: Client, service: Service
) -> None:
    call("PUT", "/v1/settings", {"memory_days": 10})
    tea, coffee = saved(call, "likes tea", "likes coffee")
    service.time.advance(9 * 24 * 3600)
    saved(call, "likes tea")
    service.time.advance(2 * 24 * 3600)
    assert ids(call) == ["likes tea"]
    assert call("GET", f"{MEMORIES}/{tea}").status == 200
    assert call("GET", f"{MEMORIES}/{coffee}").status == 404


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"types": "event"}, ["ran"]),
        ({"types": "event,task"}, ["call Ann", "ran"]),
        ({"min_importance": 0.8}, ["ran"]),
        ({"subject": "sport, outdoors"}, ["ran"]),
        ({"session_id": "s1"}, ["ran"]),
        ({"agent_id": "coach"}, ["likes tea"]),
        ({"created_after": "2026-01-01T00:01:00Z"}, ["call Ann", "ran"]),
        ({"created_before": "2026-01-01T00:01:00Z"}, ["ran", "likes tea"]),
        ({"created_after": "2026-01-01T01:30:00+01:00", "types": "fact"}, []),
        ({"metadata": "level=3"}, ["ran"]),
        ({"metadata": ["level=3", "ok=true"]}, ["ran"]),
        ({"metadata": "level=3,ok=true"}, []),
        ({"metadata": 'level="3"'}, ["likes tea"]),
        ({"metadata": "where=a=b"}, ["likes tea"]),
        ({"metadata": "level=4"}, []),
        ({"metadata": "level[gte]=2"}, ["ran"]),
        ({"metadata": ['level[in]="3"', "level[in]=4"]}, ["likes tea"]),
        ({"metadata": "ok[exists]=false"}, ["call Ann", "likes tea"]),
        ({"max_importance": 0.5}, ["call Ann", "likes tea"]),
        ({"max_confidence": 0.9}, []),
        ({"order": "asc"}, ["likes tea", "ran", "call Ann"]),
        ({}, ["call Ann", "ran", "likes tea"]),
    ],
)
def test_a_list_holds_what_its_filters_let_through(
    call: Client, service: Service, query: dict[str, object], expected: list[str]
) -> None:
    tea = {
        "type": "fact",
        "content": "likes tea",
        "agent_id": "coach",
        "metadata": {"level": "3", "where": "a=b"},
    }
    ran = {
        "type": "event",
        "content": "ran",
        "importance": 0.8,
        "subject": "sport, outdoors",
        "source": {"session_id": "s1"},
        "metadata": {"level": 3, "ok": True},
    }
    for memory in (tea, ran, {"type": "task", "content": "call Ann"}):
        call.save(memory)
        service.time.advance(60)
    assert ids(call, **query) == expected


def test_pages_of_a_filtered_list_hold_everything_once(call: Client, service: Service) -> None:
    for number in range(25):
        call.save(
            {
                "type": "fact" if number % 3 else "event",
                "content": f"no {number}",
                "importance": number % 2,
            }
        )
        service.time.advance(1)
    seen: list[str] = []
    query: dict[str, object] | None = {"limit": 4, "types": "fact", "min_importance": 1}
    while query is not None:
        page = call("GET", MEMORIES, query=query).json
        assert len(page["memories"]) <= 4
        seen += [row["content"] for row in page["memories"]]
        query = {**query, "cursor": page["next_cursor"]} if page["next_cursor"] else None
    assert seen == [f"no {number}" for number in range(24, -1, -1) if number % 3 and number % 2]


def test_a_page_of_large_memories_holds_as_many_as_an_answer_can(call: Client) -> None:
    large = {
        "type": "fact",
        "metadata": dict.fromkeys(map(str, range(64)), "漢" * 256),
        "queries": ["漢" * 300] * 20,
        "keywords": ["漢" * 100] * 50,
    }
    for start in range(0, 100, 20):
        call.save(
            *({**large, "content": f"{start + number} " + "漢" * 3900} for number in range(20))
        )
    seen = 0
    query: dict[str, object] = {"limit": 100}
    for _ in range(10):
        answer = call("GET", MEMORIES, query=query)
        assert answer.status == 200
        assert len(answer.json["memories"]) < 100
        seen += len(answer.json["memories"])
        if answer.json["next_cursor"] is None:
            break
        query["cursor"] = answer.json["next_cursor"]
    assert seen == 100


def test_users_are_listed_by_id_and_counted_by_type(call: Client) -> None:
    for user in ("zoe", "ann", "bob"):
        call.save("likes tea", {"type": "task", "content": "call"}, user=user)
    page = call("GET", "/v1/users", query={"limit": 2}).json
    assert page["users"] == [{"user_id": "ann"}, {"user_id": "bob"}]
    rest = call("GET", "/v1/users", query={"limit": 2, "cursor": page["next_cursor"]}).json
    assert rest == {"users": [{"user_id": "zoe"}], "next_cursor": None}
    call.save(employer("works at A"), employer("works at B"), user="ann")
    counts = {"fact": 2, "event": 0, "instruction": 0, "task": 1, "preference": 0, "total": 3}
    none = {"active": 0, "ended": 0, "total": 0}
    ann: dict[str, object] = {
        "user_id": "ann",
        "name": None,
        "aliases": [],
        "memories": counts,
        "sessions": none,
    }
    ann["last_activity"] = None
    assert call("GET", "/v1/users/ann").json == ann
    assert call("GET", "/v1/users/nobody").json["memories"]["total"] == 0


def test_users_are_listed_from_their_first_session_on_with_counts_and_last_activity(
    call: Client, service: Service
) -> None:
    call.append("s1", "hello")
    service.time.advance(60)
    call.append("s2", "hello")
    call("POST", "/v1/sessions/s2/end", {})
    (listed,) = call("GET", "/v1/users", query={"counts": "true"}).json["users"]
    assert listed == call("GET", "/v1/users/sarah").json
    assert (listed["user_id"], listed["memories"]["total"]) == ("sarah", 0)
    assert listed["sessions"] == {"active": 1, "ended": 1, "total": 2}
    assert listed["last_activity"] == "2026-01-01T00:01:00.000Z"
    call("DELETE", "/v1/users/sarah")
    assert call("GET", "/v1/users").json["users"] == []


def test_memories_are_listed_by_topic_status_and_subject_in_any_case(
    call: Client, service: Service
) -> None:
    for content in ("Sarah works at Acme", "Sarah works at Globex"):
        call.save({"type": "fact", "content": content, "topic_key": "employer", "subject": "Sarah"})
        service.time.advance(60)
    call.save(
        {
            "type": "fact",
            "content": "The cat is called Tom",
            "topic_key": "cat_name",
            "subject": "tom",
        }
    )

    assert ids(call, topic_key="Employer") == ["Sarah works at Globex"]
    assert ids(call, topic_key="employer", status="superseded") == ["Sarah works at Acme"]
    assert ids(call, status="superseded") == ["Sarah works at Acme"]
    assert ids(call, status="superseded", topic_key="cat_name") == ids(call, topic_key="!") == []
    assert ids(call, subject="SARAH") == ids(call, subject="sarah") == ["Sarah works at Globex"]
    assert ids(call, subject="TOM", status="current") == ["The cat is called Tom"]
    assert call("GET", MEMORIES, query={"status": "gone"}).status == 422


def test_the_memory_of_a_topic_is_found_at_once_however_many_there_are(
    call: Client, service: Service
) -> None:
    call.save({"type": "fact", "content": "Sarah works at Acme", "topic_key": "employer"})
    service.time.advance(60)
    call.save(*(f"Fact {number}" for number in range(20)))
    page = call("GET", MEMORIES, query={"topic_key": "employer", "limit": 1}).json
    assert ([memory["content"] for memory in page["memories"]], page["next_cursor"]) == (
        ["Sarah works at Acme"],
        None,
    )
    assert (
        ids(call, topic_key="employer", types="event")
        == ids(call, topic_key="preference:" + "—" * 140)
        == []
    )


def test_what_recall_returns_is_counted_and_decays_from_then_on(
    call: Client, service: Service
) -> None:
    call.save("likes green tea")
    service.brought_up_to_date()
    service.time.advance(45 * 24 * 3600)
    (before,) = call("GET", MEMORIES).json["memories"]
    assert (before["access_count"], before["last_accessed_at"], before["decay"]) == (
        0,
        None,
        0.7071,
    )
    assert call("POST", "/v1/users/sarah/recall", {"query": "Who likes green tea?"}).json[
        "memories"
    ]
    service.time.advance(90 * 24 * 3600)
    (after,) = call("GET", MEMORIES).json["memories"]
    assert (after["access_count"], after["last_accessed_at"]) == (1, "2026-02-15T00:00:00.000Z")
    assert after["decay"] == 0.7071  # of twice the half-life, as it was used once
    assert call("GET", f"{MEMORIES}/{after['id']}").json == after
    assert call("GET", f"{MEMORIES}/{after['id']}/history").json["versions"] == [after]


def test_a_memory_expires_when_its_caller_says_whatever_the_retention(
    call: Client, service: Service
) -> None:
    service.work_while_waiting()
    soon = {"type": "fact", "content": "on holiday", "expires_at": "2026-01-03T00:00:00Z"}
    late = {"type": "fact", "content": "passport", "expires_at": "2031-01-01T00:00:00Z"}
    call.save(
        soon, late, {"type": "task", "content": "call Ann", "expires_at": "2026-01-03T00:00:00Z"}
    )
    assert call("PUT", "/v1/settings", {"memory_days": 1}).status == 200
    service.drain()
    (again,) = call.save({"type": "fact", "content": "passport"}).json["memories"]
    assert (again["outcome"], again["expires_at"]) == ("unchanged", "2031-01-01T00:00:00.000Z")
    (moved,) = call.save({**soon, "expires_at": "2026-01-04T00:00:00Z"}).json["memories"]
    assert (moved["outcome"], moved["expires_at"]) == ("updated", "2026-01-04T00:00:00.000Z")
    service.time.advance(3 * 24 * 3600)
    assert ids(call) == ["passport"]


def test_confidence_and_data_change_in_place(call: Client) -> None:
    (made,) = call.save({"type": "fact", "content": "likes tea", "data": {"cups": 2}}).json[
        "memories"
    ]
    assert call("PATCH", f"{MEMORIES}/{made['id']}", {"data": None}).json["data"] is None
    assert call("GET", f"{MEMORIES}/{made['id']}").json["data"] is None
    assert call("PATCH", f"{MEMORIES}/{made['id']}", {"importance": 0.6}).json["data"] is None
    changed = call(
        "PATCH", f"{MEMORIES}/{made['id']}", {"confidence": 0.4, "data": {"cups": 3}}
    ).json
    assert (changed["id"], changed["confidence"], changed["data"]) == (made["id"], 0.4, {"cups": 3})
    assert ids(call, max_confidence=0.5) == ["likes tea"]
    newer = call("PATCH", f"{MEMORIES}/{made['id']}", {"content": "likes coffee"}).json
    assert (newer["confidence"], newer["data"]) == (0.4, {"cups": 3})


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({"subject": "sport"}, {"ran far"}),
        ({"subject": "sPoRT"}, {"ran far"}),
        ({"topic_key": "Favourite drink"}, {"likes tea far"}),
        ({"min_confidence": 0.6}, {"ran far"}),
        ({"max_confidence": 0.5}, {"likes tea far"}),
        ({"min_importance": 0.6, "max_importance": 0.8}, {"ran far"}),
        ({"metadata": {"place.city": "Rome"}}, {"ran far"}),
        ({"metadata": {"place.floor": {"gt": 2, "lte": 5}}}, {"likes tea far"}),
        ({"metadata": {"place": {"exists": False}}}, set()),
        (
            {"metadata": {"place.city": {"ne": "Rome"}, "at": {"lt": "2026-01-02"}}},
            {"likes tea far"},
        ),
        ({"metadata": {"tags": {"in": ["b", "c"]}}}, {"likes tea far"}),
    ],
)
def test_one_filter_lists_recalls_searches_and_forgets(
    call: Client, service: Service, where: dict[str, Any], found: set[str]
) -> None:
    service.work_while_waiting()
    tea = {
        "type": "fact",
        "content": "likes tea far",
        "topic_key": "favourite drink",
        "confidence": 0.5,
    }
    tea |= {"metadata": {"place": {"floor": 5}, "at": "2026-01-01", "tags": ["a", "b"]}}
    ran = {"type": "event", "content": "ran far", "subject": "Sport", "importance": 0.8}
    call.save(
        tea,
        {**ran, "metadata": {"place": {"city": "Rome", "floor": 2}, "at": "2026-01-01T12:00:00Z"}},
    )
    service.brought_up_to_date()
    for path in ("recall", "memories/search"):
        body = {"query": "far", "filter": where} | ({"mode": "keyword"} if path != "recall" else {})
        rows = call("POST", f"/v1/users/sarah/{path}", body).json["memories"]
        assert {row["content"] for row in rows} == found
    would = call("POST", f"{MEMORIES}/forget", {"filter": where, "dry_run": True}).json
    assert would["count"] == len(found)
    assert call("POST", f"{MEMORIES}/forget", {"filter": where, "wait": 5}).status == 200
    assert {*ids(call)} == {"likes tea far", "ran far"} - found


def test_a_memory_may_bring_its_own_vector_and_is_searched_by_one(
    call: Client, service: Service
) -> None:
    east, north = (
        [float(place == at) for place in range(service.embedder.space.dimension)] for at in (0, 1)
    )
    (tea, _) = call.save(
        {"type": "fact", "content": "likes tea", "embedding": east},
        {"type": "fact", "content": "sings", "embedding": north},
    ).json["memories"]
    service.brought_up_to_date()

    def near(vector: list[float]) -> Any:
        body = {"mode": "vector", "embedding": vector, "k": 1}
        return call("POST", f"{MEMORIES}/search", body).json["memories"][0]

    assert (near(east)["content"], near(north)["content"], near(east)["score"]) == (
        "likes tea",
        "sings",
        1.0,
    )
    call("PATCH", f"{MEMORIES}/{tea['id']}", {"content": "likes coffee"})
    service.brought_up_to_date()
    assert near(east)["score"] < 1  # other words, and so another vector: the model's


@pytest.mark.parametrize("embedding", [[1.0], [0.0] * 4, [1e300] * 4])
def test_an_embedding_that_is_no_vector_of_the_index_is_422(
    call: Client, service: Service, embedding: list[float]
) -> None:
    values = embedding if len(embedding) == 1 else embedding[:1] * service.embedder.space.dimension
    saved = call.save({"type": "fact", "content": "likes tea", "embedding": values})
    searched = call("POST", f"{MEMORIES}/search", {"mode": "vector", "embedding": values})
    assert (saved.status, saved.json["code"], searched.json["code"]) == (
        422,
        "invalid_vector",
        "invalid_vector",
    )
    assert (
        call("POST", f"{MEMORIES}/search", {"mode": "keyword", "embedding": values}).status == 422
    )
    assert call("POST", f"{MEMORIES}/search", {"mode": "vector"}).status == 422
    assert ids(call) == []

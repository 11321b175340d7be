"""Vectors through the front door: stored by id, searched by nearness and metadata, counted and
deleted.
"""

import json
from typing import Any

import pytest

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Answer, Client

VECTORS = "/v1/users/sarah/vectors"
EAST, NORTH, NEARLY_EAST = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.9, 0.1, 0.0]


def put(call: Client, *vectors: dict[str, Any], path: str = VECTORS, **more: Any) -> Answer:
    return call("POST", path, {"vectors": vectors, **more})


def near(call: Client, path: str = VECTORS, **asked: Any) -> list[str]:
    answer = call("POST", f"{path}/search", {"values": EAST} | asked)
    assert answer.status == 200, answer.text
    return [row["id"] for row in answer.json["matches"]]


def counts(call: Client) -> dict[str, int]:
    return {
        row["namespace"]: row["count"] for row in call("GET", f"{VECTORS}/stats").json["namespaces"]
    }


def compass(call: Client) -> None:
    put(
        call,
        {"id": "north", "values": NORTH, "metadata": {"at": {"floor": 2}}},
        {"id": "east", "values": EAST, "metadata": {"at": {"floor": 1}}},
        {"id": "nearly-east", "values": NEARLY_EAST},
    )


def test_the_nearest_come_first_also_right_after_they_were_stored(call: Client) -> None:
    compass(call)
    answer = call("POST", f"{VECTORS}/search", {"values": EAST, "top_k": 2}).json["matches"]
    assert answer == [
        {"id": "east", "score": 1.0, "metadata": {"at": {"floor": 1}}, "text": None},
        {
            "id": "nearly-east",
            "score": pytest.approx(0.9939, abs=1e-4),
            "metadata": {},
            "text": None,
        },
    ]
    put(call, {"id": "more", "values": [2.0, 0.01, 0.0]})
    assert near(call) == ["east", "more", "nearly-east", "north"]


def test_the_same_id_replaces_and_a_repeated_request_changes_nothing(call: Client) -> None:
    compass(call)
    assert put(call, {"id": "east", "values": [0.0, 0.0, 5.0]}).json["count"] == 3
    assert near(call, values=[0.0, 0.0, 1.0], top_k=1) == ["east"]
    again = [
        call(
            "POST",
            VECTORS,
            {"vectors": [{"id": "new", "values": EAST}]},
            headers={"Idempotency-Key": "k"},
        )
        for _ in range(2)
    ]
    assert [one.json["count"] for one in again] == [4, 4]


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({"at.floor": 1}, ["east"]),
        ({"at.floor": {"gte": 1}}, ["east", "north"]),
        ({"at": {"exists": False}}, ["nearly-east"]),
        ({"at.floor": {"ne": 1}}, ["nearly-east", "north"]),
    ],
)
def test_only_what_meets_the_filter_is_compared(
    call: Client, where: dict[str, Any], found: list[str]
) -> None:
    compass(call)
    assert near(call, filter=where) == found


def test_nothing_below_the_least_score_is_a_match(call: Client) -> None:
    compass(call)
    assert near(call, min_score=0.999) == ["east"]
    assert near(call, min_score=0.9) == ["east", "nearly-east"]
    assert near(call, min_score=-1) == ["east", "nearly-east", "north"]
    for wrong in (1.1, -1.1, "0.5", None):
        answer = call("POST", f"{VECTORS}/search", {"values": EAST, "min_score": wrong})
        assert (answer.status, answer.json["errors"][0]["field"]) == (422, "min_score")


def test_namespaces_are_apart_each_with_its_own_dimension(call: Client) -> None:
    compass(call)
    made = put(call, {"id": "east", "values": [1.0, 0.0]}, namespace="flat").json
    assert made == {"namespace": "flat", "dimension": 2, "model": None, "count": 1}
    assert near(call, values=[0.0, 1.0], namespace="flat") == ["east"]
    assert counts(call) == {"default": 3, "flat": 1}
    assert near(call, namespace="never-used") == []


def test_texts_are_embedded_by_the_model_and_never_compared_with_other_vectors(
    call: Client, service: Service
) -> None:
    made = put(
        call,
        {"id": "tea", "text": "likes tea"},
        {"id": "run", "text": "ran far"},
        namespace="texts",
    ).json
    assert (made["model"], made["count"]) == (service.embedder.space.model, 2)
    (best,) = call(
        "POST", f"{VECTORS}/search", {"text": "likes tea", "top_k": 1, "namespace": "texts"}
    ).json["matches"]
    assert (best["id"], best["text"]) == ("tea", "likes tea")
    other = call(
        "POST", f"{VECTORS}/search", {"values": [1.0] * made["dimension"], "namespace": "texts"}
    )
    assert (other.status, other.json["code"]) == (422, "other_model")
    compass(call)
    refused = put(call, {"id": "tea", "text": "likes tea"})
    assert (refused.status, refused.json["code"]) == (422, "other_model")
    service.has_embedder = False
    assert put(call, {"id": "x", "text": "x"}, namespace="more").json["code"] == "no_vectors"
    assert counts(call) == {"default": 3, "texts": 2}


@pytest.mark.parametrize(
    ("vectors", "code", "field"),
    [
        ([{"id": "a", "values": [1.0, 2.0]}], "other_dimension", None),
        (
            [{"id": "a", "values": EAST}, {"id": "b", "values": [1.0]}],
            "other_dimension",
            "vectors.1.values",
        ),
        (
            [{"id": "a", "values": EAST}, {"id": "a", "values": NORTH}],
            "duplicate_id",
            "vectors.1.id",
        ),
        ([{"id": "a", "values": [0.0, 0.0, 0.0]}], "invalid_vector", "vectors.0.values"),
        ([{"id": "a", "values": [1e300, 0.0, 0.0]}], "invalid_vector", "vectors.0.values"),
        (
            [{"id": "a", "values": EAST}, {"id": "b", "text": "east"}],
            "other_model",
            "vectors.1.text",
        ),
        ([{"id": "a", "values": EAST, "text": "east"}], "invalid", "vectors.0"),
        ([{"id": "a"}], "invalid", "vectors.0"),
        ([], "invalid", "vectors"),
        ([{"id": "a", "values": [1.0] * 4097}], "invalid", "vectors.0.values"),
        ([{"id": str(number), "values": EAST} for number in range(101)], "invalid", "vectors"),
    ],
)
def test_what_can_not_be_stored_is_422_and_nothing_is(
    call: Client, vectors: list[Any], code: str, field: str | None
) -> None:
    compass(call)
    refused = put(call, *vectors)
    assert (refused.status, refused.json["code"]) == (422, code)
    assert field is None or refused.json["errors"][0]["field"] == field
    assert counts(call) == {"default": 3}


def test_an_id_or_a_namespace_that_is_none_is_400(call: Client) -> None:
    assert put(call, {"id": "a#b", "values": EAST}).status == 400
    assert put(call, {"id": "a", "values": EAST}, namespace="a#b").status == 400
    assert call("DELETE", VECTORS, query={"namespace": "a#b"}).json["code"] == "invalid_id"
    assert counts(call) == {}


def test_what_is_deleted_is_found_no_more_and_an_empty_namespace_takes_another_dimension(
    call: Client,
) -> None:
    compass(call)
    assert call("DELETE", VECTORS, query={"ids": "east,unknown"}).json == {"count": 1}
    assert near(call) == ["nearly-east", "north"]
    assert call("DELETE", VECTORS).json == {"count": 2}
    assert (near(call), counts(call)) == ([], {})
    assert call("DELETE", VECTORS).json == {"count": 0}
    assert put(call, {"id": "east", "values": [1.0, 0.0]}).json["dimension"] == 2


def test_a_namespace_and_a_user_have_their_limits(
    call: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.vectors.manage.MOST_VECTORS", 3)
    monkeypatch.setattr("palimpsest.vectors.manage.MOST_NAMESPACES", 1)
    compass(call)
    assert put(call, {"id": "fourth", "values": EAST}).json["code"] == "too_many_vectors"
    assert put(call, {"id": "east", "values": EAST}).status == 200
    assert (
        put(call, {"id": "a", "values": EAST}, namespace="second").json["code"]
        == "too_many_namespaces"
    )


def test_too_many_at_once_are_refused_before_the_first_is_stored(
    call: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.vectors.manage.MOST_VECTORS", 60)
    many = ({"id": f"v{number}", "values": [1.0, number]} for number in range(100))
    assert put(call, *many).json["code"] == "too_many_vectors"
    assert put(call, {"id": "blank", "text": " "}).status == 422
    assert counts(call) == {}


def test_a_hundred_at_once_take_several_transactions(call: Client) -> None:
    assert (
        put(call, *({"id": f"v{number}", "values": [1.0, number]} for number in range(100))).json[
            "count"
        ]
        == 100
    )
    assert near(call, values=[1.0, 0.0], top_k=2) == ["v0", "v1"]


def test_they_are_the_users_and_the_tenants_own(call: Client, service: Service) -> None:
    compass(call)
    assert near(call, "/v1/users/david/vectors") == near(service.client(tenant="other")) == []
    assert service.client(tenant="other")("DELETE", VECTORS).json == {"count": 0}
    assert counts(call) == {"default": 3}


def test_erasing_the_user_erases_them(call: Client, service: Service) -> None:
    compass(call)
    near(call)
    erased = call("DELETE", "/v1/users/sarah")
    assert (near(call), counts(call)) == ([], {})
    service.drain()
    assert service.embed(tuple(service.sent_again.changes)) == ()
    assert call("GET", f"/v1/jobs/{erased.json['job_id']}").json["state"] == "done"
    assert not any(
        era.vectors or era.namespaces
        for era in service.memories.known["acme", "sarah"].eras.values()
    )
    put(call, {"id": "again", "values": [1.0, 0.0]})
    assert near(call, values=[1.0, 0.0]) == ["again"]


def test_a_key_that_may_not_read_sees_nothing_of_them(call: Client, service: Service) -> None:
    compass(call)
    writer = service.client(scopes="write")
    made = put(writer, {"id": "secret", "values": EAST, "metadata": {"name": "hush"}})
    assert made.status == 200
    assert "hush" not in json.dumps(made.json)
    assert writer("POST", f"{VECTORS}/search", {"values": EAST}).status == 403
    assert writer("GET", f"{VECTORS}/stats").status == 403

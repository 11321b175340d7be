"""Feedback on recalls, and the reviews that it opens."""

from collections.abc import Sequence
from math import log
from typing import Any

import pytest
from palimpsest.memory.opinions import MOST_OPINIONS
from palimpsest.recall.weights import DEFAULT_WEIGHTS

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Answer, Client

CAFES = ["Sarah likes the cafe Luna.", "Sarah likes the cafe Sole.", "Sarah likes the cafe Mare."]


def recalled(call: Client, query: str = "Which cafe?", **more: Any) -> dict[str, Any]:
    answer = call("POST", "/v1/users/sarah/recall", {"query": query, **more})
    assert answer.status == 200
    return dict(answer.json)


def rate(call: Client, recall: str, user: str = "sarah", **opinions: Any) -> Answer:
    return call("POST", f"/v1/users/{user}/recalls/{recall}/feedback", opinions)


def reviews(call: Client, user: str | None = "sarah") -> Sequence[Any]:
    answer = call("GET", "/v1/reviews" if user is None else f"/v1/users/{user}/reviews")
    assert (answer.status, answer.json["next_cursor"]) == (200, None)
    return list(answer.json["reviews"])


def order(found: dict[str, Any]) -> list[str]:
    return [memory["id"] for memory in found["memories"]]


@pytest.fixture
def cafes(call: Client) -> list[str]:
    saved = call.save(*({"type": "fact", "content": cafe} for cafe in CAFES))
    return [memory["id"] for memory in saved.json["memories"]]


def test_what_was_useful_ranks_higher_and_what_was_wrong_lower(
    call: Client, cafes: list[str]
) -> None:
    before = recalled(call)
    *_, last = order(before)
    first = order(before)[0]
    taken = rate(call, before["recall_id"], useful=[last], wrong=[first])
    assert (taken.status, sorted(taken.json["counted"])) == (200, sorted([first, last]))
    after = order(recalled(call))
    assert (after[0], after[-1]) == (last, first)


def test_no_number_of_wrongs_hides_a_memory(call: Client, cafes: list[str]) -> None:
    before = {memory["id"]: memory["score"] for memory in recalled(call)["memories"]}
    for number in range(3 * MOST_OPINIONS):
        assert rate(call, f"rec_{number}", wrong=[cafes[0]]).status == 200
    after = {memory["id"]: memory["score"] for memory in recalled(call)["memories"]}
    assert after.keys() == before.keys()
    fell = log_odds(before[cafes[0]]) - log_odds(after[cafes[0]])
    assert 0 < fell < DEFAULT_WEIGHTS.feedback


def log_odds(score: float) -> float:
    return log(score / (1 - score))


def test_the_influence_is_bounded_and_explained(call: Client, cafes: list[str]) -> None:
    for number in range(3 * MOST_OPINIONS):
        rate(call, f"rec_{number}", useful=[cafes[0]])
    places = recalled(call, explain=True)["trace"]["ranking"]
    terms = [place["terms"]["feedback"] for place in places if "feedback" in place["terms"]]
    assert len(terms) == 1
    assert 0.5 < terms[0] < DEFAULT_WEIGHTS.feedback


def test_an_opinion_on_the_same_recall_counts_once_and_the_last_one_counts(
    call: Client, cafes: list[str]
) -> None:
    for _ in range(3):
        rate(call, "rec_1", wrong=[cafes[0]])
    (usage,) = call("GET", "/v1/usage").json["usage"]
    assert (usage["feedback_useful"], usage["feedback_wrong"]) == (0, 1)
    rate(call, "rec_1", useful=[cafes[0]], missing="A cafe in Kiel.")
    (usage,) = call("GET", "/v1/usage").json["usage"]
    assert [usage[f"feedback_{each}"] for each in ("useful", "wrong", "missing")] == [1, 1, 1]
    assert order(recalled(call))[0] == cafes[0]


def test_the_same_question_with_the_same_result_is_the_same_recall(
    call: Client, cafes: list[str]
) -> None:
    first = recalled(call)
    assert recalled(call)["recall_id"] == first["recall_id"]
    assert recalled(call, "cafe")["recall_id"] != first["recall_id"]
    assert recalled(call, k=1)["recall_id"] != first["recall_id"]


def test_wrong_and_missing_open_reviews_which_are_closed(call: Client, cafes: list[str]) -> None:
    given = rate(call, "rec_1", wrong=[cafes[0]], missing="My password is hunter22-Kiel!").json
    rate(call, "rec_1", wrong=[cafes[0]])
    rate(call, "rec_2", user="tom", missing="Where I live.")
    shown = {review["kind"]: review for review in reviews(call)}
    assert set(given["reviews"]) == {each["id"] for each in shown.values()}
    assert shown["wrong"]["memory"]["content"] == CAFES[0]
    assert (shown["wrong"]["recall_id"], shown["wrong"]["missing"]) == ("rec_1", None)
    assert "hunter22" not in shown["missing"]["missing"]
    assert [review["user_id"] for review in reviews(call, None)] == ["sarah", "sarah", "tom"]
    for each in shown.values():
        path = f"/v1/users/sarah/reviews/{each['id']}"
        assert call("DELETE", path).json == {"id": each["id"], "deleted": True}
        assert call("DELETE", path).json["code"] == "review_not_found"
    assert reviews(call) == []


def test_reviews_go_with_their_memory_and_with_their_user(
    call: Client, cafes: list[str], service: Service
) -> None:
    rate(call, "rec_1", wrong=[cafes[0]])
    assert call("DELETE", f"/v1/users/sarah/memories/{cafes[0]}").status == 200
    assert reviews(call) == []
    rate(call, "rec_1", wrong=[cafes[1]], missing="A cafe in Kiel.")
    assert call("DELETE", "/v1/users/sarah").status == 202
    assert reviews(call) == reviews(call, None) == []


def test_pages_of_reviews_follow_each_other(call: Client, cafes: list[str]) -> None:
    rate(call, "rec_1", wrong=cafes)
    found, cursor = [], None
    for _ in range(3):
        query = {"limit": "1"} | ({"cursor": cursor} if cursor else {})
        page = call("GET", "/v1/reviews", query=query).json
        found += [review["memory"]["id"] for review in page["reviews"]]
        cursor = page["next_cursor"]
    assert (sorted(found), cursor) == (sorted(cafes), None)


def test_only_memories_of_the_user_are_rated(call: Client, cafes: list[str]) -> None:
    answer = rate(call, "rec_1", user="tom", useful=[cafes[0]], wrong=["mem_unknown"]).json
    assert (answer["counted"], answer["reviews"]) == ([], [])
    assert sorted(answer["ignored"]) == sorted([cafes[0], "mem_unknown"])
    assert reviews(call, None) == []


def test_a_new_version_of_a_memory_begins_without_opinions(call: Client, cafes: list[str]) -> None:
    rate(call, "rec_1", wrong=[cafes[0]])
    call("PATCH", f"/v1/users/sarah/memories/{cafes[0]}", {"content": "Sarah likes the cafe Bo."})
    places = recalled(call, "cafe Bo", explain=True)["trace"]["ranking"]
    assert not any("feedback" in place["terms"] for place in places)


@pytest.mark.parametrize(
    "body", [{"useful": "x"}, {"wrong": ["a b"]}, {"missing": " "}, {"missing": "x" * 2001}]
)
def test_bad_feedback_is_refused(call: Client, body: dict[str, Any]) -> None:
    assert rate(call, "rec_1", **body).status in (400, 422)


def test_a_model_gives_feedback_with_a_tool(call: Client, cafes: list[str]) -> None:
    def used(name: str, **arguments: Any) -> dict[str, Any]:
        params = {"name": name, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return dict(call("POST", "/v1/users/sarah/mcp", body).json["result"])

    found = used("recall", query="Which cafe?")
    name = found["structuredContent"]["recall_id"]
    assert f"(recall {name})" in found["content"][0]["text"]
    given = used("feedback", recall_id=name, wrong=[cafes[0]])
    assert given["structuredContent"]["counted"] == [cafes[0]]
    assert len(reviews(call)) == 1

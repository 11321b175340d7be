"""A window pruned by meaning keeps what matters most to the topic and the recent turns, in order,
and says why.
"""

from __future__ import annotations

from typing import Any

import pytest
from palimpsest.clock import FakeClock
from palimpsest.recall.search import MOST_COMPARED, nearness
from palimpsest.search.ports import Gone

from tests.service import SARAH
from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client
from tests.unit.conversations.validity import problems

PATH = "/v1/sessions/s"
START = FakeClock().now()
TOPICS = (
    "The harbour of Genoa is old",
    "My dentist is Dr Molar",
    "Cats sleep all day",
    "I like green tea",
)


@pytest.fixture
def talk(call: Client) -> Client:
    memory = {
        "strategy": "delete",
        "count": 1,
        "max_tokens": 2_000,
        "extract": "manual",
        "blocks": [],
    }
    call("POST", "/v1/sessions", {"session_id": "s", "user_id": "sarah", "memory": memory})
    for number in range(12):
        said = [
            {"role": "user", "content": f"{TOPICS[number % 4]}, {number} " + "so" * 60},
            {"role": "assistant", "content": f"Noted {number}. " + "ok" * 60},
        ]
        assert call("POST", f"{PATH}/messages", {"messages": said}).status == 201
    return call


def prune(call: Client, message: str | None = "When does my dentist open?", **more: Any) -> Any:
    asked = {"strategy": "semantic", "max_tokens": 500, "message": message, **more}
    return call(
        "POST", f"{PATH}/prune", {name: value for name, value in asked.items() if value is not None}
    )


def texts(call: Client, **query: object) -> list[str]:
    return [
        str(message["content"])[:10]
        for message in call("GET", f"{PATH}/context", query=query).json["messages"]
    ]


@pytest.mark.parametrize("has_vectors", [True, False])
def test_what_matters_to_the_topic_stays_with_the_recent_turns_in_order(
    talk: Client, service: Service, *, has_vectors: bool
) -> None:
    service.brought_up_to_date()
    service.has_embedder = has_vectors
    answer = prune(talk).json
    assert (answer["state"], answer["why_not"], answer["job_id"]) == ("done", None, None)
    *picked, recent = answer["kept"]
    assert (recent["why"], recent["to"], recent["score"]) == ("recent", 24, None)
    by_place = {each["from"]: each for each in picked}
    assert {3, 11} <= by_place.keys(), "the turns about the dentist"
    assert {by_place[3]["why"], by_place[11]["why"]} == {"relevant"}
    others = [each["score"] for each in picked if each["from"] not in (3, 11)]
    assert all(0 < score <= 1 for score in others)
    if not has_vectors:
        assert max(others, default=0) < min(by_place[3]["score"], by_place[11]["score"])
    shown = answer["context"]["messages"]
    assert answer["context"]["tokens"]["context"] <= 2_000
    assert answer["window"]["tokens"] <= 500
    assert problems(shown) == []
    seqs = [ref["seq"] for ref in answer["context"]["refs"] if ref]
    kept = [seq for each in answer["kept"] for seq in range(each["from"], each["to"] + 1)]
    assert seqs == kept == sorted(kept)
    assert answer["context"]["omitted"]["from"] == 1
    assert ("vector" in answer["degraded"]) is not has_vectors


def test_the_newest_message_is_the_topic_and_what_fits_already_stays(talk: Client) -> None:
    talk.append("s", "Where is the harbour?")
    picked = prune(talk, None).json["kept"][:-1]
    assert {each["from"] % 8 for each in picked} == {1}
    assert prune(talk, None).json["why_not"] == "fits_already"
    assert prune(talk, None, max_tokens=60).json["why_not"] is None
    assert prune(talk, None, max_tokens=5).json["why_not"] == "only_recent_turns"


def test_a_context_weighs_what_was_kept_and_explains_it(talk: Client) -> None:
    prune(talk)
    context = talk("GET", f"{PATH}/context", query={"explain": "true"}).json
    window = talk("GET", PATH).json["window"]
    assert context["tokens"]["context"] == window["tokens"]
    assert [part["part"] for part in context["trace"]["parts"]][:2] == ["pinned", "recent_turns"]
    compactions = talk("GET", f"{PATH}/compactions").json["compactions"]
    assert [compaction["method"] for compaction in compactions] == ["semantic"]
    assert compactions[0]["tokens_after"] == window["tokens"]
    assert texts(talk, at=23)[0] == "The harbou" != texts(talk)[0]


def test_the_next_overflow_takes_what_was_kept_along(talk: Client, service: Service) -> None:
    prune(talk)
    assert service.head().pins
    talk("PATCH", PATH, {"memory": {"strategy": "summarize", "keep_recent_turns": 1}})
    talk("POST", f"{PATH}/prune", {"strategy": "summarize"})
    service.drain()
    read = {seq for seqs in service.summarizer.read for seq in seqs}
    assert {3, 19} & read
    head = service.head()
    assert head.pins == ()
    context = talk("GET", f"{PATH}/context").json
    assert context["tokens"]["context"] == head.tokens
    assert context["omitted"] is None


def test_a_withdrawal_and_a_redaction_know_what_was_kept(talk: Client, service: Service) -> None:
    prune(talk)
    pinned = service.head().pins[0][0]
    assert talk("PATCH", f"{PATH}/messages/{pinned}", {"content": "[redacted]"}).status == 202
    context = talk("GET", f"{PATH}/context").json
    assert context["messages"][0]["content"] == "[redacted]"
    assert context["tokens"]["context"] == talk("GET", PATH).json["window"]["tokens"]
    talk("DELETE", f"{PATH}/messages", query={"from": pinned + 1})
    service.drain()
    left = talk("GET", f"{PATH}/context").json
    assert all(ref["seq"] <= pinned for ref in left["refs"] if ref)
    assert left["tokens"]["context"] == talk("GET", PATH).json["window"]["tokens"]
    assert prune(service.client(tenant="other")).status == 404


def waits(service: Service) -> float:
    return (service.time.now() - START).total_seconds()


def test_a_pruning_beside_an_ingest_waits_for_the_vectors_that_are_on_their_way(
    talk: Client, service: Service
) -> None:
    service.waiting.work = service.brought_up_to_date
    answer = prune(talk, "When do cats rest?").json
    assert answer["degraded"] == []
    assert {each["from"] for each in answer["kept"][:-1]} & {5, 13}, "the turns about cats"
    assert 0 < waits(service) <= 3


def test_where_vectors_do_not_come_in_time_the_answer_says_so(
    talk: Client, service: Service
) -> None:
    answer = prune(talk).json
    assert (answer["state"], answer["degraded"]) == ("done", ["vector"])
    assert 3 <= waits(service) <= 4
    assert answer["kept"]


def test_one_message_without_a_vector_is_enough_to_say_so(talk: Client, service: Service) -> None:
    service.brought_up_to_date()
    service.index.write(SARAH, [Gone("s/3", version=10**18)])
    assert prune(talk).json["degraded"] == ["vector"]


def test_nobody_waits_for_a_message_that_was_stored_long_ago(
    talk: Client, service: Service
) -> None:
    service.time.sleep(120)
    service.waiting.work = service.brought_up_to_date
    assert prune(talk).json["degraded"] == ["vector"]
    assert waits(service) == 120


def test_turns_that_stay_anyway_need_no_vectors(talk: Client, service: Service) -> None:
    service.brought_up_to_date()
    talk.append("s", "When does my dentist open?")
    assert prune(talk, None).json["degraded"] == []
    assert waits(service) == 0


def test_each_message_of_a_long_session_is_compared(talk: Client, service: Service) -> None:
    for number in range(22):
        service.time.sleep(1)
        said = [
            {"role": "user", "content": f"{TOPICS[each % 4]}, {number} {each}"}
            for each in range(48)
        ]
        assert talk("POST", f"{PATH}/messages", {"messages": said}).status == 201
    service.brought_up_to_date()
    messages = list(service.sessions.messages(service.session(), first=1, last=service.head().seq))
    assert len(messages) > MOST_COMPARED
    near = nearness(lambda: service.memories_app.search)
    compare = near(SARAH, service.session(), "When do cats rest?", stored=len(messages))
    assert compare is not None
    similar = compare(messages)
    assert similar is not None
    assert [*similar] == [message.seq for message in messages]

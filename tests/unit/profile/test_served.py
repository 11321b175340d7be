"""The profile through the front door: fresh, bounded, conditional, as JSON and as text."""

from __future__ import annotations

from typing import Any, cast

import pytest
from palimpsest.errors import Unavailable
from palimpsest.memory.as_line import NO_LONGER_SURE
from palimpsest.memory.ports import Memories
from palimpsest.profile.profile import HEAD
from palimpsest.profile.read import ReadProfile
from palimpsest.scope import UserScope

from tests.service import SARAH
from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Answer, Client
from tests.unit.profile.records import COUNTER

PROFILE = "/v1/users/sarah/profile"


@pytest.fixture
def service() -> Service:
    made = Service()
    made.memories_app.__dict__["profile"] = ReadProfile(made.memories, COUNTER, made.clock)
    return made


@pytest.fixture
def call(service: Service) -> Client:
    return service.client()


def fact(content: str, topic: str | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "fact", "content": content, "topic_key": topic} | more


def shown(answer: Answer) -> dict[str, list[str]]:
    assert answer.status == 200, answer.text
    found: dict[str, list[str]] = {}
    for section in answer.json["sections"]:
        found[section["kind"]] = [line["text"] for line in section["lines"]]
    return found


def test_a_profile_says_what_is_current_with_the_ids_of_the_memories(call: Client) -> None:
    saved = call.save(fact("I live in Hamburg.", "residence"), fact("I have a cat."))
    ids = [memory["id"] for memory in saved.json["memories"]]
    answer = call("GET", PROFILE).json
    assert answer["sections"] == [
        {
            "kind": kind,
            "lines": [
                {
                    "memory_id": memory_id,
                    "text": text,
                    "topic_key": topic,
                    "subject": None,
                    "due_at": None,
                    "rests_on_changed": False,
                }
            ],
        }
        for kind, memory_id, text, topic in (
            ("who", ids[0], "I live in Hamburg.", "residence"),
            ("more", ids[1], "I have a cat.", None),
        )
    ]
    assert answer["tokens"] == COUNTER.count(answer["text"], "o200k_base") <= 400
    assert (answer["user_id"], answer["complete"]) == ("sarah", True)


def test_an_unknown_user_has_an_empty_profile(call: Client) -> None:
    answer = call("GET", "/v1/users/nobody/profile")
    assert answer.status == 200
    assert answer.json == {
        "user_id": "nobody", "sections": [], "text": "", "tokens": 0, "complete": True
    }  # fmt: skip


@pytest.mark.parametrize(
    ("query", "accept", "is_text"),
    [
        ({}, "*/*", False),
        ({}, "application/json", False),
        ({}, "text/plain", True),
        ({}, "Text/Plain; charset=utf-8, */*;q=0.1", True),
        ({}, "text/plain, */*", True),
        ({}, "application/json, text/plain", False),
        ({}, "application/json;q=0.5, text/plain;q=0.9", True),
        ({}, "text/html,application/xhtml+xml,*/*;q=0.8", False),
        ({}, "text/plain;q=none", True),
        ({}, "text/plain;q=0", False),
        ({"format": "text"}, "application/json", True),
        ({"format": "json"}, "text/plain", False),
    ],
)
def test_the_caller_chooses_json_or_text(
    call: Client,
    query: dict[str, str],
    accept: str,
    is_text: bool,  # noqa: FBT001
) -> None:
    call.save(fact("I live in Hamburg.", "residence"))
    answer = call("GET", PROFILE, query=query, headers={"Accept": accept})
    assert answer.headers["Content-Type"].startswith("text/plain") is is_text
    assert answer.text.startswith(HEAD) is is_text
    if not is_text:
        assert answer.json["text"].startswith(HEAD)


def test_without_ids_more_lines_fit(call: Client) -> None:
    call.save(*(fact(f"I have {number} boxes at home.", f"box_{number}") for number in range(30)))
    with_ids, without = (call("GET", PROFILE, query={"ids": ids}).json for ids in ("true", "false"))
    assert (with_ids["complete"], without["complete"]) == (False, True)
    assert "mem_" not in without["text"]
    assert len(shown(call("GET", PROFILE, query={"ids": "false"}))["more"]) == 30
    tags = {call("GET", PROFILE, query={"ids": ids}).headers["ETag"] for ids in ("true", "false")}
    assert len(tags) == 2


def test_an_unknown_format_is_refused(call: Client) -> None:
    assert call("GET", PROFILE, query={"format": "html"}).status == 422


def test_who_has_the_current_profile_gets_no_other(call: Client) -> None:
    call.save(fact("I live in Hamburg.", "residence"))
    tag = call("GET", PROFILE).headers["ETag"]
    for given in (tag, f'"other", W/{tag}', "*"):
        again = call("GET", PROFILE, headers={"If-None-Match": given})
        assert (again.status, again.text, again.headers["ETag"]) == (304, "", tag)
    call.save(fact("I live in Bremen.", "residence"))
    changed = call("GET", PROFILE, headers={"If-None-Match": tag})
    assert shown(changed) == {"who": ["I live in Bremen."]}
    assert changed.headers["ETag"] != tag
    assert changed.headers["Cache-Control"] == "private, no-cache"


def test_each_form_and_each_user_has_a_tag_of_its_own(call: Client) -> None:
    answers = [
        call("GET", PROFILE),
        call("GET", PROFILE, query={"format": "text"}),
        call("GET", "/v1/users/david/profile"),
    ]
    assert len({answer.headers["ETag"] for answer in answers}) == 3


def test_a_key_that_may_not_read_gets_no_profile(service: Service) -> None:
    assert service.client(scopes="write")("GET", PROFILE).status == 403
    assert service.client(scopes="read")("GET", PROFILE).status == 200


def test_no_profile_shows_another_user_or_tenant(service: Service, call: Client) -> None:
    call.save(fact("I live in Hamburg.", "residence"))
    assert shown(call("GET", "/v1/users/david/profile")) == {}
    assert shown(service.client(tenant="other")("GET", PROFILE)) == {}


def test_what_is_deleted_superseded_expired_or_erased_is_gone_at_once(
    service: Service, call: Client
) -> None:
    call("PUT", "/v1/users/sarah/preferences/theme", {"value": "dark"})
    saved = call.save(
        fact("I live in Hamburg.", "residence"),
        fact("I have a cat.", expires_at="2026-01-01T01:00:00Z"),
        fact("I have a dog."),
    )
    assert list(shown(call("GET", PROFILE))) == ["who", "more", "preferences"]
    call("DELETE", f"/v1/users/sarah/memories/{saved.json['memories'][0]['id']}")
    assert shown(call("GET", PROFILE))["more"] == ["I have a cat.", "I have a dog."]
    assert "who" not in shown(call("GET", PROFILE))
    service.time.advance(3_600)
    assert shown(call("GET", PROFILE))["more"] == ["I have a dog."]
    call("DELETE", "/v1/users/sarah/preferences/theme")
    assert shown(call("GET", PROFILE)) == {"more": ["I have a dog."]}
    call("DELETE", "/v1/users/sarah")
    assert shown(call("GET", PROFILE)) == {}


def test_words_off_the_record_and_secrets_are_in_no_profile(service: Service, call: Client) -> None:
    from palimpsest.offline.extractor import PatternExtractor

    service.extractor = PatternExtractor()
    service.wire_workers()
    call.append("s", "I live in Hamburg.", "Off the record: I work at Initech.")
    call.append("s", "My password is hunter2hunter2.", "Translate this: 'I work at Hooli.'")
    call("POST", "/v1/sessions/s/end")
    service.drain()
    assert shown(call("GET", PROFILE)) == {"who": ["I live in Hamburg."]}


class Counting:
    """A store of memories that counts what is read of it."""

    def __init__(self, store: Memories) -> None:
        self._store = store
        self.calls = self.items = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)

        def read(*args: Any, **more: Any) -> Any:
            answer = found(*args, **more)
            self.calls += 1
            if name == "user":
                self.items += 1
            elif name == "listed":
                self.items += len(answer.records)
            else:
                self.items += len(answer[0] if name == "topics_after" else answer)
            return answer

        return read


def reading(service: Service) -> tuple[int, int]:
    """How many calls and items a first profile reads. The one after the next reads one."""
    store = Counting(service.memories)
    read = ReadProfile(cast("Memories", store), COUNTER, service.clock)
    first = read(SARAH)
    seen = store.calls, store.items
    read(SARAH)  # the list that was read first may have lagged
    store.calls = store.items = 0
    assert read(SARAH) == first
    assert (store.calls, store.items) == (1, 1)
    return seen


def test_a_profile_of_a_user_with_very_many_memories_reads_a_bounded_part_of_them(
    service: Service, call: Client
) -> None:
    call.save(fact("My name is Sarah.", "name"), fact("I'm allergic to nuts.", "allergy_nuts"))
    for start in range(0, 3_000, 30):
        numbers = range(start, start + 30)
        call.save(*(fact(f"The box {number} is blue.", f"box_{number:04d}") for number in numbers))
        call.save(*(fact(f"I have box {number}.") for number in numbers))
    calls, items = reading(service)
    assert 5 < calls <= 20
    assert 1_000 < items <= 2_500
    lines = shown(call("GET", PROFILE))
    assert lines["who"] == ["My name is Sarah."]
    assert lines["health"] == ["I'm allergic to nuts."]


def test_a_known_topic_is_found_behind_more_topics_than_are_looked_at(
    service: Service, call: Client
) -> None:
    call.save(fact("I live in Hamburg.", "residence"))
    for start in range(0, 1_200, 30):
        numbers = range(start, start + 30)
        call.save(*(fact(f"The box {number} is blue.", f"box_{number:04d}") for number in numbers))
    assert shown(call("GET", PROFILE))["who"] == ["I live in Hamburg."]


def test_a_large_graph_hides_no_topic(service: Service, call: Client) -> None:
    graph = "/v1/users/sarah/graph"
    for start in range(0, 600, 30):
        entities = [
            {"id": f"e{number}", "type": "Box", "name": f"Box {number}"}
            for number in range(start, start + 30)
        ]
        assert call("POST", f"{graph}/entities", {"entities": entities}).status == 201
    call.save(fact("I have a yacht.", "yacht"))
    assert shown(call("GET", PROFILE)) == {"more": ["I have a yacht."]}


def test_a_store_that_is_down_is_said(service: Service, call: Client) -> None:
    class Down:
        def user(self, scope: UserScope) -> None:
            raise Unavailable("The store does not answer.")

    store: Any = Down()
    service.memories_app.__dict__["profile"] = ReadProfile(store, COUNTER, service.clock)
    assert call("GET", PROFILE).status == 503


def test_what_rests_on_something_that_has_changed_comes_last_with_a_note(
    service: Service, call: Client
) -> None:
    saved = call.save(fact("I live in Hamburg.", "residence"))
    ground = saved.json["memories"][0]["id"]
    commute = "My commute takes 20 minutes."
    call.save(fact(commute, "commute", rests_on=[ground]), fact("My car is red.", "vehicle"))
    before = call("GET", PROFILE)
    assert NO_LONGER_SURE not in before.json["text"]
    call.save(fact("I live in Bremen.", "residence"))
    service.time.advance(10)
    after = call("GET", PROFILE)
    lines = {line["text"]: line for section in after.json["sections"] for line in section["lines"]}
    assert lines[commute]["rests_on_changed"]
    assert f"- {commute} ({NO_LONGER_SURE})" in after.json["text"]
    assert not lines["My car is red."]["rests_on_changed"]
    assert after.headers["ETag"] != before.headers["ETag"]


def test_what_lasts_until_a_day_is_left_out_after_it(service: Service, call: Client) -> None:
    call.save(fact("I'm on vacation until Sunday."))
    assert "vacation" in call("GET", PROFILE).json["text"]
    service.time.advance(8 * 86_400)
    assert "vacation" not in call("GET", PROFILE).json["text"]

"""An import believes no count, weight or time of a file: it counts anew, and refuses what
contradicts itself.
"""

import random
from collections.abc import Callable
from typing import Any

import pytest
from palimpsest.scope import Scope

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client
from tests.unit.transfer.files import Row, changed, exported, imported, of_kind, rows_of, sent

LONG = "It was the best of times. " * 40
YEAR = 365 * 24 * 3600


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def call(service: Service) -> Client:
    return service.client()


@pytest.fixture
def other(service: Service) -> Client:
    return service.client(tenant="other")


def folded(service: Service, call: Client) -> str:
    """The export of a session with summaries before its window, and two messages behind them."""
    config = {"max_tokens": 400, "keep_recent_turns": 1, "extract": "manual"}
    call("POST", "/v1/sessions", {"session_id": "s", "user_id": "sarah", "memory": config})
    for number in range(4):
        turn = [
            {"role": "user", "content": f"{number} {LONG[:600]}"},
            {"role": "assistant", "content": "I see."},
        ]
        assert call("POST", "/v1/sessions/s/messages", {"messages": turn}).status == 201
        service.drain()
    call.save("Likes tea.", {"type": "fact", "content": "Lives in Rome.", "topic_key": "city"})
    call(
        "POST",
        "/v1/users/sarah/vectors",
        {"vectors": [{"id": "v", "values": [1, 2]}, {"id": "w", "values": [1, 2]}]},
    )
    return exported(service, call)


def test_tokens_of_a_file_are_counted_anew_and_the_context_keeps_its_budget(
    service: Service, call: Client, other: Client
) -> None:
    call(
        "POST",
        "/v1/sessions",
        {"session_id": "s", "user_id": "sarah", "memory": {"max_tokens": 600}},
    )
    for number in range(3):
        call.append("s", f"{number} {LONG}")
    before = exported(service, call)

    def lie(rows: list[Row]) -> None:
        for row in of_kind(rows, "message"):
            row["tokens"] = 1
        (session,) = of_kind(rows, "session")
        session["head"] |= {
            "window_tokens": 3,
            "total_tokens": 3,
            "trigger": 0,
            "max_tokens": 10**6,
        }

    assert imported(service, other, changed(before, lie))["restored"] == 1
    context = other("GET", "/v1/sessions/s/context").json["tokens"]
    assert 0 < context["context"] <= context["budget"] == 600
    assert (
        other("GET", "/v1/sessions/s").json["window"]
        == call("GET", "/v1/sessions/s").json["window"]
    )
    assert exported(service, other) == before


def test_weights_of_summaries_and_system_messages_are_counted_anew_too(
    service: Service, call: Client, other: Client
) -> None:
    before = folded(service, call)
    call("PATCH", "/v1/sessions/s", {"system": {"role": "system", "content": "You know HR."}})
    before = exported(service, call)

    def lie(rows: list[Row]) -> None:
        (session,) = of_kind(rows, "session")
        session["head"] |= {"summary_tokens": 0, "system_tokens": 1, "raised": 10**9}
        for row in of_kind(rows, "compaction"):
            row["summary_tokens"] = 7

    imported(service, other, changed(before, lie))
    assert (
        other("GET", "/v1/sessions/s").json["window"]
        == call("GET", "/v1/sessions/s").json["window"]
    )
    head = service.sessions.open(Scope("other").session("s")).head
    assert head is not None
    assert head.raised < head.max_tokens
    assert other("GET", "/v1/sessions/s/context").json == call("GET", "/v1/sessions/s/context").json


def head(**fields: Any) -> Callable[[list[Row]], object]:
    return lambda rows: [row["head"].update(fields) for row in of_kind(rows, "session")]


def settings(**fields: Any) -> Callable[[list[Row]], object]:
    return lambda rows: [row["settings"].update(fields) for row in of_kind(rows, "session")]


def each(kind: str, **fields: Any) -> Callable[[list[Row]], object]:
    return lambda rows: [row.update(fields) for row in of_kind(rows, kind)]


def one(kind: str, number: int, **fields: Any) -> Callable[[list[Row]], object]:
    """Change one of the rows of a kind."""
    return lambda rows: list(of_kind(rows, kind))[number].update(fields)


def without(kind: str, number: int) -> Callable[[list[Row]], object]:
    return lambda rows: rows.remove(list(of_kind(rows, kind))[number])


def swapped(rows: list[Row]) -> None:
    """Two messages have each other's text."""
    first, second = list(of_kind(rows, "message"))[:2]
    first["chat"], second["chat"] = second["chat"], first["chat"]


def renumbered(rows: list[Row]) -> None:
    """The last message has moved on by one, and the head says so."""
    list(of_kind(rows, "message"))[-1]["seq"] += 1
    next(of_kind(rows, "session"))["head"]["seq"] += 1


def again(kind: str) -> Callable[[list[Row]], object]:
    """A row stands in the file twice."""

    def double(rows: list[Row]) -> None:
        (found, *_) = of_kind(rows, kind)
        rows.insert(rows.index(found), dict(found))

    return double


FUTURE = 1_767_225_600 + YEAR


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (head(retention=0), "session"),
        (settings(retention=-1), "session"),
        (settings(retention=7), "session"),
        (head(status="deleted"), "session"),
        (head(agent="somebody"), "session"),
        (head(seq=10**14), "session"),
        (head(window_start=9), "session"),
        (head(window_start=1, cleared=3), "session"),
        (head(window_messages=7), "session"),
        (head(total_messages=4_000), "session"),
        (head(turn=99), "session"),
        (head(last_user_seq=2), "session"),
        (head(last_id="0" * 32), "session"),
        (head(summary=1), "session"),
        (head(summary=8), "session"),
        (head(open_calls="00112233"), "session"),
        (head(pins=[[99, 5]]), "session"),
        (head(armed_seq=10**6), "session"),
        (head(updated_at=1000 * FUTURE), "session"),
        (head(updated_at=0), "session"),
        (settings(created_at="2027-01-01T00:00:00.000Z"), "session"),
        (settings(created_at="2026-01-01T01:00:00+01:00"), "session"),
        (settings(system={"role": "user", "content": "x"}), "session"),
        (settings(metadata={"x": "y" * 30_000}), "session"),
        (each("compaction", previous=7), "compaction"),
        (each("compaction", first=0), "compaction"),
        (each("compaction", created_at="2027-01-01T00:00:00.000Z"), "compaction"),
        (again("compaction"), "compaction"),
        (without("compaction", -1), "session"),
        (without("message", 0), "message"),
        (without("message", 2), "message"),
        (without("message", -1), "session"),
        (swapped, "message"),
        (renumbered, "session"),
        (one("message", 3, id="0" * 32), "message"),
        (one("message", 3, turn=1), "message"),
        (one("message", 3, tokens=10**9), "message"),
        (one("message", 3, created_at="2027-01-01T00:00:00.000Z"), "message"),
        (one("message", 3, client_id="x" * 1_000), "message"),
        (one("message", 3, redacted_at="yesterday"), "message"),
        (each("record", valid_from=1000 * FUTURE), "record"),
        (each("record", created_at=1000 * FUTURE), "record"),
        (each("record", confirmed_at=FUTURE), "record"),
        (each("record", expires_at=1), "record"),
        (each("record", metadata={str(number): number for number in range(65)}), "record"),
        (each("record", embedding="AAAA"), "record"),
        (each("record", agent="a/b"), "record"),
        (
            each(
                "record",
                topic_key="city",
                topic={"record": None, "order": [1000 * FUTURE, "", 0, 0, ""]},
            ),
            "record",
        ),
        (
            each("record", topic_key="city", topic={"record": None, "order": [0, "", 0, 0, ""]}),
            "record",
        ),
        (again("vector"), "vector"),
        (each("vector", values=[0, 0]), "vector"),
        (each("vector", values=[1e39, 0]), "vector"),
    ],
)
def test_what_contradicts_itself_is_refused_by_its_line_before_anything_is_stored(
    service: Service, call: Client, other: Client, change: Callable[[list[Row]], object], kind: str
) -> None:
    before = folded(service, call)
    false = changed(before, change)
    assert rows_of(false) != rows_of(before)
    answer = sent(other, false)
    assert (answer.status, answer.json["code"]) == (422, "invalid_import"), answer.text
    number = int(answer.json["errors"][0]["field"].removeprefix("line "))
    assert rows_of(false)[number - 1]["kind"] == kind, answer.text
    assert other("GET", "/v1/users").json["users"] == []
    assert not list(service.blobs.keys("imports/"))


def lacks(kind: str, field: str) -> Callable[[list[Row]], object]:
    return lambda rows: [row.pop(field) for row in of_kind(rows, kind)]


def poem(rows: list[Row]) -> None:
    next(of_kind(rows, "vector"))["kind"] = "poem"


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        (each("record", colour="red"), "colour is not known"),
        (each("record", held={}), "held is not known"),
        (poem, "it is of no known kind"),
        (lacks("message", "session_id"), "session_id is missing"),
        (lacks("session", "head"), "head is missing"),
        (each("message", chat={"role": "user", "content": 5}), "chat: content.str: Input should"),
        (each("export", version=9), "version: Input should be 1"),
    ],
)
def test_a_refused_line_says_which_field_is_wrong(
    service: Service,
    call: Client,
    other: Client,
    change: Callable[[list[Row]], object],
    detail: str,
) -> None:
    answer = sent(other, changed(folded(service, call), change))
    assert answer.json["code"] == "invalid_import"
    assert f"of the import can't be taken: {detail}" in answer.json["detail"]


def test_a_session_is_kept_as_long_as_its_new_tenant_keeps_sessions(
    service: Service, call: Client, other: Client
) -> None:
    call.append("s", "Hello")
    other("PUT", "/v1/settings", {"retention_days": 3})
    assert (
        imported(service, other, changed(exported(service, call), head(retention=10 * YEAR)))[
            "restored"
        ]
        == 1
    )
    assert other("GET", "/v1/sessions/s").json["retention_days"] == 3
    call("PATCH", "/v1/sessions/s", {"retention_days": 90})
    again = service.client(tenant="third")
    assert imported(service, again, exported(service, call))["restored"] == 1
    assert again("GET", "/v1/sessions/s").json["retention_days"] == 90


def test_a_memory_whose_time_is_over_is_counted_as_expired_and_not_as_restored(
    service: Service, call: Client, other: Client
) -> None:
    call.save(
        "Likes tea.",
        {"type": "fact", "content": "Likes ice.", "expires_at": "2026-02-01T00:00:00Z"},
    )
    before = exported(service, call)
    service.waiting.advance(40 * 24 * 3600)
    assert imported(service, other, before) == {
        "restored": 1,
        "there": 0,
        "conflicts": 0,
        "expired": 1,
    }
    assert [
        memory["content"] for memory in other("GET", "/v1/users/sarah/memories").json["memories"]
    ] == ["Likes tea."]
    other("PUT", "/v1/settings", {"memory_days": 30})
    third = service.client(tenant="third")
    third("PUT", "/v1/settings", {"memory_days": 30})
    assert imported(service, third, before) == {
        "restored": 0,
        "there": 0,
        "conflicts": 0,
        "expired": 2,
    }


def test_messages_that_no_extraction_had_come_to_are_extracted_after_an_import(
    service: Service, call: Client, other: Client
) -> None:
    call.append("s", "fact: likes tea")
    extraction = call("POST", "/v1/sessions/s/extract", {}).json["job_id"]
    service.delivered = len(service.outbox)
    job = service.job(call("POST", "/v1/users/sarah/export").json["job_id"])
    service.handle(job)
    (key,) = service.blobs.keys("exports/")
    text = (service.blobs.get(key) or b"").decode()
    assert service.job(extraction).state == "pending"
    service.delivered = len(service.outbox)
    imported(service, other, text)
    other("POST", "/v1/sessions/s/extract", {})
    service.drain()
    assert [
        memory["content"] for memory in other("GET", "/v1/users/sarah/memories").json["memories"]
    ] == ["likes tea"]


class Life:
    """A session to which everything happens that callers can do, in an order of chance."""

    def __init__(self, service: Service, call: Client, seed: int) -> None:
        self.service, self.call, self.chance = service, call, random.Random(seed)
        self.said = 0

    def act(self) -> None:
        acts = (
            self.talk,
            self.talk,
            self.talk,
            self.tools,
            self.clear,
            self.withdraw,
            self.redact,
            self.prune,
            self.instruct,
            self.large,
            self.hand_over,
            self.wait,
        )
        self.chance.choice(acts)()
        if self.chance.random() < 0.8:
            self.service.drain()

    def append(self, *messages: dict[str, Any]) -> None:
        body = {"user_id": "sarah", "messages": list(messages), "allow_repeat": True}
        assert self.call("POST", "/v1/sessions/s/messages", body).status == 201

    def talk(self) -> None:
        self.said += 1
        text = f"{self.said} " + "word " * self.chance.randrange(80)
        self.append({"role": "user", "content": text}, {"role": "assistant", "content": "I see."})

    def tools(self) -> None:
        called = {
            "id": f"c{self.said}",
            "type": "function",
            "function": {"name": "f", "arguments": '{"a": 1}'},
        }
        self.append(
            {"role": "user", "content": "Look."}, {"role": "assistant", "tool_calls": [called]}
        )
        if self.chance.random() < 0.7:
            self.append({"role": "tool", "tool_call_id": called["id"], "content": "42"})

    def clear(self) -> None:
        if self.chance.random() < 0.3:
            self.call("DELETE", "/v1/sessions/s/messages")

    def withdraw(self) -> None:
        self.call("DELETE", "/v1/sessions/s/messages", query={"from": str(self._any())})

    def redact(self) -> None:
        self.call("PATCH", f"/v1/sessions/s/messages/{self._any()}", {"content": "[redacted]"})

    def prune(self) -> None:
        strategy = self.chance.choice(("fifo", "semantic", "summarize"))
        self.call("POST", "/v1/sessions/s/prune", {"strategy": strategy, "max_tokens": 150})

    def instruct(self) -> None:
        self.append({"role": "system", "content": f"You know {self.said}."})

    def large(self) -> None:
        if self.chance.random() < 0.2:
            self.append({"role": "user", "content": "It was the best of times. " * 20_000})

    def hand_over(self) -> None:
        self.said += 1
        said = {"role": "user", "content": f"fact: likes {self.said}", "id": f"m{self.said}"}
        body = {"messages": [said], "session_id": "s", "store": False}
        assert self.call("POST", "/v1/users/sarah/ingest", body).status in (200, 202)

    def wait(self) -> None:
        self.service.waiting.advance(self.chance.randrange(1, 4_000))

    def _any(self) -> int:
        head = self.service.sessions.open(self.service.session()).head
        return self.chance.randint(max(1, head.seq - 8), max(1, head.seq)) if head else 1


@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_to_a_session_its_own_export_is_taken_and_is_the_same_again(
    service: Service, call: Client, seed: int
) -> None:
    life = Life(service, call, seed)
    config: dict[str, Any] = {"max_tokens": 400, "keep_recent_turns": 1}
    strategy = life.chance.choice(("summarize", "trim", "delete", "none", "flush"))
    more = {} if strategy == "summarize" else {"strategy": strategy}
    config = {"max_tokens": 400, **more} if more else config
    made = call("POST", "/v1/sessions", {"session_id": "s", "user_id": "sarah", "memory": config})
    assert made.status == 201, made.text
    for _ in range(30):
        life.act()
    service.drain()
    before = exported(service, call)
    other = service.client(tenant="other")
    assert imported(service, other, before)["conflicts"] == 0
    assert exported(service, other) == before

"""What was said can be read, page by page, unfolded, emptied from the window and withdrawn."""

from typing import Any

import pytest
from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.finding import Finding

from tests.doubles.extractor import stated
from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

PATH = "/v1/sessions/s/messages"


def all_pages(call: Client, path: str, name: str, **query: Any) -> list[Any]:
    found: list[Any] = []
    cursor = None
    while True:
        page = call("GET", path, query=query | ({"cursor": cursor} if cursor else {})).json
        found += page[name]
        cursor = page["next_cursor"]
        if cursor is None:
            return found


def seqs(call: Client, **query: Any) -> list[int]:
    return [row["seq"] for row in all_pages(call, PATH, "messages", **query)]


@pytest.fixture
def folded(call: Client, service: Service) -> Client:
    """A session whose window has overflowed more than once."""
    memory = {"max_tokens": 200, "keep_recent_turns": 1}
    call("POST", "/v1/sessions", {"session_id": "s", "user_id": "sarah", "memory": memory})
    for turn in range(20):
        call.append("s", f"{turn} " + "word " * 20)
        service.drain()
    return call


def test_a_row_says_everything_of_a_message(call: Client) -> None:
    appended = call.append("s", "hello").json["messages"][0]
    row = call("GET", PATH).json["messages"][0]
    assert row == {
        "role": "user",
        "content": "hello",
        **appended,
        "timestamp": None,
        "created_at": "2026-01-01T00:00:00.000Z",
        "metadata": {},
    }


def test_the_history_is_read_page_by_page_in_both_directions(call: Client) -> None:
    call.append("s", *(f"message {number}" for number in range(10)))
    assert seqs(call, limit=3) == list(range(1, 11))
    assert seqs(call, limit=3, order="desc") == list(range(10, 0, -1))
    assert seqs(call, limit=5) == list(range(1, 11))
    assert len(call("GET", PATH, query={"limit": 2}).json["messages"]) == 2


def test_a_page_of_large_messages_holds_fewer_and_says_where_to_go_on(call: Client) -> None:
    for number in range(20):
        assert call.append("s", f"{number}" + "x" * 370_000).status == 201
    first = call("GET", PATH, query={"limit": 100})
    assert len(first.text) < 5_000_000
    assert 1 <= len(first.json["messages"]) < 20
    assert seqs(call, limit=100) == list(range(1, 21))


def test_quotes_are_counted_as_what_they_become_on_the_wire(call: Client) -> None:
    for _ in range(12):
        assert call.append("s", '"' * 185_000, allow_repeat=True).status == 201
    assert len(call("GET", PATH).json["messages"]) < 12
    assert seqs(call) == list(range(1, 13))


@pytest.mark.parametrize("cursor", ["x", "%%%", "bm9uc2Vuc2U", "é", "A" * 1500])
def test_a_cursor_that_nobody_gave_is_400(call: Client, cursor: str) -> None:
    call.append("s", "hello")
    answer = call("GET", PATH, query={"cursor": cursor})
    assert (answer.status, answer.json["code"]) == (400, "invalid_cursor")


def test_a_cursor_is_good_for_its_own_list_only(call: Client, service: Service) -> None:
    for session in ("s", "t"):
        call.append(session, "one", "two", "three")
    cursor = call("GET", PATH, query={"limit": 1}).json["next_cursor"]
    other = service.client(tenant="other")
    other.append("s", "one", "two", "three")
    for answer in (
        call("GET", "/v1/sessions/t/messages", query={"cursor": cursor}),
        call("GET", PATH, query={"cursor": cursor, "order": "desc"}),
        call("GET", "/v1/sessions", query={"cursor": cursor}),
        call("GET", "/v1/sessions/s/compactions", query={"cursor": cursor}),
        other("GET", PATH, query={"cursor": cursor}),
    ):
        assert (answer.status, answer.json["code"]) == (400, "invalid_cursor")
    assert call("GET", PATH, query={"cursor": cursor, "limit": 1}).json["messages"][0]["seq"] == 2


def test_compactions_name_what_they_stand_for_and_unfold(folded: Client) -> None:
    path = "/v1/sessions/s/compactions"
    found = all_pages(folded, path, "compactions", limit=2)
    assert len(found) > 2
    assert [each["n"] for each in found] == sorted(each["n"] for each in found)
    assert found == list(reversed(all_pages(folded, path, "compactions", limit=2, order="desc")))
    unfolded: list[int] = []
    for each in found:
        rows = all_pages(folded, f"{path}/{each['n']}/messages", "messages", limit=2)
        assert [row["seq"] for row in rows] == list(range(each["from"], each["to"] + 1))
        unfolded += [row["seq"] for row in rows]
        assert (each["method"], each["summary"]) == ("extractive", f"up to {each['to']}")
    assert unfolded == list(range(1, found[-1]["to"] + 1))


@pytest.mark.parametrize(("n", "status"), [("3000", 404), ("0", 422), ("-1", 422), ("first", 422)])
def test_a_compaction_that_is_not_there(folded: Client, n: str, status: int) -> None:
    assert folded("GET", f"/v1/sessions/s/compactions/{n}/messages").status == status


def test_emptying_the_window_keeps_the_history(call: Client) -> None:
    call.append("s", "one", "two")
    answer = call("DELETE", PATH)
    assert (answer.status, answer.json["window"]["messages"]) == (200, 0)
    assert seqs(call) == [1, 2]
    call.append("s", "three")
    shown = call("GET", "/v1/sessions/s/context").json["messages"]
    assert [message["content"] for message in shown] == ["three"]


def test_withdrawn_messages_are_gone_at_once_and_a_job_removes_them(
    call: Client, service: Service
) -> None:
    call.append("s", "one", "two", "three")
    answer = call("DELETE", PATH, query={"from": 2})
    assert (answer.status, answer.json["state"], answer.json["window"]["messages"]) == (
        202,
        "pending",
        1,
    )
    assert answer.headers["Location"].endswith(answer.json["job_id"])
    assert seqs(call) == [1]
    service.drain()
    assert call("GET", f"/v1/jobs/{answer.json['job_id']}").json["result"] == {
        "forgotten": 0,
        "removed": 2,
    }
    assert call.append("s", "four").json["messages"][0]["seq"] == 4


def test_whoever_waits_for_a_withdrawal_gets_its_job_and_the_window(
    call: Client, service: Service
) -> None:
    call.append("s", "one", "two")
    service.work_while_waiting()
    answer = call("DELETE", PATH, query={"from": 2, "wait": 5})
    assert (answer.status, answer.json["kind"], answer.json["state"]) == (200, "withdraw", "done")
    assert answer.json["window"]["messages"] == 1


def test_an_extraction_that_has_read_withdrawn_messages_reads_again(
    call: Client, service: Service
) -> None:
    withdrawals: list[str] = []

    def meanwhile(chunk: Chunk) -> list[Finding]:
        if not withdrawals:
            withdrawals.append(call("DELETE", PATH, query={"from": 2}).json["job_id"])
            service.handle(service.job(withdrawals[0]))
        return stated(chunk)

    service.extractor.finds = meanwhile
    call.append("s", "fact[sport]: climbs", "fact[home]: Bonn")
    call("POST", "/v1/sessions/s/extract", {})
    service.drain()
    assert service.contents() == ["climbs"]
    assert service.extractor.read == [(1, 2), (1,)]


@pytest.mark.parametrize(("first", "status"), [(3, 404), (99, 404), (0, 422), ("two", 422)])
def test_only_what_is_there_can_be_withdrawn(call: Client, first: object, status: int) -> None:
    call.append("s", "one", "two")
    assert call("DELETE", PATH, query={"from": first}).status == status
    assert seqs(call) == [1, 2]


def test_one_message_is_read_by_its_number(call: Client) -> None:
    call.append("s", "hello", "there")
    assert call("GET", f"{PATH}/2").json == call("GET", PATH).json["messages"][1]
    call("DELETE", PATH, query={"from": 2})
    for number, status, field in (
        (2, 404, "seq"),
        (3, 404, "seq"),
        ("x", 422, "seq"),
        (0, 422, "seq"),
    ):
        answer = call("GET", f"{PATH}/{number}")
        assert (answer.status, answer.json["errors"][0]["field"]) == (status, field)
    assert call("GET", "/v1/sessions/other/messages/1").json["code"] == "session_not_found"


@pytest.mark.parametrize("query", [{}, {"from": 1}])
def test_removing_messages_of_an_empty_session_changes_nothing(
    call: Client, query: dict[str, object]
) -> None:
    call("POST", "/v1/sessions", {"session_id": "s", "user_id": "sarah"})
    for _ in range(2):
        answer = call("DELETE", PATH, query=query)
        assert (answer.status, answer.json["window"]["messages"]) == (200, 0)

"""Every failure is a typed problem, and neither answers nor logs hold what they must not."""

import hashlib
import json
from io import StringIO
from typing import Any

import pytest
from palimpsest.engines.dynamodb.errors import Refused
from palimpsest.errors import Unavailable
from palimpsest.observability import logger
from palimpsest.scope import Scope

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

PATH = "/v1/sessions/s/messages"
SECRET = "4111 1111 1111 1111"
MEMBERS = {"type", "title", "status", "detail", "code", "request_id", "retryable", "errors"}


class Log(StringIO):
    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.getvalue().splitlines()]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    kept = Log()
    monkeypatch.setattr(logger.registered_handler, "stream", kept)
    return kept


def test_every_failure_is_a_problem_with_the_gateways_request_id(call: Client) -> None:
    answers = [
        call("GET", "/v1/sessions/nobody"),
        call("GET", "/v1/nothing"),
        call("POST", "/v1/sessions/s", {}),
        call("GET", "/v1/sessions/a%2Fb"),
        call("POST", PATH, raw="{"),
        call("POST", PATH, {}),
        call("POST", PATH, {"messages": [{}] * 51}),
    ]
    assert [answer.status for answer in answers] == [404, 404, 405, 400, 400, 422, 413]
    for answer in answers:
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert set(answer.json) == MEMBERS
        assert (answer.json["status"], answer.json["request_id"]) == (answer.status, "request-1")


def test_what_nobody_expected_is_a_problem_without_a_trace(
    call: Client, service: Service, monkeypatch: pytest.MonkeyPatch, log: Log
) -> None:
    def breaks(*_: object, **__: object) -> object:
        raise ZeroDivisionError(SECRET)

    monkeypatch.setattr(service.sessions, "open", breaks)
    answer = call("GET", "/v1/sessions/s")
    assert (answer.status, answer.json["code"], answer.json["retryable"]) == (
        500,
        "internal_error",
        False,
    )
    assert "Zero" not in answer.text
    logged = log.getvalue()
    assert "ZeroDivisionError" in logged
    assert "breaks" in logged
    assert SECRET not in answer.text + logged


def test_a_failure_outside_the_routes_is_a_problem_too(service: Service, log: Log) -> None:
    del service.app
    answer = service.client()("GET", "/v1/sessions/s")
    assert (answer.status, answer.json["code"]) == (500, "internal_error")
    assert "AttributeError" in log.getvalue()


def test_a_request_is_one_line_of_ids_and_sizes(call: Client, log: Log) -> None:
    answer = call.append("s", "hello")
    [line] = log.lines
    assert {
        name: line[name]
        for name in ("message", "method", "route", "status", "tenant", "correlation_id")
    } == {
        "message": "request",
        "method": "POST",
        "route": "/v1/sessions/{session_id}/messages",
        "status": 201,
        "tenant": "acme",
        "correlation_id": "request-1",
    }
    assert line["bytes_out"] == len(answer.text)
    assert line["bytes_in"] > 0


def test_logs_name_a_user_by_a_hash_that_only_the_tenants_key_can_make(
    service: Service, log: Log
) -> None:
    user = f"sarah-{SECRET.replace(' ', '-')}"
    for tenant in ("acme", "acme", "other"):
        call = service.client(tenant=tenant)
        call("GET", f"/v1/users/{user}/memories")
        call.append(f"{user}-1", "hello", user_id=user)
        call("DELETE", f"/v1/users/{user}")
    assert user not in log.getvalue()
    named = [line["user"] for line in log.lines if "user" in line]
    assert named[:4] == [named[0]] * 4
    assert named[4:] == [named[4]] * 2
    assert named[4] != named[0]
    assert hashlib.sha256(user.encode()).hexdigest()[:16] not in log.getvalue()


def test_a_log_line_is_written_although_the_tenants_key_cannot_be_read(
    service: Service, log: Log
) -> None:
    def broken(_: Scope) -> bytes:
        raise Unavailable("The store did not answer.")

    service.tenants.log_key = broken  # type: ignore[method-assign, assignment]
    assert service.client()("GET", "/v1/users/sarah").status == 200
    assert "user" not in log.lines[-1]


def test_every_answer_says_that_it_is_no_page_and_is_not_kept(call: Client) -> None:
    for answer in (
        call.append("s", "hello"),
        call("GET", "/v1/sessions/none"),
        call("GET", "/v1/sessions//"),
    ):
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]


def test_an_error_that_no_status_belongs_to_is_a_problem_too(service: Service) -> None:
    def refuse(_step: str) -> None:
        raise Refused("The store refused the request.")

    service.sessions.state.faults = refuse
    answer = service.client().append("s", "hello")
    assert (answer.status, answer.json["code"], answer.json["request_id"]) == (
        500,
        "internal_error",
        "request-1",
    )


def test_no_log_holds_what_was_said_or_the_key(call: Client, log: Log) -> None:
    key = {"authorization": "Bearer pal_" + "A" * 43}
    said = {"role": "user", "content": SECRET, "metadata": {"card": SECRET}, "x_note": SECRET}
    call("POST", PATH, {"user_id": "u", "messages": [said], "context": {}}, headers=key)
    call("POST", PATH, {"user_id": "u", "messages": [{**said, "role": SECRET}]}, headers=key)
    call("POST", PATH, {"user_id": "u", SECRET: 1}, headers=key)
    call("POST", PATH, raw=SECRET, headers=key)
    call("GET", f"/v1/sessions/{SECRET}", headers=key)
    call("GET", PATH, query={SECRET: SECRET}, headers=key)
    logged = log.lines
    assert [line["status"] for line in logged] == [201, 422, 422, 400, 400, 422]
    assert SECRET not in json.dumps(logged)
    assert "pal_" not in json.dumps(logged)


def test_a_problem_does_not_repeat_what_was_sent(call: Client) -> None:
    sent = {
        "user_id": "u",
        "messages": [{"role": SECRET, "content": 5}, {"role": "user", "content": {"a": SECRET}}],
    }
    assert SECRET not in call("POST", PATH, sent).text


def test_long_lists_of_errors_are_cut(call: Client) -> None:
    answer = call("POST", PATH, {f"unknown-{'x' * 1000}-{number}": 1 for number in range(500)})
    assert len(answer.json["errors"]) == 20
    assert len(answer.text) < 10_000


@pytest.mark.parametrize(
    "text", ["$where: 1", "' OR 1=1 --", "*:*", "MATCH (n) RETURN n", '{"PartiQL": "SELECT *"}']
)
def test_what_looks_like_a_query_is_text(call: Client, text: str) -> None:
    call.append("s", text)
    assert call("GET", PATH).json["messages"][0]["content"] == text
    assert call("GET", "/v1/sessions", query={"user_id": text}).status == 400


def test_metadata_that_claims_to_be_somebody_is_only_metadata(
    call: Client, service: Service
) -> None:
    claims = {
        "tenant": "other",
        "user_id": "tom",
        "session_id": "t",
        "delete": True,
        "seq": 99,
        "tokens": -1,
    }
    said = {"role": "user", "content": "hi", "metadata": claims, "seq": 99, "tenant": "other"}
    call("POST", PATH, {"user_id": "sarah", "messages": [said]})
    row = call("GET", PATH).json["messages"][0]
    assert (row["seq"], row["metadata"]) == (1, claims)
    assert list(service.sessions.state.partitions) == [("acme", "s")]
    assert call("GET", "/v1/sessions/s").json["user_id"] == "sarah"


def test_a_problem_has_the_standards_title_on_every_python(call: Client) -> None:
    refused = call("POST", "/v1/sessions", {})
    too_large = call(
        "POST", "/v1/sessions/s/messages", {"messages": [{"role": "user", "content": "hm"}] * 51}
    )
    assert [answer.json["title"] for answer in (refused, too_large)] == [
        "Unprocessable Content",
        "Content Too Large",
    ]

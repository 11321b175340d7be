"""Tenant and scopes come from the credential alone; without a tenant there is no answer."""

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from palimpsest.api.app import HttpApp, operation_of
from palimpsest.api.call import Caller
from palimpsest.api.operations import operations_of
from palimpsest.errors import Unauthenticated
from palimpsest.scope import OPERATOR

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client, http_event, invoked

PATH = "/v1/sessions/s/messages"
HELLO = {"user_id": "sarah", "messages": [{"role": "user", "content": "hello"}]}


def event(authorizer: Any) -> dict[str, Any]:
    return http_event("GET", "/v1/sessions", authorizer=authorizer)


def test_a_key_names_its_tenant_and_scopes() -> None:
    caller = Caller.of(
        event({"lambda": {"tenant": "acme", "scopes": "read write", "key_id": "k1"}})
    )
    assert (caller.tenant.tenant, set(caller.scopes), caller.key_id) == (
        "acme",
        {"read", "write"},
        "k1",
    )


def test_a_token_has_no_id() -> None:
    caller = Caller.of(
        event({"lambda": {"tenant": "acme", "scopes": "read", "issuer": "https://issuer.example"}})
    )
    assert (caller.tenant.tenant, set(caller.scopes), caller.key_id) == ("acme", {"read"}, None)


@pytest.mark.parametrize(
    "authorizer",
    [
        None,
        {},
        {"lambda": None},
        {"lambda": {}},
        {"lambda": {"scopes": "read write admin"}},
        {"lambda": {"tenant": "", "scopes": "read"}},
        {"lambda": {"tenant": None}},
        {"lambda": {"tenant": 5}},
        {"lambda": {"tenant": "a#b", "scopes": "read"}},
        {"lambda": {"refused": "unauthenticated"}},
        {"lambda": {"refused": "unheard of", "tenant": "acme", "scopes": "read write admin"}},
        {"lambda": {"refused": "", "tenant": "acme", "scopes": "read write admin"}},
        {"lambda": {"tenant": ".."}},
        {"lambda": {"tenant": OPERATOR, "scopes": "read write admin"}},
        {"jwt": {"claims": {"tenant": "acme", "scope": "read"}}},
        {"lambda": {}, "jwt": {"claims": {"tenant": "acme", "scope": "read"}}},
        {"jwt": {}},
        {"jwt": {"claims": {"scope": "read"}}},
        {"iam": {"tenant": "acme"}},
        {"tenant": "acme", "scopes": "read"},
    ],
)
def test_no_tenant_no_answer(service: Service, authorizer: Any) -> None:
    with pytest.raises(Unauthenticated):
        Caller.of(event(authorizer))
    answer = invoked(service.handler, event(authorizer))
    assert answer["statusCode"] == 401
    assert answer["headers"]["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("function", ["sessions", "memories"])
@pytest.mark.parametrize(
    ("why", "status"), [("unauthenticated", 401), ("invalid_key", 401), ("unavailable", 503)]
)
def test_who_was_refused_reaches_no_operation_and_no_store(
    function: Any, why: str, status: int
) -> None:
    def nothing() -> Any:
        raise AssertionError("the use cases were asked for")

    operations = operations_of(function)
    handler = HttpApp(nothing, operations)
    for operation in operations:
        path = operation.path.replace("{", "").replace("}", "")
        for stated in ({}, {"tenant": "acme", "scopes": "read write admin"}):
            who = {"lambda": {"refused": why, **stated}}
            answer = invoked(
                handler, http_event(operation.method, path, json.dumps(HELLO), authorizer=who)
            )
            problem = json.loads(answer["body"])
            assert (answer["statusCode"], problem["code"]) == (status, why), operation.name
            assert (problem["request_id"], problem["retryable"]) == ("request-1", status == 503)
            assert answer["headers"]["Content-Type"] == "application/problem+json"


def test_nothing_that_was_sent_names_a_tenant(service: Service) -> None:
    call = service.client(tenant="acme")
    call("POST", PATH, HELLO, headers={"x-tenant": "other", "tenant": "other"})
    assert list(service.sessions.state.partitions) == [("acme", "s")]
    for stolen in ({"tenant": "other"}, {"session_id": "t"}):
        assert call("POST", PATH, {**HELLO, **stolen}).status == 422


@pytest.mark.parametrize(
    ("method", "path", "scopes"),
    [
        ("GET", "/v1/sessions", {"read"}),
        ("GET", "/v1/sessions/s/messages", {"read"}),
        ("GET", "/v1/jobs/j", {"read"}),
        ("POST", "/v1/sessions/s/context", {"read"}),
        ("POST", "/v1/sessions", {"write"}),
        ("POST", "/v1/sessions/s/messages", {"write"}),
        ("POST", "/v1/sessions/s/prune", {"read", "write"}),
        ("PUT", "/v1/sessions/context", {"write"}),
        ("DELETE", "/v1/sessions/settings", {"write"}),
        ("POST", "/v1/sessions/settings/messages", {"write"}),
        ("GET", "/v1/settings", {"admin"}),
        ("PUT", "/v1/settings", {"admin"}),
    ],
)
def test_every_call_has_its_scopes(method: str, path: str, scopes: set[str]) -> None:
    operations = (*operations_of("sessions"), *operations_of("memories"))
    operation = operation_of(operations, method, path)
    assert operation is not None
    assert set(operation.scopes) == scopes


@pytest.mark.parametrize(
    ("scopes", "method", "path", "body"),
    [
        ("", "GET", "/v1/sessions", None),
        ("write admin", "GET", "/v1/sessions/s", None),
        ("read admin", "POST", PATH, HELLO),
        ("read", "DELETE", "/v1/sessions/s", None),
        ("read", "PATCH", "/v1/sessions/s", {}),
        ("read", "POST", "/v1/sessions/s/prune", {"strategy": "fifo"}),
        ("write", "POST", "/v1/sessions/s/prune", {"strategy": "fifo"}),
        ("write", "POST", PATH, {**HELLO, "context": {}}),
        ("read write", "PUT", "/v1/settings", {}),
        ("reader writer", "GET", "/v1/sessions", None),
    ],
)
def test_a_missing_scope_is_403_and_nothing_is_written(
    service: Service, scopes: str, method: str, path: str, body: Any
) -> None:
    answer = service.client(scopes=scopes)(method, path, body)
    assert (answer.status, answer.json["code"]) == (403, "missing_scope")
    assert not service.sessions.state.partitions


def test_another_tenants_session_answers_as_one_that_never_was(
    call: Client, service: Service
) -> None:
    call.append("s", "secret")
    other = service.client(tenant="other")
    for method, rest, body in (
        ("GET", "", None),
        ("GET", "/messages", None),
        ("GET", "/context", None),
        ("DELETE", "", None),
        ("POST", "/messages", {"messages": HELLO["messages"]}),
    ):
        theirs, never = (
            other(method, f"/v1/sessions/{name}{rest}", body) for name in ("s", "never")
        )
        assert (theirs.status, theirs.text) == (404, never.text)
    assert other("GET", "/v1/sessions").json["sessions"] == []
    other.append("s", "mine")
    assert [row["content"] for row in call("GET", PATH).json["messages"]] == ["secret"]


@pytest.fixture
def impatient_threads() -> Iterator[None]:
    """Threads take turns as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.parametrize("apps", [1, 8])
def test_calls_at_once_do_not_mix_in_one_app_or_in_several_of_a_process(
    apps: int, impatient_threads: None
) -> None:
    services = [Service() for _ in range(apps)]

    def converse(number: int) -> list[str]:
        call = services[number % apps].client(tenant=f"tenant-{number}")
        for turn in range(10):
            assert call.append("s", f"{number}-{turn}").status == 201
        return [row["content"] for row in call("GET", PATH).json["messages"]]

    with ThreadPoolExecutor(max_workers=8) as callers:
        heard = list(callers.map(converse, range(8)))
    assert heard == [[f"{number}-{turn}" for turn in range(10)] for number in range(8)]

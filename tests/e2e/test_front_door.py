"""Who is let in, and what they can see: keys, scopes, tenants."""

import base64
import json
import time
from collections.abc import Mapping
from typing import Any

import pytest

from infra.operate.api_keys import key_id
from tests.e2e.stack import Client, Stack, eventually

pytestmark = pytest.mark.e2e
HELLO = {"user_id": "sarah", "messages": [{"role": "user", "content": "Hello"}]}
UNKNOWN_KEY = "pal_" + "x" * 43


def unsigned_token(tenant: str) -> str:
    parts = ({"alg": "none", "typ": "JWT"}, {"tenant": tenant, "scope": "read write admin"})
    return (
        ".".join(
            base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
            for part in parts
        )
        + "."
    )


@pytest.mark.parametrize("path", ["/v1/health", "/v1/openapi.json", "/v1/docs"])
def test_anybody_may_read_what_the_service_is(stack: Stack, path: str) -> None:
    answer = Client(stack.url, key="")("GET", path)
    assert answer.status == 200
    assert answer.text


def test_what_no_route_takes_is_a_problem(stack: Stack) -> None:
    answer = Client(stack.url, key="")("GET", "/v2/nothing")
    assert (answer.status, answer.json["code"]) == (404, "route_not_found")
    assert answer.json["request_id"]


@pytest.mark.parametrize(
    "path", ["/v1/sessions", "/v1/sessions/s/messages", "/v1/settings", "/v1/jobs/job_1"]
)
def test_without_a_key_everything_else_is_401(stack: Stack, path: str) -> None:
    nobody, begun = Client(stack.url, key=""), time.time()
    refused = nobody("GET", path)
    assert (refused.status, refused.json["code"]) == (401, "unauthenticated")
    assert refused.headers["www-authenticate"] == "Bearer"
    eventually(lambda: refused.json["request_id"] in " ".join(stack.logs(since=begun)))
    assert (
        nobody(
            "GET", path, query={"api_key": stack.key, "Authorization": f"Bearer {stack.key}"}
        ).status
        == 401
    )


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {UNKNOWN_KEY}"},
        {"Authorization": "Bearer "},
        {"Authorization": "Basic dXNlcjpwYXNz"},
        {"Authorization": f"Bearer {unsigned_token('acme')}"},
    ],
)
def test_a_credential_that_nobody_gave_is_refused_without_a_word(
    stack: Stack, headers: Mapping[str, str]
) -> None:
    answer = Client(stack.url, key="")("GET", "/v1/sessions", headers=headers)
    assert (answer.status, answer.json["code"]) == (401, "invalid_key")
    assert answer.json["detail"] == "The key is not valid."
    assert answer.json["request_id"]


def test_a_key_in_other_clothes_is_refused(call: Client, stack: Stack) -> None:
    nobody = Client(stack.url, key="")
    for credential in (
        call.key,
        f"Basic {call.key}",
        f"Bearer {call.key}x",
        f"Bearer {key_id(call.key)}",
    ):
        assert nobody("GET", "/v1/sessions", headers={"Authorization": credential}).status == 401
    assert call("GET", "/v1/sessions").status == 200


def test_a_revoked_key_is_refused(stack: Stack) -> None:
    client = stack.client()
    assert stack.keys.revoke(key_id(client.key))
    assert client("GET", "/v1/sessions").status == 401


def test_an_expired_key_is_refused(stack: Stack) -> None:
    key = stack.keys.create("acme", scopes=("read",), expires_days=-1)
    assert Client(stack.url, key)("GET", "/v1/sessions").status == 401


@pytest.mark.parametrize(
    "wrong", ["alice%3Fx", "alice%3F", "%2561lice", "alice%00", "alice%25zz", "alice%2F.."]
)
def test_an_id_that_the_gateway_cuts_erases_nobody(call: Client, wrong: str) -> None:
    said = {"memories": [{"type": "fact", "content": "Alice plays chess."}]}
    assert call("POST", "/v1/users/alice/memories", said).status == 201
    assert call("DELETE", f"/v1/users/{wrong}").status == 400
    assert call("GET", "/v1/users/alice").json["memories"]["total"] == 1


def test_an_encoded_id_is_the_id_that_it_encodes(call: Client) -> None:
    said = {"user_id": "sarah@example.com", "messages": HELLO["messages"]}
    assert (
        call("POST", "/v1/sessions/a%3Ab%40c%2Bd%7Ce/messages", said).json["session_id"]
        == "a:b@c+d|e"
    )
    assert call("GET", "/v1/users/sarah%40example.com").json["sessions"]["total"] == 1


def test_a_body_that_a_deletion_does_not_read_is_refused(call: Client) -> None:
    vectors = [{"id": name, "values": [1.0, 2.0]} for name in "ab"]
    assert call("POST", "/v1/users/sarah/vectors", {"vectors": vectors}).status == 200
    assert call("DELETE", "/v1/users/sarah/vectors", {"ids": ["a"]}).status == 422
    assert call("DELETE", "/v1/users/sarah/vectors?ids=a").json == {"count": 1}


def test_a_route_that_is_not_there_is_404_whatever_its_body(call: Client) -> None:
    answer = call("POST", "/v1/users/sarah/recal", {"query": "Where?"})
    assert (answer.status, answer.json["code"]) == (404, "route_not_found")


def test_a_missing_scope_is_a_problem_and_nothing_is_written(stack: Stack) -> None:
    tenant = stack.client().tenant
    reader, writer = (stack.client(tenant=tenant, scopes=(scope,)) for scope in ("read", "write"))
    refused = [
        reader("POST", "/v1/sessions/s/messages", HELLO),
        writer("GET", "/v1/sessions"),
        writer("GET", "/v1/settings"),
        writer("PUT", "/v1/settings", {}),
    ]
    assert [(answer.status, answer.json["code"]) for answer in refused] == [
        (403, "missing_scope")
    ] * 4
    assert reader("GET", "/v1/sessions").json["sessions"] == []


def test_what_a_tenant_has_is_unknown_to_every_other(call: Client, stack: Stack) -> None:
    job_id = call.overflow("s")
    call.job(job_id)
    call.begin("t")
    cursor = call("GET", "/v1/sessions", query={"limit": 1}).json["next_cursor"]
    other = stack.client()
    asked: list[tuple[str, str, Any]] = [
        ("GET", "", None),
        ("PATCH", "", {"system": "mine now"}),
        ("DELETE", "", None),
        ("GET", "/messages", None),
        ("POST", "/messages", {"messages": HELLO["messages"]}),
        ("DELETE", "/messages", None),
        ("GET", "/context", None),
        ("POST", "/context", {"message": "and?"}),
        ("POST", "/prune", {"strategy": "fifo"}),
        ("GET", "/compactions", None),
        ("POST", "/end", None),
    ]
    for method, rest, body in asked:
        answer = other(method, f"/v1/sessions/s{rest}", body)
        assert (answer.status, answer.json["code"]) == (404, "session_not_found"), (method, rest)
    assert other("GET", f"/v1/jobs/{job_id}").json["code"] == "job_not_found"
    assert other("GET", "/v1/sessions", query={"user_id": "sarah"}).json["sessions"] == []
    assert cursor is not None
    assert other("GET", "/v1/sessions", query={"limit": 1, "cursor": cursor}).status == 400
    assert call.session("s")["compaction"] == "none"


def test_the_same_ids_of_two_tenants_are_two_sessions(call: Client, stack: Stack) -> None:
    other = stack.client()
    call.append("s", "mine", key="turn-1")
    assert other.append("s", "yours", key="turn-1").json["replayed"] is False
    assert [row["content"] for row in call.history("s")] == ["mine"]
    assert [row["content"] for row in other.history("s")] == ["yours"]
    assert call.history("s")[0]["id"] != other.history("s")[0]["id"]

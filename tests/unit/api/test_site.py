"""Health, description and documentation: for everybody, and with nothing from elsewhere."""

import base64
import gzip
import hashlib
import json
import re
from typing import Any

import pytest
from palimpsest.api.site import page

from tests.engines import console, npm
from tests.unit.api.gateway import http_event


def get(path: str, **headers: str) -> dict[str, Any]:
    event = http_event(
        "GET",
        f"/v1/{path}",
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )
    return page(event, stage="test", request_id="request-1")


def test_health_is_short() -> None:
    assert json.loads(get("health")["body"]) == {"status": "ok", "stage": "test"}


def test_the_description_is_served() -> None:
    answer = get("openapi.json")
    assert answer["headers"]["Content-Type"] == "application/json"
    assert json.loads(answer["body"])["openapi"].startswith("3.1")


def test_the_documentation_loads_nothing_from_elsewhere() -> None:
    answer = get("docs")
    assert answer["headers"]["Content-Type"].startswith("text/html")
    assert "default-src 'none'" in answer["headers"]["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in answer["headers"]["Content-Security-Policy"]
    outside = re.sub(r"<(script|style)>.*?</\1>", "", answer["body"], flags=re.DOTALL)
    assert not re.search(r"(src|href)=", outside)
    assert "/v1/sessions/{session_id}/messages" in answer["body"]


def test_the_console_runs_its_own_scripts_and_no_other() -> None:
    answer = get("console")
    policy = dict(
        part.strip().split(" ", 1)
        for part in answer["headers"]["Content-Security-Policy"].split(";")
    )
    assert policy["default-src"] == policy["form-action"] == policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in answer["headers"]["Content-Security-Policy"]
    for tag, source in (("script", "script-src"), ("style", "style-src")):
        inline = re.findall(rf"<{tag}>(.*?)</{tag}>", answer["body"], flags=re.DOTALL)
        hashes = [
            base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in inline
        ]
        assert policy[source].split() == [f"'sha256-{each}'" for each in hashes]
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", answer["body"])


def test_the_consoles_libraries_are_what_npm_has() -> None:
    if not console.ESBUILD.is_file():
        reason = "esbuild is not installed"
        pytest.fail(reason) if npm.required() else pytest.skip(reason)
    assert console.VENDOR.read_text() == console.bundled()


@pytest.mark.parametrize("path", ["openapi.json", "docs", "console"])
def test_what_is_long_is_packed_for_who_can_unpack_it(path: str) -> None:
    answer = get(path, accept_encoding="gzip, br")
    assert answer["headers"]["Content-Encoding"] == "gzip"
    assert gzip.decompress(base64.b64decode(answer["body"])).decode() == get(path)["body"]


@pytest.mark.parametrize("path", ["", "/v1/users/sarah/mcp"])
def test_where_tokens_are_taken_a_client_finds_whose(path: str) -> None:
    asked = http_event("GET", f"/.well-known/oauth-protected-resource{path}")
    answer = page(asked, stage="test", request_id="request-1", issuer="https://issuer.example")
    found = json.loads(answer["body"])
    assert found["resource"] == f"https://{asked['requestContext']['domainName']}{path}"
    assert found["authorization_servers"] == ["https://issuer.example"]
    assert page(asked, stage="test", request_id="request-1")["statusCode"] == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/nothing"),
        ("POST", "/v1/health"),
        ("GET", "/else/health"),
        ("GET", "/health"),
        ("GET", "/"),
    ],
)
def test_anything_else_is_a_problem_with_the_id_that_is_in_the_logs(method: str, path: str) -> None:
    answer = page(http_event(method, path), stage="test", request_id="request-1")
    problem = json.loads(answer["body"])
    assert (answer["statusCode"], problem["code"], problem["request_id"]) == (
        404,
        "route_not_found",
        "request-1",
    )

"""Health, description and documentation: for everybody, and with nothing from elsewhere."""

import base64
import gzip
import hashlib
import json
import re
from importlib import resources
from typing import Any

import pytest
from palimpsest.api.site import page

from tests.engines import console, npm
from tests.unit.api.gateway import http_event

RAPIDOC = "affbd173a65e870e18f392cca963113bcdafb6e50e88cd2f6a834a65b22db94d"
"""The digest of dist/rapidoc-min.js in the package rapidoc 9.3.8 on npm."""


def get(path: str, **headers: str) -> dict[str, Any]:
    event = http_event(
        "GET",
        f"/v1/{path}",
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )
    return page(event, stage="test", request_id="request-1")


def policy_of(answer: dict[str, Any]) -> dict[str, str]:
    """The content security policy of a page, by its directives."""
    parts = answer["headers"]["Content-Security-Policy"].split(";")
    return dict(part.strip().split(" ", 1) for part in parts)


def hashes_of(tag: str, body: str) -> list[str]:
    """The hashes by which a policy allows the page's inline parts."""
    inline = re.findall(rf"<{tag}>(.*?)</{tag}>", body, flags=re.DOTALL)
    digests = [hashlib.sha256(text.encode()).digest() for text in inline]
    return [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]


def test_health_is_short() -> None:
    assert json.loads(get("health")["body"]) == {"status": "ok", "stage": "test"}


def test_the_description_is_served() -> None:
    answer = get("openapi.json")
    assert answer["headers"]["Content-Type"] == "application/json"
    assert json.loads(answer["body"])["openapi"].startswith("3.1")


def test_a_page_loads_nothing_from_elsewhere() -> None:
    for path in ("docs", "console"):
        outside = re.sub(r"<(script|style)>.*?</\1>", "", get(path)["body"], flags=re.DOTALL)
        assert not re.search(r"(src|href)=[\"']?(https?:)?//", outside)


def test_the_reference_is_light() -> None:
    assert len(get("docs")["body"].encode()) < 1_000_000


def test_the_references_library_is_what_npm_has() -> None:
    stored = resources.files("palimpsest_description").joinpath("rapidoc.js").read_bytes()
    assert hashlib.sha256(stored).hexdigest() == RAPIDOC


@pytest.mark.parametrize("path", ["docs", "console"])
def test_a_page_runs_its_own_scripts_and_no_other(path: str) -> None:
    answer = get(path)
    policy = policy_of(answer)
    assert policy["default-src"] == policy["form-action"] == policy["frame-ancestors"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert policy["script-src"].split() == hashes_of("script", answer["body"])


def test_the_console_has_its_own_style_and_no_other() -> None:
    answer = get("console")
    assert "unsafe" not in answer["headers"]["Content-Security-Policy"]
    assert policy_of(answer)["style-src"].split() == hashes_of("style", answer["body"])


@pytest.mark.parametrize("file", sorted(console.ENTRIES))
def test_the_console_is_what_its_sources_and_npm_make(file: str) -> None:
    if not console.ESBUILD.is_file():
        reason = "esbuild is not installed"
        pytest.fail(reason) if npm.required() else pytest.skip(reason)
    assert (console.PAGE / file).read_text() == console.bundled(file)


def test_the_console_is_light() -> None:
    packed = base64.b64decode(get("console", accept_encoding="gzip")["body"])
    assert len(packed) < 60_000


def test_the_consoles_style_holds_only_tokens_that_it_uses() -> None:
    style = (console.PAGE / "style.css").read_text()
    assert console.without_unused_tokens(style) == style
    given = ":where(html){--a:1;--b:var(--c);--c:2}p{margin:var(--a)}"
    assert console.without_unused_tokens(given) == ":where(html){--a:1;}p{margin:var(--a)}"


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

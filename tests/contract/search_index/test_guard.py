"""The guard before OpenSearch: who lacks the credential, and web pages even with it, reach no route
of the server.
"""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Iterator
from urllib.parse import SplitResult, urlsplit

import pytest

ROUTES = [
    ("GET", "/"),
    ("GET", "/_search"),
    ("GET", "/_cat/indices"),
    ("POST", "/_search"),
    ("POST", "/_bulk"),
    ("PUT", "/foreign"),
    ("DELETE", "/_all"),
    ("HEAD", "/_all"),
    ("POST", "/_scripts/foreign"),
    ("GET", "/_nodes"),
]


@pytest.fixture
def server(opensearch_endpoint: str) -> Iterator[SplitResult]:
    """The address of the server, which is as empty afterwards as it was."""
    address = urlsplit(opensearch_endpoint)
    before = indices(address)
    yield address
    assert indices(address) == before


def own(address: SplitResult) -> dict[str, str]:
    """The headers of a client that knows the whole address."""
    name = base64.b64encode(f"{address.username}:".encode()).decode()
    return {"Host": f"{address.hostname}:{address.port}", "Authorization": f"Basic {name}"}


def asked(
    address: SplitResult, method: str, path: str, headers: list[tuple[str, str]]
) -> tuple[int, str]:
    """Status and text of the answer to a raw request."""
    assert address.hostname
    connection = http.client.HTTPConnection(address.hostname, address.port)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in [*headers, ("Content-Length", "0")]:
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        assert not [
            name for name, _ in answer.getheaders() if name.lower().startswith("access-control-")
        ]
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def indices(address: SplitResult) -> object:
    status, text = asked(
        address, "GET", "/_cat/indices?format=json&h=index", list(own(address).items())
    )
    assert status == 200
    return json.loads(text)


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_without_its_credential_no_route_of_opensearch_answers(
    server: SplitResult, method: str, path: str
) -> None:
    host = ("Host", f"{server.hostname}:{server.port}")
    for foreign in (
        [],
        [("Authorization", "Basic OnB3")],
        [("Authorization", f"Bearer {server.username}")],
    ):
        assert asked(server, method, path, [host, *foreign])[0] == 403


@pytest.mark.parametrize("added", [
    ("Origin", "http://evil.example"), ("Origin", "null"), ("Origin", "http://127.0.0.1"),
    ("Sec-Fetch-Site", "cross-site"), ("sec-fetch-mode", "no-cors"), ("Authorization", "Basic OnB3"),
    ("Host", "evil.example"),
])  # fmt: skip
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_web_page_is_refused_even_with_the_credential(
    server: SplitResult, method: str, path: str, added: tuple[str, str]
) -> None:
    assert asked(server, method, path, [*own(server).items(), added])[0] in (400, 403)


@pytest.mark.parametrize(
    "host", ["evil.example:{port}", "127.0.0.1", "localhost:{port}", "127.0.0.1:1", ""]
)
def test_a_foreign_name_of_opensearch_is_refused_even_with_the_credential(
    server: SplitResult, host: str
) -> None:
    named = own(server) | {"Host": host.format(port=server.port)}
    for method, path in ROUTES:
        assert asked(server, method, path, list(named.items()))[0] == 403


def test_the_credential_of_opensearch_is_not_told(server: SplitResult) -> None:
    for path in (
        "/_nodes",
        "/_nodes/settings?flat_settings",
        "/_cluster/settings?include_defaults",
    ):
        status, text = asked(server, "GET", path, list(own(server).items()))
        assert status == 200
        assert str(server.username) not in text
        assert own(server)["Authorization"] not in text

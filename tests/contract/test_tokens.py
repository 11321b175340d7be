"""An issuer over TLS, found as its discovery says; and the official client of MCP, which a 401
leads to one.
"""

import ipaddress
import json
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from palimpsest.api.site import page
from palimpsest.api.tokens import AuthorizeTokens
from palimpsest.clock import FakeClock
from palimpsest.errors import Unauthenticated, Unavailable
from palimpsest.tenants.refusals import Refusals

from tests.engines.environments import python_of
from tests.engines.loopback import HOST, free_port
from tests.served import Served, respond
from tests.tokens import AUDIENCE, ISSUER, public, token
from tests.unit.api.gateway import authorizer_event, http_event, invoked
from tests.unit.api.handlers import load

CLIENT = Path(__file__).parents[1] / "e2e" / "clients" / "mcp_oauth.py"
DISCOVERY = "/.well-known/openid-configuration"
METADATA = "/.well-known/oauth-authorization-server"


class Issuer:
    """Answers what `documents` hold, by path. A token that is asked for has the scopes that were
    asked for.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked.append(self.path)
                found = issuer.documents.get(self.path)
                respond(self, 404 if found is None else 200, json.dumps(found or {}))

            def do_POST(self) -> None:
                issuer.asked.append(self.path)
                sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
                if self.path == "/register":
                    respond(self, 201, json.dumps({**json.loads(sent), "client_id": "c"}))
                    return
                (resource,), made = parse_qs(sent)["resource"], token(scope="read write")
                issuer.resources.append(resource)
                answer = {
                    "access_token": made,
                    "token_type": "Bearer",
                    "expires_in": 300,
                    "scope": "read write",
                }
                respond(self, 200, json.dumps(answer), **{"Content-Type": "application/json"})

            def log_message(self, *_: object) -> None:
                pass

        self.asked: list[str] = []
        self.resources: list[str] = []
        self.documents: dict[str, Any] = {}
        self.server = ThreadingHTTPServer((HOST, 0), Handler)
        if context is not None:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"http{'s' if context else ''}://{HOST}:{self.server.server_port}"

    @contextmanager
    def serving(self) -> Iterator["Issuer"]:
        threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        yield self
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def issuer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Issuer]:
    """An issuer whose certificate this process trusts."""
    key, name = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)]),
    )
    now, addresses = (
        datetime.now(UTC),
        x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]),
    )
    built = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    )
    built = built.not_valid_before(now - timedelta(hours=1)).not_valid_after(
        now + timedelta(hours=1)
    )
    built = built.serial_number(1).add_extension(addresses, critical=False)
    certificate, secret = tmp_path / "certificate.pem", tmp_path / "key.pem"
    certificate.write_bytes(built.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    secret.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, secret)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Issuer(context).serving() as serving:
        serving.documents = {
            DISCOVERY: {"issuer": serving.url, "jwks_uri": f"{serving.url}/keys"},
            "/keys": {"keys": [public()]},
        }
        yield serving


def test_keys_are_found_as_the_issuer_says_and_fetched_once(issuer: Issuer) -> None:
    authorize = AuthorizeTokens.of(issuer.url, [AUDIENCE])
    assert [authorize(f"Bearer {token(iss=issuer.url)}").tenant for _ in range(3)] == ["acme"] * 3
    assert issuer.asked == [DISCOVERY, "/keys"]


def test_unknown_keys_do_not_send_each_call_to_the_issuer(issuer: Issuer) -> None:
    authorize = AuthorizeTokens.of(issuer.url, [AUDIENCE])
    authorize(f"Bearer {token(iss=issuer.url)}")
    for number in range(20):
        with pytest.raises(Unauthenticated):
            authorize(f"Bearer {token(iss=issuer.url, kid=f'made-up-{number}')}")
    assert issuer.asked == [DISCOVERY, "/keys"]


@pytest.mark.parametrize(
    "documents",
    [
        {},
        {DISCOVERY: {"issuer": "https://evil.example", "jwks_uri": "https://evil.example/keys"}},
        {DISCOVERY: {"issuer": "URL", "jwks_uri": "http://127.0.0.1/keys"}},
        {DISCOVERY: {"issuer": "URL", "jwks_uri": "URL/keys"}, "/keys": {"keys": "none"}},
        {DISCOVERY: {"issuer": "URL", "jwks_uri": "URL/keys"}, "/keys": []},
    ],
    ids=["no discovery", "another issuer", "keys without TLS", "no set of keys", "no object"],
)
def test_an_issuer_in_disorder_lets_nobody_in_for_now(
    issuer: Issuer, documents: dict[str, Any]
) -> None:
    issuer.documents = json.loads(json.dumps(documents).replace("URL", issuer.url))
    with pytest.raises(Unavailable):
        AuthorizeTokens.of(issuer.url, [AUDIENCE])(f"Bearer {token(iss=issuer.url)}")


def test_an_issuer_that_is_down_or_not_to_be_trusted_lets_nobody_in_for_now(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = f"https://{HOST}:{free_port()}"
    with pytest.raises(Unavailable):
        AuthorizeTokens.of(away, [AUDIENCE])(f"Bearer {token(iss=away)}")
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(Unavailable):
        AuthorizeTokens.of(issuer.url, [AUDIENCE])(f"Bearer {token(iss=issuer.url)}")


def test_a_401_leads_the_official_client_of_mcp_to_the_issuer_and_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_case = AuthorizeTokens.of(ISSUER, [AUDIENCE], jwks={"keys": [public()]})
    module = load("authorize")
    monkeypatch.setattr(module.callers, "authorizer", lambda: use_case)
    refusals = Refusals(20, FakeClock())
    monkeypatch.setattr(module.callers, "refusals", lambda: refusals)
    domain = http_event("GET", "/")["requestContext"]["domainName"]
    with Served() as served, Issuer().serving() as issuer:
        served.authorize = lambda credential: invoked(
            module.handler, authorizer_event(credential or None)
        )["context"]
        issuer.documents[METADATA] = {
            "issuer": ISSUER,
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            **{f"{name}_endpoint": f"{ISSUER}/{path}" for name, path in ENDPOINTS.items()},
        }
        sites = {f"https://{domain}": served.url, ISSUER: issuer.url}
        metadata = page(http_event("GET", PAGE), stage="test", request_id="r", issuer=ISSUER)[
            "body"
        ]
        command = [
            python_of("mcp"),
            CLIENT,
            f"https://{domain}/v1/users/sarah/mcp",
            json.dumps(sites),
            metadata,
        ]
        ran = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - ours
        assert ran.returncode == 0, ran.stdout + ran.stderr
    saw = json.loads(ran.stdout)
    assert saw["tools"][0] == "recall"
    assert saw["discovered"][0] == f"https://{domain}{PAGE}"
    assert saw["wanted"] == "read write admin"
    assert issuer.resources == [f"https://{domain}/v1/users/sarah/mcp"]


ENDPOINTS = {"authorization": "authorize", "token": "token", "registration": "register"}
PAGE = "/.well-known/oauth-protected-resource/v1/users/sarah/mcp"

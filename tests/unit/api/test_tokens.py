"""Tokens of a deployer's issuer: what is in order is let in, anything else is a problem that leads
to the issuer.
"""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from io import StringIO
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from palimpsest.api.tokens import AuthorizeTokens
from palimpsest.clock import FakeClock
from palimpsest.errors import Unavailable
from palimpsest.observability import logger
from palimpsest.scope import OPERATOR
from palimpsest.tenants.refusals import Refusals

from tests.tokens import AUDIENCE, ISSUER, KEY, claims, public, token
from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Answer, authorizer_event, http_event, invoked
from tests.unit.api.handlers import load

OTHER = ec.generate_private_key(ec.SECP256R1())
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
AT_RSA = {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(RSA.public_key())), "kid": "r1"}
PAGE = "https://api.execute-api.us-east-1.amazonaws.com/.well-known/oauth-protected-resource"
Ask = Callable[..., Answer]


def tokens(*keys: dict[str, Any]) -> AuthorizeTokens:
    return AuthorizeTokens.of(
        ISSUER, [AUDIENCE, "another"], jwks={"keys": [*keys] or [public(), AT_RSA]}
    )


def authorizing(monkeypatch: pytest.MonkeyPatch, use_case: AuthorizeTokens) -> Any:
    """The function that authorizes calls, with this use case."""
    module, refusals = load("authorize"), Refusals(20, FakeClock())
    monkeypatch.setattr(module.callers, "authorizer", lambda: use_case)
    monkeypatch.setattr(module.callers, "refusals", lambda: refusals)
    return module


@pytest.fixture
def ask(service: Service, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """A call through authorizer and function, as the gateway makes it."""
    module = authorizing(monkeypatch, tokens())

    def asked(
        authorization: str | None, method: str = "GET", path: str = "/v1/sessions", body: Any = None
    ) -> Answer:
        stated = invoked(module.handler, authorizer_event(authorization))
        assert stated["isAuthorized"] is True
        headers = {} if authorization is None else {"Authorization": authorization}
        text = None if body is None else json.dumps(body)
        event = http_event(
            method, path, text, headers=headers, authorizer={"lambda": stated["context"]}
        )
        answer = invoked(service.handler, event)
        return Answer(answer["statusCode"], answer["headers"], answer["body"])

    return asked


def encoded(part: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


def unsigned(alg: str = "none") -> str:
    return f"{encoded({'alg': alg, 'kid': 'k1'})}.{encoded(claims())}."


def signed_with_the_public_key() -> str:
    """As HS256, whose secret everybody knows."""
    said = f"{encoded({'alg': 'HS256', 'kid': 'k1', 'typ': 'JWT'})}.{encoded(claims())}"
    known = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    signature = hmac.new(known, said.encode(), hashlib.sha256).digest()
    return f"{said}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


def test_a_good_token_brings_its_tenant_and_scopes(ask: Ask) -> None:
    hello = {"user_id": "sarah", "messages": [{"role": "user", "content": "hello"}]}
    assert ask(f"Bearer {token()}", "POST", "/v1/sessions/s/messages", hello).status == 201
    by_rsa = jwt.encode(claims(aud=["x", "another"]), RSA, algorithm="RS256", headers={"kid": "r1"})
    assert len(ask(f"bearer {by_rsa}").json["sessions"]) == 1
    assert ask(f"Bearer {token(tenant='other')}").json["sessions"] == []
    assert ask(f"Token {token()}").status == 200  # clients of mem0 call it so


HOSTILE: dict[str, Callable[[], str]] = {
    "no token": lambda: "",
    "no scheme": token,
    "basic": lambda: f"Basic {token()}",
    "a key": lambda: "Bearer pal_" + "k" * 43,
    "two tokens": lambda: f"Bearer {token()}, Bearer {token()}",
    "a line more": lambda: f"Bearer {token()}\n",
    "very long": lambda: f"Bearer {token(more='x' * 8_000)}",
    "no JSON": lambda: "Bearer e30.e30.e30",
    "unsigned": lambda: f"Bearer {unsigned()}",
    "unsigned with dots": lambda: f"Bearer {unsigned('None')}AA",
    "signature cut": lambda: f"Bearer {token()[:-8]}",
    "public key as a secret": lambda: f"Bearer {signed_with_the_public_key()}",
    "another's key": lambda: f"Bearer {token(key=OTHER)}",
    "a key of its own": lambda: f"Bearer {token(key=OTHER, headers={'jwk': public(OTHER)})}",
    "an address of keys": lambda: (
        f"Bearer {token(key=OTHER, headers={'jku': 'https://evil.example/keys'})}"
    ),
    "unknown key": lambda: f"Bearer {token(kid='k2')}",
    "a key of another kind": lambda: f"Bearer {token(kid='r1')}",
    "no key named": lambda: f"Bearer {token(kid=None)}",
    "critical": lambda: f"Bearer {token(headers={'crit': ['exp']})}",
    "over": lambda: f"Bearer {token(exp=int(time.time()) - 61)}",
    "never over": lambda: f"Bearer {token(exp=None)}",
    "over at no time": lambda: f"Bearer {token(exp='9999999999')}",
    "over too late": lambda: f"Bearer {token(exp=1e400)}",
    "not yet": lambda: f"Bearer {token(nbf=int(time.time()) + 120)}",
    "another issuer": lambda: f"Bearer {token(iss='https://evil.example')}",
    "nearly the issuer": lambda: f"Bearer {token(iss=ISSUER + '/')}",
    "two issuers": lambda: f"Bearer {token(iss=[ISSUER, 'https://evil.example'])}",
    "no issuer": lambda: f"Bearer {token(iss=None)}",
    "for another": lambda: f"Bearer {token(aud='payroll')}",
    "for nobody": lambda: f"Bearer {token(aud=None)}",
    "no tenant": lambda: f"Bearer {token(tenant=None)}",
    "an empty tenant": lambda: f"Bearer {token(tenant='')}",
    "a number": lambda: f"Bearer {token(tenant=5)}",
    "two tenants": lambda: f"Bearer {token(tenant=['acme', 'other'])}",
    "no tenant's name": lambda: f"Bearer {token(tenant='acme#other')}",
    "the operator": lambda: f"Bearer {token(tenant=OPERATOR)}",
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_no_valid_token_is_401_without_a_word_why(
    ask: Ask, hostile: Callable[[], str]
) -> None:
    answer = ask(hostile())
    assert (answer.status, answer.json["code"], answer.json["request_id"]) == (
        401,
        "unauthenticated",
        "request-1",
    )
    assert answer.json["detail"] in (
        "The call carries no valid token.",
        "The call carries no tenant.",
    )


def test_keys_of_one_name_are_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    module = authorizing(monkeypatch, tokens(public(), public(OTHER)))
    stated = invoked(module.handler, authorizer_event(f"Bearer {token()}"))
    assert stated["context"] == {"refused": "unauthenticated", "issuer": ISSUER}


@pytest.mark.parametrize("scope", [None, "", "write", "reader", ["read"], {"read": True}])
def test_a_token_without_the_scope_is_403_which_names_it(ask: Ask, scope: Any) -> None:
    answer = ask(f"Bearer {token(scope=scope)}")
    assert (answer.status, answer.json["code"]) == (403, "missing_scope")
    more = 'error="insufficient_scope", scope="read"'
    assert (
        answer.headers["WWW-Authenticate"]
        == f'Bearer resource_metadata="{PAGE}/v1/sessions", {more}'
    )


def test_all_scopes_of_the_call_are_named(ask: Ask) -> None:
    answer = ask(
        f"Bearer {token(scope='write')}", "POST", "/v1/sessions/s/prune", {"strategy": "fifo"}
    )
    assert 'scope="read write"' in answer.headers["WWW-Authenticate"]


@pytest.mark.parametrize(
    ("authorization", "error"),
    [(None, ""), ("Bearer a.b.c", ', error="invalid_token"')],
    ids=["absent", "wrong"],
)
def test_a_401_names_the_page_that_says_whose_tokens_are_taken(
    ask: Ask, authorization: Any, error: str
) -> None:
    answer = ask(authorization, "POST", "/v1/users/sa:rah|x%20/mcp", {})
    named = f"{PAGE}/v1/users/sa:rah%7Cx%20/mcp"
    assert (answer.status, answer.headers["WWW-Authenticate"]) == (
        401,
        f'Bearer resource_metadata="{named}"{error}',
    )


def test_an_issuer_that_can_t_be_reached_is_503(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: str | None) -> None:
        raise Unavailable("The issuer's keys can't be fetched now.")

    monkeypatch.setattr(AuthorizeTokens, "__call__", lambda _, token: fails(token))
    answer = ask(f"Bearer {token()}")
    assert (answer.status, answer.json["code"], answer.json["retryable"]) == (
        503,
        "unavailable",
        True,
    )
    assert "WWW-Authenticate" not in answer.headers


def test_of_a_token_only_tenant_and_scopes_are_logged(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", log)
    good, bad = token(sub="sarah@example.com"), token(sub="sarah@example.com", tenant=None)
    assert [ask(f"Bearer {each}").status for each in (good, bad)] == [200, 401]
    assert log.getvalue().count('"authorized"') == 1
    assert not [
        each for each in (*good.split("."), *bad.split("."), "sarah@") if each in log.getvalue()
    ]

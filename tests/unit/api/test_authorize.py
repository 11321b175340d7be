"""The authorizer vouches for keys that are known, unrevoked and unexpired; whatever it refuses has
no tenant.
"""

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from palimpsest.api.app import HttpApp
from palimpsest.api.operations import operations_of
from palimpsest.clock import FakeClock
from palimpsest.errors import Unavailable
from palimpsest.observability import logger
from palimpsest.tenants.authorize import Authorize
from palimpsest.tenants.keys import ApiKey, key_id
from palimpsest.tenants.refusals import Refusals
from palimpsest_local.stores.tenants import LocalTenants

from tests.unit.api.gateway import authorizer_event, http_event, invoked
from tests.unit.api.handlers import load

KEY = "pal_" + "k" * 43
REFUSED = {"isAuthorized": True, "context": {"refused": "invalid_key"}}
NOBODY = {"isAuthorized": True, "context": {"refused": "unauthenticated"}}


class Authorizing:
    MOST = 20

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock, self.tenants = FakeClock(), LocalTenants()
        module = load("authorize")
        use_case = Authorize(self.tenants, self.clock)
        refusals = Refusals(self.MOST, self.clock)
        monkeypatch.setattr(module.callers, "authorizer", lambda: use_case)
        monkeypatch.setattr(module.callers, "refusals", lambda: refusals)
        self.handler = module.handler

    def add(self, **more: Any) -> None:
        self.tenants.add(
            ApiKey(id=key_id(KEY), tenant="acme", scopes=frozenset({"write", "read"}), **more)
        )

    def __call__(self, authorization: str | None) -> dict[str, Any]:
        return invoked(self.handler, authorizer_event(authorization))


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Authorizing:
    return Authorizing(monkeypatch)


def test_a_known_key_brings_its_tenant_and_scopes(service: Authorizing) -> None:
    service.add()
    context = {"tenant": "acme", "scopes": "read write", "key_id": key_id(KEY)}
    assert service(f"Bearer {KEY}") == {"isAuthorized": True, "context": context}
    assert service(f"bearer {KEY}")["context"]["tenant"] == "acme"


def test_clients_of_mem0_send_the_same_key_their_way(service: Authorizing) -> None:
    service.add()
    assert service(f"Token {KEY}")["context"]["tenant"] == "acme"
    asked = {**authorizer_event(None), "rawPath": "/compat/mem0/memories"}
    its_own = {"X-API-Key": KEY}
    assert invoked(service.handler, {**asked, "headers": its_own})["context"]["tenant"] == "acme"
    assert invoked(service.handler, {**asked, "headers": its_own, "rawPath": "/v1/users"}) == NOBODY
    both = {"authorization": "Bearer pal_" + "z" * 43, "x-api-key": KEY}
    assert invoked(service.handler, {**asked, "headers": both}) == REFUSED


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        KEY,
        f"Basic {KEY}",
        f"Bearer  {KEY}",
        f"Bearer {KEY}x",
        f"Bearer {KEY[:-1]}",
        f"Bearer {KEY}, Bearer {KEY}",
        "Bearer pal_" + "z" * 43,
        "Bearer eyJhbGciOiJub25lIn0.eyJ0ZW5hbnQiOiJhY21lIn0.",
        f"Bearer {KEY}\n",
    ],
)
def test_anything_else_is_refused_without_a_word(
    service: Authorizing, authorization: str | None
) -> None:
    service.add()
    assert service(authorization) == (REFUSED if authorization else NOBODY)


def test_a_key_in_the_query_string_is_no_credential(service: Authorizing) -> None:
    service.add()
    event = authorizer_event(None, query=f"authorization=Bearer%20{KEY}")
    assert invoked(service.handler, event) == NOBODY


def test_a_revoked_key_is_refused(service: Authorizing) -> None:
    service.add(revoked=True)
    assert service(f"Bearer {KEY}") == REFUSED


def test_a_key_that_was_good_is_refused_at_most_a_minute_after_it_was_revoked(
    service: Authorizing, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.add()
    assert service(f"Bearer {KEY}")["context"]["tenant"] == "acme"
    monkeypatch.setattr(service.tenants, "api_key", lambda _: None)
    service.clock.advance(59)
    assert service(f"Bearer {KEY}")["context"]["tenant"] == "acme"
    service.clock.advance(1)
    assert service(f"Bearer {KEY}") == REFUSED


def test_a_key_works_from_when_it_is_made_whatever_was_answered_before(
    service: Authorizing,
) -> None:
    assert service(f"Bearer {KEY}") == REFUSED
    service.add()
    assert service(f"Bearer {KEY}")["context"]["tenant"] == "acme"


def test_keys_that_are_remembered_have_a_limit(
    service: Authorizing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.tenants.authorize.MOST_KEYS", 2)
    use_case = Authorize(service.tenants, service.clock)
    for letter in "abc":
        key = "pal_" + letter * 43
        service.tenants.add(ApiKey(id=key_id(key), tenant=letter, scopes=frozenset()))
        assert use_case(f"Bearer {key}").tenant == letter
    assert len(use_case.known) <= 2


def test_a_key_is_refused_once_it_has_expired(service: Authorizing) -> None:
    service.add(expires_at=int((service.clock.now() + timedelta(hours=1)).timestamp()))
    assert service(f"Bearer {KEY}")["context"]["tenant"] == "acme"
    service.clock.advance(3595)
    assert service(f"Bearer {KEY}")["context"]["tenant"] == "acme"
    service.clock.advance(5)
    assert service(f"Bearer {KEY}") == REFUSED


def test_a_store_that_cannot_answer_vouches_for_nobody(
    service: Authorizing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: str) -> None:
        raise Unavailable("The store can't answer.")

    monkeypatch.setattr(service.tenants, "api_key", fails)
    assert service(f"Bearer {KEY}") == {"isAuthorized": True, "context": {"refused": "unavailable"}}


def test_no_key_is_ever_logged(service: Authorizing, monkeypatch: pytest.MonkeyPatch) -> None:
    log = StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", log)
    service.add()
    service(f"Bearer {KEY}")
    service("Bearer pal_" + "z" * 43)
    assert len(log.getvalue().splitlines()) == 2
    assert "kkkk" not in log.getvalue()
    assert "zzzz" not in log.getvalue()


@pytest.mark.parametrize(
    ("authorization", "status", "code"),
    [
        (None, 401, "unauthenticated"),
        (f"Basic {KEY}", 401, "invalid_key"),
        ("Bearer pal_" + "z" * 43, 401, "invalid_key"),
        (f"Bearer {KEY}", 403, "missing_scope"),
    ],
)
def test_through_authorizer_and_function_a_wrong_key_is_401_and_a_missing_scope_403(
    service: Authorizing, authorization: str | None, status: int, code: str
) -> None:
    def nothing() -> Any:
        raise AssertionError("the use cases were asked for")

    service.add()
    who = {"lambda": service(authorization)["context"]}
    for path, function in (("/v1/settings", "sessions"), ("/v1/static-facts/a", "memories")):
        answers = HttpApp(nothing, operations_of(function))  # type: ignore[arg-type]
        answer = invoked(answers, http_event("PUT", path, "{}", authorizer=who))
        assert (answer["statusCode"], json.loads(answer["body"])["code"]) == (status, code)
        assert answer["headers"].get("WWW-Authenticate") == ("Bearer" if status == 401 else None)


def test_a_flood_of_refused_calls_ends_at_the_gateway_and_the_next_minute_begins_anew(
    service: Authorizing,
) -> None:
    for _ in range(service.MOST):
        assert service("Bearer pal_" + "z" * 43) == REFUSED
    assert service("Bearer pal_" + "z" * 43) == service(None) == {"isAuthorized": False}
    service.add()
    assert service(f"Bearer {KEY}")["isAuthorized"] is True
    service.clock.advance(60)
    assert service(None) == NOBODY

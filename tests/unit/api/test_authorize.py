"""The authorizer vouches for keys that are known, unrevoked and unexpired, and for nothing else."""

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from palimpsest.clock import FakeClock
from palimpsest.engines.in_memory.tenants import InMemoryTenants
from palimpsest.errors import Unavailable
from palimpsest.observability import logger
from palimpsest.tenants.authorize import Authorize, key_id
from palimpsest.tenants.ports import ApiKey

from tests.unit.api.gateway import authorizer_event, invoked
from tests.unit.api.handlers import load

KEY = "pal_" + "k" * 43


class Authorizing:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock, self.tenants = FakeClock(), InMemoryTenants()
        module = load("authorize")
        monkeypatch.setattr(module.bootstrap, "authorizer", lambda: Authorize(self.tenants, self.clock))
        self.handler = module.handler

    def add(self, **more: Any) -> None:
        self.tenants.add(ApiKey(id=key_id(KEY), tenant="acme", scopes=frozenset({"write", "read"}), **more))

    def __call__(self, authorization: str | None) -> dict[str, Any]:
        return invoked(self.handler, authorizer_event(authorization))


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Authorizing:
    return Authorizing(monkeypatch)


def test_a_known_key_brings_its_tenant_and_scopes(service: Authorizing) -> None:
    service.add()
    context = {"tenant": "acme", "scopes": "read write", "key_id": key_id(KEY)}
    assert service(f"Bearer {KEY}") == {"isAuthorized": True, "context": context}
    assert service(f"bearer {KEY}")["isAuthorized"] is True


def test_clients_of_mem0_send_the_same_key_their_way(service: Authorizing) -> None:
    service.add()
    assert service(f"Token {KEY}")["isAuthorized"] is True
    asked = authorizer_event(None)
    assert invoked(service.handler, {**asked, "headers": {"X-API-Key": KEY}})["isAuthorized"] is True
    both = {"authorization": "Bearer pal_" + "z" * 43, "x-api-key": KEY}
    assert invoked(service.handler, {**asked, "headers": both})["isAuthorized"] is False


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
def test_anything_else_is_refused_without_a_word(service: Authorizing, authorization: str | None) -> None:
    service.add()
    assert service(authorization) == {"isAuthorized": False}


def test_a_key_in_the_query_string_is_no_credential(service: Authorizing) -> None:
    service.add()
    event = authorizer_event(None, query=f"authorization=Bearer%20{KEY}")
    assert invoked(service.handler, event) == {"isAuthorized": False}


def test_a_revoked_key_is_refused(service: Authorizing) -> None:
    service.add(revoked=True)
    assert service(f"Bearer {KEY}") == {"isAuthorized": False}


def test_a_key_is_refused_once_it_has_expired(service: Authorizing) -> None:
    service.add(expires_at=int((service.clock.now() + timedelta(hours=1)).timestamp()))
    assert service(f"Bearer {KEY}")["isAuthorized"] is True
    service.clock.advance(3600)
    assert service(f"Bearer {KEY}") == {"isAuthorized": False}


def test_a_store_that_cannot_answer_vouches_for_nobody(service: Authorizing, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: str) -> None:
        raise Unavailable("The store can't answer.")

    monkeypatch.setattr(service.tenants, "api_key", fails)
    with pytest.raises(Unavailable):
        service(f"Bearer {KEY}")


def test_no_key_is_ever_logged(service: Authorizing, monkeypatch: pytest.MonkeyPatch) -> None:
    log = StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", log)
    service.add()
    service(f"Bearer {KEY}")
    service("Bearer pal_" + "z" * 43)
    assert len(log.getvalue().splitlines()) == 2
    assert "kkkk" not in log.getvalue()
    assert "zzzz" not in log.getvalue()

"""An import obeys the tenant's setting `secrets`, as an append does."""

from __future__ import annotations

import pytest

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client
from tests.unit.transfer.files import exported, imported, of_kind, rows_of, sent

PASSWORD = "Xylophone77"
SAID = f"My password is {PASSWORD}."
HISTORY = "/v1/sessions/monday/messages"
USER = "/v1/users/sarah"


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def call(service: Service) -> Client:
    return service.client()


def moved(service: Service, call: Client) -> str:
    """The export of a user whose messages hold a secret, and who is erased then."""
    system = {"role": "system", "content": f"The admin's password is {PASSWORD}."}
    said = [{"role": "user", "content": text} for text in (SAID, "I live in Kiel.")]
    body = {"user_id": "sarah", "messages": [system, *said]}
    assert call("POST", HISTORY, body).status == 201
    text = exported(service, call)
    assert call("DELETE", USER).status == 202
    service.drain()
    return text


def test_an_import_masks_what_an_append_would_mask(service: Service, call: Client) -> None:
    text = moved(service, call)
    ids = [row["id"] for row in of_kind(rows_of(text), "message")]
    call("PUT", "/v1/settings", {"secrets": "mask"})
    assert imported(service, call, text)["restored"] == 1
    page = call("GET", HISTORY).json["messages"]
    assert [row["content"] for row in page] == [
        "The admin's password is [secret].",
        "My password is [secret].",
        "I live in Kiel.",
    ]
    assert [row["id"] for row in page] == ids
    assert ["redacted_at" in row for row in page] == [True, True, False]
    assert PASSWORD not in call("GET", "/v1/sessions/monday/context").text
    again = exported(service, call)
    assert PASSWORD not in again
    assert imported(service, call, text)["there"] == 1
    call("DELETE", USER)
    service.drain()
    assert imported(service, call, again)["restored"] == 1


def test_an_import_that_the_tenant_refuses_stores_nothing(service: Service, call: Client) -> None:
    text = moved(service, call)
    call("PUT", "/v1/settings", {"secrets": "refuse"})
    refused = sent(call, text)
    assert (refused.status, refused.json["code"]) == (422, "secret_refused")
    line = next(n for n, row in enumerate(rows_of(text), 1) if row["kind"] == "message")
    assert refused.json["errors"][0]["field"] == f"line {line}"
    assert PASSWORD not in refused.text
    assert call("GET", HISTORY).status == 404


def test_the_job_of_parts_with_a_secret_fails_and_stores_nothing(
    service: Service, call: Client
) -> None:
    text = moved(service, call)
    call("PUT", "/v1/settings", {"secrets": "refuse"})
    path = f"{USER}/import"
    assert call("PUT", f"{path}/u/0", {"data": text}).status == 200
    job = call("POST", path, {"data": {"upload_id": "u"}}).json["job_id"]
    service.drain()
    found = call("GET", f"/v1/jobs/{job}").json
    assert (found["state"], found["error"]) == ("failed", "secret_refused")
    assert call("GET", HISTORY).status == 404


def test_by_default_an_import_is_as_it_was_exported(service: Service, call: Client) -> None:
    text = moved(service, call)
    imported(service, call, text)
    assert call("GET", HISTORY).json["messages"][1]["content"] == SAID

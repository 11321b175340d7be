"""Which models a caller may name: those of the operator's list, or fewer if the tenant's settings
say so.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Answer, Client

SESSION = "/v1/sessions/s"
SETTINGS = "/v1/settings"
SMALL, LARGE, DEAREST = "gpt-4.1-nano", "gpt-4.1", "gpt-5-pro"


@pytest.fixture
def service(tmp_path: Path) -> Service:
    """A stack whose operator lists two models."""
    return Service(tmp_path, models=(SMALL, LARGE))


def naming(model: str | None) -> dict[str, Any]:
    return {"memory": {"summary_model": model}}


def refused(answer: Answer) -> tuple[int, str, dict[str, str]]:
    return answer.status, answer.json["code"], answer.json["errors"][0]


@pytest.mark.parametrize(
    ("method", "path", "beside"),
    [
        ("POST", "/v1/sessions", {"session_id": "new", "user_id": "sarah"}),
        ("PUT", "/v1/sessions/new", {"user_id": "sarah"}),
        (
            "POST",
            "/v1/sessions/new/messages",
            {"user_id": "sarah", "messages": [{"role": "user", "content": "Hi."}]},
        ),
        ("PUT", SESSION, {}),
        ("PATCH", SESSION, {}),
        ("PUT", SETTINGS, {}),
    ],
)
def test_a_model_outside_the_operators_list_is_422_and_nothing_changes(
    call: Client, service: Service, method: str, path: str, beside: dict[str, Any]
) -> None:
    call("PUT", SESSION, {"user_id": "sarah", **naming(LARGE)})
    before = call("GET", SESSION).json, call("GET", SETTINGS).json
    error = {"field": "memory.summary_model", "message": f"must be one of: {SMALL}, {LARGE}"}
    assert refused(call(method, path, {**beside, **naming(DEAREST)})) == (
        422,
        "model_not_allowed",
        error,
    )
    assert (call("GET", SESSION).json, call("GET", SETTINGS).json) == before
    assert call("GET", "/v1/sessions/new").status == 404
    assert service.summarizer.models == []
    for allowed in (SMALL, LARGE, None):
        assert call(method, path, {**beside, **naming(allowed)}).status in (200, 201, 409)


def test_a_tenant_may_allow_fewer_models_but_not_more(call: Client) -> None:
    error = {"field": "models.1", "message": f"must be one of: {SMALL}, {LARGE}"}
    assert refused(call("PUT", SETTINGS, {"models": [SMALL, DEAREST]})) == (
        422,
        "model_not_allowed",
        error,
    )
    assert call("PUT", SETTINGS, {"models": [SMALL]}).json["models"] == [SMALL]
    answer = call("PUT", SESSION, {"user_id": "sarah", **naming(LARGE)})
    error = {"field": "memory.summary_model", "message": f"must be one of: {SMALL}"}
    assert refused(answer) == (422, "model_not_allowed", error)
    assert call("PUT", SESSION, {"user_id": "sarah", **naming(SMALL)}).status == 201
    call("PUT", SETTINGS, {"models": []})
    assert (
        refused(call("PATCH", SESSION, naming(SMALL)))[2]["message"] == "no model may be named here"
    )
    assert (
        refused(call("PUT", SETTINGS, {"models": [], **naming(SMALL)}))[2]["field"]
        == "memory.summary_model"
    )


def test_a_model_that_only_gives_the_budget_is_called_by_nobody_and_may_be_any(
    call: Client,
) -> None:
    assert (
        call("PUT", SESSION, {"user_id": "sarah", "memory": {"model": "gpt-4"}}).json["window"][
            "max_tokens"
        ]
        == 4_192
    )


def test_a_model_that_was_taken_from_the_list_is_not_called_any_more(
    service: Service, call: Client
) -> None:
    """The session can still be changed, and is folded by the configured model."""
    call(
        "PUT", SESSION, {"user_id": "sarah", "memory": {"summary_model": LARGE, "max_tokens": 300}}
    )
    service.models = (SMALL,)
    service._wire_front(long_term=True, selector=None)
    service.wire_workers()
    assert (
        call("PATCH", SESSION, {"memory": {"keep_recent_turns": 1}}).json["memory"]["summary_model"]
        == LARGE
    )
    service.say(8, letters=200)
    service.drain()
    assert set(service.summarizer.models) == {None}

"""Limits that a tenant sets for itself: 429 says which, and until when; work that a model would do
loses nothing.
"""

from __future__ import annotations

from typing import Any

import pytest
from palimpsest.api.app import HttpApp
from palimpsest.api.operations import operations_of
from palimpsest.conversations.overflow.model_summary import ModelSummarizer, Summaries
from palimpsest.extraction.model import ModelExtractor
from palimpsest.models.metered import Meter
from palimpsest.models.ports import LanguageModel
from palimpsest.offline.summarizer import ExtractiveSummarizer
from palimpsest.wiring.models import metered

from tests.doubles.tokens import LetterCounter
from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client
from tests.unit.api.test_usage import LONG, REPLY, Billed

SETTINGS, MEMORIES = "/v1/settings", "/v1/users/sarah/memories"
SMALL = {
    "strategy": "summarize",
    "max_tokens": 900,
    "keep_recent_turns": 1,
    "extract": "manual",
    "blocks": [],
}


class HasKey:
    def value(self) -> str | None:
        return "key"


def limited(call: Client, *, memory: Any = None, **limits: Any) -> None:
    answer = call("PUT", SETTINGS, {"memory": memory or {}, "limits": limits})
    assert (answer.status, {k: v for k, v in answer.json["limits"].items() if v is not None}) == (
        200,
        limits,
    )


def refused(answer: Any) -> tuple[int, str, Any]:
    return answer.status, answer.json["code"], answer.json["limit"]


def test_a_tenant_has_no_limits_until_it_sets_some(call: Client) -> None:
    none = dict.fromkeys(("requests_per_second", "sessions", "memories", "model_cost_usd"))
    assert call("GET", SETTINGS).json["limits"] == none
    limited(call, sessions=3)
    assert call("GET", SETTINGS).json["limits"] == none | {"sessions": 3}
    assert call("PUT", SETTINGS, {}).json["limits"] == none


@pytest.mark.parametrize(
    "limits",
    [{"sessions": 0}, {"sessions": "3"}, {"memories": -1}, {"requests_per_second": 1_001}, {"model_cost_usd": -0.1},
     {"users": 3}],
)  # fmt: skip
def test_what_is_no_limit_is_422_and_changes_nothing(call: Client, limits: dict[str, Any]) -> None:
    answer = call("PUT", SETTINGS, {"limits": limits})
    assert (answer.status, answer.json["errors"][0]["field"]) == (
        422,
        f"limits.{next(iter(limits))}",
    )
    assert set(call("GET", SETTINGS).json["limits"].values()) == {None}


def test_of_the_requests_of_a_second_so_many_are_answered(call: Client, service: Service) -> None:
    limited(call, requests_per_second=2)
    service.time.advance(60)
    other = service.client(tenant="other")
    answers = [call("GET", SETTINGS) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    limit = {"name": "requests_per_second", "most": 2, "retry_after": 1}
    assert refused(answers[-1]) == (429, "too_many_requests", limit)
    assert (answers[-1].headers["Retry-After"], answers[-1].json["retryable"]) == ("1", True)
    assert [other("GET", SETTINGS).status for _ in range(3)] == [200] * 3
    service.time.advance(1)
    assert call("GET", SETTINGS).status == 200


def test_without_a_limit_no_request_is_counted(call: Client, service: Service) -> None:
    for _ in range(3):
        call("GET", SETTINGS)
    assert service.shared.taken == {}


def test_so_many_sessions_exist_at_a_time(call: Client, service: Service) -> None:
    limited(call, sessions=2)
    assert [call.append(name, "hello").status for name in ("a", "b")] == [201, 201]
    limit = {"name": "sessions", "most": 2, "retry_after": None}
    begun = [
        call.append("c", "hello"),
        call("POST", "/v1/sessions", {"session_id": "c", "user_id": "sarah"}),
        call("PUT", "/v1/sessions/c", {"user_id": "sarah"}),
        call(
            "POST",
            "/v1/users/sarah/ingest",
            {"session_id": "c", "messages": [{"role": "user", "content": "hello"}]},
        ),
    ]
    assert [refused(answer) for answer in begun] == [(429, "session_limit", limit)] * 4
    assert all(
        not answer.json["retryable"] and "Retry-After" not in answer.headers for answer in begun
    )
    assert call("GET", "/v1/sessions/c").status == 404
    assert call.append("a", "hello again").status == 201
    call("DELETE", "/v1/sessions/b")
    service.drain()
    assert call.append("c", "hello").status == 201


def test_so_many_memories_of_a_user_exist_at_a_time(call: Client, service: Service) -> None:
    limited(call, memories=2)
    assert call.save("Sarah likes tea.", "Sarah likes cake.").status == 201
    limit = {"name": "memories", "most": 2, "retry_after": None}
    assert refused(call.save("Sarah likes rum.")) == (429, "memory_limit", limit)
    assert (
        refused(call("PUT", "/v1/users/sarah/preferences/theme", {"value": "dark"}))[1]
        == "memory_limit"
    )
    assert call.save("Sarah likes tea.").status == 201, "it is known: nothing more is stored"
    assert call.save("David likes rum.", user="david").status == 201
    saved = call("GET", MEMORIES).json["memories"]
    assert {each["content"] for each in saved} == {"Sarah likes cake.", "Sarah likes tea."}
    call("DELETE", f"{MEMORIES}/{saved[0]['id']}")
    service.drain()
    assert call.save("Sarah likes rum.").status == 201


def test_versions_of_a_memory_do_not_count_and_one_that_comes_back_does(
    call: Client, service: Service
) -> None:
    limited(call, memories=2)
    for city in ("Rome", "Paris", "Lisbon"):
        service.time.advance(60)
        assert (
            call.save({"type": "fact", "content": f"lives in {city}", "topic_key": "city"}).status
            == 201
        )
    call.save("Sarah likes tea.")
    tea, lisbon = (memory["id"] for memory in call("GET", MEMORIES).json["memories"])
    assert call("PATCH", f"{MEMORIES}/{tea}", {"content": "Sarah likes mint tea."}).status == 200
    assert refused(call.save("Sarah likes rum."))[1] == "memory_limit"
    older = call("GET", f"{MEMORIES}/{lisbon}/history").json["versions"][-1]["id"]
    call("DELETE", f"{MEMORIES}/{lisbon}")
    assert call.save("Sarah likes rum.").status == 201
    assert refused(call("POST", f"{MEMORIES}/{older}/revert", {}))[1] == "memory_limit"
    assert len(call("GET", MEMORIES).json["memories"]) == 2


def test_what_a_process_knows_of_limits_is_bounded(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.api.app.MOST_KNOWN", 2)
    app = HttpApp(lambda: service.app, operations_of("sessions"))
    for number in range(5):
        assert Client(app, tenant=f"t{number}")("GET", SETTINGS).status == 200
    assert len(app._rate._known) == 2


def test_extraction_waits_for_room_and_then_remembers(call: Client, service: Service) -> None:
    limited(call, memories=1)
    call.save("Sarah likes tea.")
    told = {
        "session_id": "s",
        "messages": [{"role": "user", "content": "fact[home]: lives in Lisbon"}],
    }
    job = call("POST", "/v1/users/sarah/ingest", told).json["job_id"]
    service.drain()
    waiting = call("GET", f"/v1/jobs/{job}").json
    assert (waiting["state"], waiting["error"], waiting["ledger"]["parked"]) == (
        "failed",
        "memory_limit",
        1,
    )
    assert [record.content for record in service.records()] == ["Sarah likes tea."]
    limited(call)
    service.time.advance(600)
    service.sweep_all()
    service.drain()
    assert "lives in Lisbon" in service.contents()


def paid(service: Service, model: Billed) -> LanguageModel:
    return metered(
        model, Meter(service.usages, service.clock, lambda *_, **__: None), tenants=service.tenants
    )


def folded(call: Client) -> str:
    """How the next overflow is summarised: its job's id."""
    body = {
        "user_id": "sarah",
        "messages": [{"role": "user", "content": LONG}, REPLY],
        "allow_repeat": True,
    }
    while (armed := call("POST", "/v1/sessions/s/messages", body).json["overflow"]) is None:
        pass
    return str(armed["job_id"])


def test_over_the_months_cost_summaries_are_made_without_a_model(
    call: Client, service: Service
) -> None:
    model, tokens = Billed(), LetterCounter()
    offline = ExtractiveSummarizer(tokens)
    service.summarizer = Summaries(  # type: ignore[assignment]
        key=HasKey(), model=ModelSummarizer(paid(service, model), tokens), offline=offline
    )
    service.wire_workers()
    limited(call, memory=SMALL, model_cost_usd=0.000001)
    methods = []
    for _ in range(3):
        folded(call)
        service.drain()
        methods.append(call("GET", "/v1/sessions/s/compactions").json["compactions"][-1]["method"])
    assert (methods, model.calls) == (["model", "extractive", "extractive"], 1)
    service.time.advance(31 * 24 * 3600)
    call.append("s", "hello")
    folded(call)
    service.drain()
    assert (
        call("GET", "/v1/sessions/s/compactions").json["compactions"][-1]["method"],
        model.calls,
    ) == ("model", 2)


def test_over_the_months_cost_extraction_waits_and_loses_nothing(
    call: Client, service: Service
) -> None:
    model = Billed()
    service.extractor = ModelExtractor(paid(service, model), LetterCounter())
    service.wire_workers()
    limited(call, model_cost_usd=0)
    told = {"session_id": "s", "messages": [{"role": "user", "content": "I live in Lisbon."}]}
    job = call("POST", "/v1/users/sarah/ingest", told).json["job_id"]
    service.drain()
    waiting = call("GET", f"/v1/jobs/{job}").json
    assert (waiting["state"], waiting["error"], waiting["ledger"]["parked"]) == (
        "failed",
        "model_cost_limit",
        1,
    )
    assert (model.calls, waiting["usage"]["model_calls"]) == (0, 0)
    assert call("GET", "/v1/usage").json["usage"][0]["model_calls"] == 0
    limited(call)
    model.answer = '{"memories": []}'
    service.time.advance(600)
    service.sweep_all()
    service.drain()
    assert model.calls == 1


def test_over_the_months_cost_an_answer_quotes_and_says_so(call: Client, service: Service) -> None:
    model = Billed()
    service.answerer = paid(service, model)
    limited(call, model_cost_usd=0)
    call.save("Sarah lives in Lisbon.")
    service.brought_up_to_date()
    found = call(
        "POST", "/v1/users/sarah/recall", {"query": "Where does Sarah live?", "answer": True}
    ).json
    assert ("answer" in found["degraded"], found["usage"]["model_calls"], model.calls) == (
        True,
        0,
        0,
    )
    assert "Lisbon" in found["answer"]

"""Every sample in events/ for the functions behind the gateway is fed to its handler."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from palimpsest.conversations.drafts import Draft
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.handling import CountedTries, Worker
from palimpsest.search.rebuild import StartReindex
from palimpsest.tenants.authorize import Authorize
from palimpsest.tenants.keys import ApiKey, key_id
from palimpsest.tenants.refusals import Refusals

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import invoked
from tests.unit.api.handlers import ROOT, load
from tests.unit.conversations.service import ConversationService

EVENTS = ROOT / "events"
SESSION = "onboarding-7"
STATUS = {
    "append": 201,
    "append-tool-call": 201,
    "append-with-context": 201,
    "change": 200,
    "compactions": 200,
    "context": 200,
    "create": 409,  # the session of the other samples is there
    "delete": 202,
    "end": 200,
    "extract": 200,
    "forget": 200,
    "history": 200,
    "jobs": 200,
    "prune": 200,
    "refused-body": 400,
    "refused-id": 400,
    "refused-without-tenant": 401,
    "settings": 200,
    "usage": 200,
}

MEMORY_STATUS = {
    "change": 200,
    "context-for-message": 200,
    "delete": 200,
    "erase": 202,
    "forget": 200,
    "history": 200,
    "ingest": 202,
    "list": 200,
    "preference": 201,
    "read": 200,
    "recall": 200,
    "refused-body": 422,
    "refused-id": 400,
    "refused-without-tenant": 401,
    "revert": 200,
    "save": 201,
    "search": 200,
    "sessions": 200,
    "static-fact": 201,
    "static-facts": 200,
    "tool-call": 200,
    "tools": 200,
    "user": 200,
    "users": 200,
    "vectors": 200,
    "graph": 201,
}


def samples(function: str) -> list[Any]:
    return [pytest.param(path, id=path.stem) for path in sorted((EVENTS / function).glob("*.json"))]


def answer_to(module: ModuleType, sample: Path) -> dict[str, Any]:
    return invoked(module.handler, json.loads(sample.read_text()))


@pytest.mark.parametrize("sample", samples("sessions"))
def test_sessions_answers_its_samples(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service, module = Service(), load("sessions")
    monkeypatch.setattr(module.deployed, "sessions_service", lambda: service.app)
    drafts = [Draft({"role": "user", "content": "Hello, I am Sarah."})]
    service.app.append(service.session(SESSION), drafts, user="sarah", agent="hr-assistant")
    answer = answer_to(module, sample)
    assert answer["statusCode"] == STATUS[sample.stem], answer["body"]
    assert isinstance(json.loads(answer["body"]), dict)


@pytest.mark.parametrize("sample", samples("memories"))
def test_memories_answers_its_samples(
    sample: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    service, module = Service(tmp_path), load("memories")
    monkeypatch.setattr(module.deployed, "memories_service", lambda: service.memories_app)
    service.client().append(SESSION, "Hello, I am Sarah.", agent_id="hr-assistant")
    department = {"type": "fact", "topic_key": "department"}
    service.client().save(
        {**department, "content": "Sarah works in Sales.", "valid_from": "2025-03-01T08:00:00Z"},
        {
            **department,
            "content": "Sarah works in Marketing.",
            "valid_from": "2025-12-01T08:00:00Z",
        },
    )
    answer = answer_to(module, sample)
    assert answer["statusCode"] == MEMORY_STATUS[sample.stem], answer["body"]
    assert isinstance(json.loads(answer["body"]), dict)


@pytest.mark.parametrize("sample", samples("authorize"))
def test_authorize_answers_its_samples(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service, module = ConversationService(), load("authorize")
    service.tenants.add(
        ApiKey(key_id("pal_" + "EXAMPLE-" * 5 + "KEY"), "acme", frozenset({"read"}))
    )
    monkeypatch.setattr(
        module.callers, "authorizer", lambda: Authorize(service.tenants, service.clock)
    )
    monkeypatch.setattr(module.callers, "refusals", lambda: Refusals(1, service.clock))
    known = {"tenant": "acme", "scopes": "read", "key_id": key_id("pal_" + "EXAMPLE-" * 5 + "KEY")}
    assert answer_to(module, sample)["context"] == (
        known if sample.stem == "key" else {"refused": "unauthenticated"}
    )


@pytest.mark.parametrize("sample", samples("site"))
def test_site_answers_its_samples(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAGE", "test")
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "site")
    answer = answer_to(load("site"), sample)
    assert answer["statusCode"] == 200
    assert answer["body"]


def ignored(*_: object, **__: object) -> None:
    """What a test does not ask for."""


def test_reindex_answers_its_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    service, module = ConversationService(), load("reindex")
    done: list[JobNotice] = []
    tries = CountedTries(service.jobs, service.clock)
    worker = Worker(done.append, service.give_up, hide=ignored, tries=tries, free_place=ignored)
    monkeypatch.setattr(module.indexing, "reindex_worker", lambda: worker)
    monkeypatch.setattr(
        module.indexing, "reindex_starter", lambda: StartReindex(service.jobs, service.clock)
    )
    begun, again = (answer_to(module, EVENTS / "reindex" / "start.json") for _ in range(2))
    assert (begun["is_new"], again) == (True, {**begun, "is_new": False})
    assert answer_to(module, EVENTS / "reindex" / "job.json") == {"batchItemFailures": []}
    assert [notice.kind for notice in done] == ["reindex"]
    assert {path.stem for path in (EVENTS / "reindex").glob("*.json")} == {"job", "start"}


def test_every_function_behind_the_gateway_has_samples() -> None:
    assert {path.stem for path in (EVENTS / "sessions").glob("*.json")} == set(STATUS)
    assert {path.stem for path in (EVENTS / "memories").glob("*.json")} == set(MEMORY_STATUS)
    assert all(samples(function) for function in ("authorize", "site"))

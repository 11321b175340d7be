"""The functions `sessions` and `memories` have one service over the same stores, with different
models.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

import pytest
from palimpsest import AgentMemory, settings
from palimpsest.engines.dynamodb.table import OneTable
from palimpsest.models.builtin import SPACE
from palimpsest.scope import Scope
from palimpsest.service.parts import Stores
from palimpsest.service.service import Service
from palimpsest.wiring import deployed as deployed_parts
from palimpsest.wiring import models, search, stores
from palimpsest_client.errors import ModelNotAllowed
from palimpsest_local.in_process import in_process

ENVIRONMENT = {
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "STAGE": "dev",
    "POWERTOOLS_SERVICE_NAME": "palimpsest",
    "OPENAI_KEY_PARAMETER": "/palimpsest/dev/openai-api-key",
    "CHAT_MODEL": "gpt-4.1",
    "MODELS": "gpt-4.1,gpt-4.1-mini",
    "TENANTS_TABLE": "tenants",
    "SESSIONS_TABLE": "sessions",
    "MEMORIES_TABLE": "memories",
    "CONTENTS_BUCKET": "contents",
    "LOG_DAYS": "365",
    "EMBEDDING_MODEL": SPACE.model,
    "EMBEDDING_DIMENSION": str(SPACE.dimension),
}


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Service, Service]]:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(OneTable, "warm", lambda _: None)  # no table is reached
    made = [
        member
        for module in (models, search, stores, deployed_parts)
        for member in vars(module).values()
    ]
    caches = [each for each in made if hasattr(each, "cache_clear")]
    for cached in caches:
        cached.cache_clear()
    yield deployed_parts.sessions_service(), deployed_parts.memories_service()
    for cached in caches:
        cached.cache_clear()


def test_both_functions_have_the_same_stores(deployed: tuple[Service, Service]) -> None:
    of_sessions, of_memories = (service.stores for service in deployed)
    of_calls = {"index", "vectors"}  # made at their first use
    for name in {field.name for field in fields(Stores)} - of_calls:
        kinds = [type(getattr(stores, name)) for stores in (of_sessions, of_memories)]
        assert kinds[0] is kinds[1], name
    assert of_sessions.tenants is of_memories.tenants
    assert of_sessions.index() is not of_memories.index()
    assert of_sessions.vectors() is of_memories.vectors()


def test_receipts_say_how_long_this_deployment_keeps_its_logs(
    deployed: tuple[Service, Service],
) -> None:
    assert [service.log_days for service in deployed] == [365, 365]


def test_no_model_selects_or_answers_in_the_function_of_every_turn(
    deployed: tuple[Service, Service],
) -> None:
    of_sessions, of_memories = (service.models for service in deployed)
    assert (of_sessions.selector, of_sessions.answerer()) == (None, None)
    assert of_memories.selector is not None
    assert of_sessions.may_name == of_memories.may_name == ("gpt-4.1", "gpt-4.1-mini")


def test_a_use_case_is_built_once_at_its_first_use(deployed: tuple[Service, Service]) -> None:
    of_sessions, of_memories = deployed
    assert "append" in vars(of_sessions)
    assert "graph" not in vars(of_sessions)
    assert of_sessions.graph is of_sessions.graph
    assert "graph" in vars(of_sessions)
    assert "graph" in vars(of_memories)


def test_the_library_over_deployed_tables_refuses_a_model_that_the_operator_does_not_list() -> None:
    here = in_process(Scope("acme"), memory={})
    models = replace(here.service.models, may_name=("gpt-4.1",))
    memory = AgentMemory.of(replace(here.service, models=models), tenant="acme", user="sarah")
    memory.append("monday", "Hello!")
    with pytest.raises(ModelNotAllowed) as refused:
        memory.configure("monday", memory={"summary_model": "gpt-4.1-mini"})
    assert refused.value.code == "model_not_allowed"
    assert settings.MemoriesSettings.read(ENVIRONMENT).models == ("gpt-4.1", "gpt-4.1-mini")

"""What two functions can do is built twice: `AgentMemory` over deployed tables meets both, so they
must not differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from palimpsest import AgentMemory, settings
from palimpsest.engines.dynamodb.table import OneTable
from palimpsest.errors import Unprocessable
from palimpsest.models.builtin import SPACE
from palimpsest.scope import Scope
from palimpsest.wiring import engines, memories, sessions
from palimpsest.wiring.in_process import in_process
from palimpsest.wiring.memories import wire_memories

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
    "EMBEDDING_MODEL": SPACE.model,
    "EMBEDDING_DIMENSION": str(SPACE.dimension),
}
BY_DESIGN = {"append.setup", "context.blocks.extractive.chat"}
"""`sessions` answers every turn and asks no model; it embeds through another function. An ingest
sets up no session.
"""


@pytest.fixture
def deployed(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[tuple[sessions.SessionsApp, memories.MemoriesApp]]:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(OneTable, "warm", lambda _: None)  # no table is reached
    made = [each for module in (engines, sessions, memories) for each in vars(module).values()]
    caches = [each for each in made if hasattr(each, "cache_clear")]
    for cached in caches:
        cached.cache_clear()
    yield sessions.sessions_app(), memories.memories_app()
    for cached in caches:
        cached.cache_clear()


def differences(one: Any, other: Any, name: str) -> Iterator[str]:
    """Where two use cases differ: in the kind of an adapter, or in a value."""
    if type(one) is not type(other):
        yield name
    elif is_dataclass(one):
        for field in fields(one):
            yield from differences(
                getattr(one, field.name), getattr(other, field.name), f"{name}.{field.name}"
            )
    elif isinstance(one, (str, int, tuple, type(None))):
        if one != other:
            yield name
    elif type(one).__module__.startswith("palimpsest.context.blocks"):
        yield from blocks_differences(one, other, name)


def blocks_differences(one: Any, other: Any, name: str) -> Iterator[str]:
    chats = [getattr(getattr(each, "_selection", None), "_chat", None) for each in (one, other)]
    if type(chats[0]) is not type(chats[1]):
        yield f"{name}.chat"


def test_what_sessions_and_memories_both_do_is_wired_alike(
    deployed: tuple[sessions.SessionsApp, memories.MemoriesApp],
) -> None:
    of_sessions, of_memories = deployed
    both = {field.name for field in fields(of_sessions)} & {
        field.name for field in fields(of_memories)
    }
    assert {"context", "export", "manage", "prune", "read_job", "report"} <= both
    inner: list[tuple[str, Any, Any]] = [("append", of_sessions.append, of_memories.ingest.append)]
    inner += [("extract", of_sessions.extract, of_memories.ingest.request)]
    pairs = [
        (name, getattr(of_sessions, name), getattr(of_memories, name))
        for name in sorted(both - {"stores"})
    ]
    found = {
        each for name, one, other in (*pairs, *inner) for each in differences(one, other, name)
    }
    assert found == BY_DESIGN


def test_the_library_over_deployed_tables_refuses_a_model_that_the_operator_does_not_list() -> None:
    here = in_process(Scope("acme"), memory={})
    stores, models = here.memories.stores, here.memories.models
    tokens, clock = here.memories.tokens, here.memories.clock
    wired = wire_memories(stores, models=models, tokens=tokens, clock=clock, may_name=("gpt-4.1",))
    memory = AgentMemory.of(here.sessions, wired, tenant="acme", user="sarah")
    memory.append("monday", "Hello!")
    with pytest.raises(Unprocessable) as refused:
        memory.configure("monday", memory={"summary_model": "gpt-4.1-mini"})
    assert refused.value.code == "model_not_allowed"
    assert settings.MemoriesSettings.read(ENVIRONMENT).models == ("gpt-4.1", "gpt-4.1-mini")

"""The running service keeps its own description: what it answers is described, what breaks the description is refused,
and where an answer leads one arrives, but for what was deleted. CONFORMANCE=deep asks far more.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck

from tests.e2e.stack import Client, Stack, eventually

pytestmark = pytest.mark.e2e
CONFIG = Path(__file__).with_name("schemathesis.toml")
SEARCH = "/v1/users/sarah/memories/search"
IS_DEEP = os.environ.get("CONFORMANCE") == "deep"
ASKED = ("examples,coverage,fuzzing", "--max-examples=50") if IS_DEEP else ("examples,fuzzing", "--max-examples=5")
SECONDS = 3_600 if IS_DEEP else 600
SETTINGS = hypothesis.settings(
    max_examples=200 if IS_DEEP else 15,
    stateful_step_count=20 if IS_DEEP else 10,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

WALKS = {
    "a session": (
        {"create_session", "append_messages", "get_context", "read_session", "delete_session"},
        {("append_messages", 201), ("get_context", 200), ("read_session", 200), ("read_session", 404)},
    ),
    "a memory": (
        {"save_memories", "read_memory", "change_memory", "read_memory_history", "delete_memory"},
        {("change_memory", 200), ("read_memory_history", 200), ("read_memory", 200), ("read_memory", 404)},
    ),
    "a transcript": (
        {"ingest_transcript", "read_job", "read_history", "delete_session"},
        {("ingest_transcript", 202), ("read_job", 200), ("read_history", 200), ("read_history", 404)},
    ),
    "a static fact": (
        {"put_static_fact", "delete_static_fact"},
        {("put_static_fact", 201), ("delete_static_fact", 200), ("delete_static_fact", 404)},
    ),
}
"""The operations of each walk along the links, and what must have been met on the way."""
LEFT_OUT = {
    "create_session": "session_id",  # each has a session of its own: another's may have gone on
    "append_messages": "user_id",  # with its user an append begins a deleted session anew
    "ingest_transcript": "session_id",
}


def only(operations: set[str], description: dict[str, Any]) -> dict[str, Any]:
    """The description of these operations, with the links among them."""
    for path in description["paths"].values():
        for method, operation in list(path.items()):
            if operation["operationId"] not in operations:
                del path[method]
                continue
            for answer in operation["responses"].values():
                if "links" in answer:
                    answer["links"] = {to: link for to, link in answer["links"].items() if to in operations}
    return description


def name_of(case: schemathesis.Case[Any]) -> str:
    name: str = case.operation.definition.raw["operationId"]
    return name


@pytest.mark.timeout(SECONDS)
def test_every_answer_is_described_and_what_breaks_the_description_is_refused(call: Client) -> None:
    call.append("s", "There is nothing to search until something was said.")
    eventually(lambda: call("POST", SEARCH, {"query": "said", "mode": "keyword"}).status == 200)
    done = subprocess.run(
        [
            sys.executable, "-m", "schemathesis.cli", "--config-file", CONFIG, "run", f"{call.url}/v1/openapi.json",
            "--url", call.url, "--header", f"Authorization: Bearer {call.key}", "--phases", *ASKED,
        ],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize("walk", WALKS)
def test_links_lead_where_they_say_until_it_is_deleted(stack: Stack, walk: str) -> None:
    operations, expected = WALKS[walk]
    config = schemathesis.Config.from_path(CONFIG)
    described = schemathesis.openapi.from_dict(
        only(operations, stack.client()("GET", "/v1/openapi.json").json), config=config
    )
    described.config.update(base_url=stack.url)
    met: set[tuple[str, int]] = set()

    class Walk(described.as_state_machine()):  # type: ignore[misc]
        def setup(self) -> None:
            self.key = stack.client().key  # a tenant of its own: a walk repeated goes the same way

        def before_call(self, case: schemathesis.Case[Any]) -> None:
            (case.query or {}).pop("wait", None)  # nobody waits here
            if isinstance(case.body, dict):
                case.body.pop("wait", None)
                case.body.pop(LEFT_OUT.get(name_of(case), ""), None)

        def after_call(self, response: schemathesis.Response, case: schemathesis.Case[Any]) -> None:
            super().after_call(response, case)
            met.add((name_of(case), response.status_code))

        def get_call_kwargs(self, case: schemathesis.Case[Any]) -> dict[str, Any]:
            return {"headers": {"Authorization": f"Bearer {self.key}"}}

    for longer in (1, 4):  # which way a walk goes depends on the whole description
        if expected - met:
            Walk.run(settings=hypothesis.settings(SETTINGS, max_examples=longer * SETTINGS.max_examples))
    assert not expected - met, f"never met; met were {sorted(met)}"

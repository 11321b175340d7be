"""The service keeps its own description: what it answers is described, what breaks the description
is refused, and where an answer leads one arrives, but for what was deleted. CONFORMANCE=deep asks
far more. Here in this process; through the front door: tests/e2e/test_described.py.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
import schemathesis.generation.jsonschema.builder  # an import deep in a recursion stops CPython 3.11
from hypothesis import HealthCheck

from infra import paths
from tests.served import KEY, Served

pytestmark = pytest.mark.contract
DESCRIPTION = paths.LAYERS / "description" / "python" / "palimpsest_description" / "openapi.json"
CONFIG = Path(__file__).with_name("schemathesis.toml")
PAGES = r"^/v1/(console|docs|health|openapi\.json)$"  # the function `site` has them
IS_DEEP = os.environ.get("CONFORMANCE") == "deep"
ASKED = (
    ("examples,coverage,fuzzing", "--max-examples=50")
    if IS_DEEP
    else ("examples,fuzzing", "--max-examples=5")
)
SECONDS = 3_600 if IS_DEEP else 1_200
SETTINGS = hypothesis.settings(
    max_examples=200 if IS_DEEP else 15,
    stateful_step_count=20 if IS_DEEP else 10,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

SEEDS = (None, *range(10))
"""A walk begins anew, with the next of these, until all has been met that must be."""
WALKS = {
    "a session": (
        {"create_session", "append_messages", "get_context", "read_session", "delete_session"},
        {
            ("append_messages", 201),
            ("get_context", 200),
            ("read_session", 200),
            ("read_session", 404),
        },
    ),
    "a memory": (
        {"save_memories", "read_memory", "change_memory", "read_memory_history", "delete_memory"},
        {
            ("change_memory", 200),
            ("read_memory_history", 200),
            ("read_memory", 200),
            ("read_memory", 404),
        },
    ),
    "a transcript": (
        {"ingest_transcript", "read_job", "read_history", "delete_session"},
        {
            ("ingest_transcript", 202),
            ("read_job", 200),
            ("read_history", 200),
            ("read_history", 404),
        },
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
                    answer["links"] = {
                        to: link for to, link in answer["links"].items() if to in operations
                    }
    return description


def name_of(case: schemathesis.Case[Any]) -> str:
    name: str = case.operation.definition.raw["operationId"]
    return name


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served() as running:
        yield running


@pytest.mark.timeout(SECONDS)
def test_every_answer_is_described_and_what_breaks_the_description_is_refused(
    served: Served,
) -> None:
    done = subprocess.run(  # noqa: S603 - the project's own tool
        [
            sys.executable,
            "-m",
            "schemathesis.cli",
            "--config-file",
            CONFIG,
            "run",
            DESCRIPTION,
            "--url",
            served.url,
            "--header",
            f"Authorization: Bearer {KEY}",
            "--exclude-path-regex",
            PAGES,
            "--phases",
            *ASKED,
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize("walk", WALKS)
def test_links_lead_where_they_say_until_it_is_deleted(served: Served, walk: str) -> None:
    operations, expected = WALKS[walk]
    config = schemathesis.Config.from_path(CONFIG)
    description = only(operations, json.loads(DESCRIPTION.read_text()))
    described = schemathesis.openapi.from_dict(description, config=config)
    described.config.update(base_url=served.url)
    met: set[tuple[str, int]] = set()

    class Walk(described.as_state_machine()):  # type: ignore[misc]
        def setup(self) -> None:
            served.begin_anew()  # a walk repeated goes the same way

        def before_call(self, case: schemathesis.Case[Any]) -> None:
            (case.query or {}).pop("wait", None)  # nobody waits here
            if isinstance(case.body, dict):
                case.body.pop("wait", None)
                case.body.pop(LEFT_OUT.get(name_of(case), ""), None)

        def after_call(self, response: schemathesis.Response, case: schemathesis.Case[Any]) -> None:
            super().after_call(response, case)
            met.add((name_of(case), response.status_code))

        def get_call_kwargs(self, case: schemathesis.Case[Any]) -> dict[str, Any]:
            return {"headers": {"Authorization": f"Bearer {KEY}"}}

    for seed in SEEDS:  # which ways a walk goes depends on the whole description
        if expected - met:
            (Walk if seed is None else hypothesis.seed(seed)(Walk)).run(settings=SETTINGS)
    assert not expected - met, f"never met; met were {sorted(met)}"

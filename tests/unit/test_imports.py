"""What a function loads until its first answer: the path that every turn takes carries nothing
heavy.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import palimpsest
import pytest

from tests.doubles.dynamodb_api import DynamoDbApi, Step
from tests.unit.api.gateway import ALL_SCOPES, http_event

PROJECT = Path(__file__).parents[2]
HEAVY = {"aws_xray_sdk", "numpy", "openai", "opensearchpy"}
LATER = {
    "boto3",
    "palimpsest.offline.extractor",
    "palimpsest.recall.refine",
    "palimpsest.recall.find",
    "palimpsest.recall.recall",
    "palimpsest.recall.search",
    "palimpsest.text.date_words",
    "palimpsest.text.dates",
    "palimpsest.text.salience",
    "palimpsest.text.sentences",
    "regex",
    "tiktoken.load",
}
"""What takes long to load, most of it patterns that are compiled, and what no append and no plain
context needs.
"""
SCRIPT = """
import gc, json, sys
import handler
collecting = gc.isenabled() and gc.get_freeze_count() > 50_000
answers = [handler.handler(event, None) for event in json.loads(sys.argv[1])]
print(json.dumps({"modules": list(sys.modules), "answers": answers, "collecting": collecting}))
"""
SESSION = "/v1/sessions/s"
WHO = {"lambda": {"tenant": "acme", "scopes": ALL_SCOPES, "key_id": "k"}}
MESSAGE = '{"user_id": "sarah", "messages": [{"role": "user", "content": "hello"}]}'
APPEND = http_event("POST", f"{SESSION}/messages", MESSAGE, authorizer=WHO)
CONTEXT = http_event("GET", f"{SESSION}/context", authorizer=WHO)
STRANGER = {
    "requestContext": {"requestId": "r"},
    "rawPath": "/v1/sessions",
    "headers": {"authorization": "Bearer pal_unknown"},
}
QUEUES = {
    f"{name}_QUEUE_URL": f"http://127.0.0.1:1/{name}"
    for name in ("SUMMARIZE", "EXTRACT", "SWEEP", "EVENTS", "PARKED")
}
NOTHING = Step(answer={"Responses": {}})
"""What an empty table says to every read, and to a write that it took."""


def first_answers(function: str, *events: dict[str, Any]) -> tuple[set[str], list[Any]]:
    """What a fresh process, which begins as it does in Lambda, has loaded after these events, and
    its answers.
    """
    with DynamoDbApi("") as tables:
        tables.script(*[NOTHING] * 20)
        environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if name in ("PATH", "PYTHONDONTWRITEBYTECODE")
            },
            "PYTHONPATH": str(PROJECT / "functions" / function),
            "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": tables.endpoint,
            "STAGE": "local",
            "EVENT_BUS": "events",
            "POWERTOOLS_SERVICE_NAME": function,
            "SESSIONS_TABLE": "sessions",
            "TENANTS_TABLE": "tenants",
            "MEMORIES_TABLE": "memories",
            "CONTENTS_BUCKET": "contents",
            "OPENAI_KEY_PARAMETER": "/palimpsest/local/openai-api-key",
            "EMBEDDING_MODEL": "text-embedding-3-small",
            "EMBEDDING_DIMENSION": "1536",
            **QUEUES,
        }
        done = subprocess.run(  # noqa: S603 - a program of our own
            [sys.executable, "-c", SCRIPT, json.dumps(events)],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
        )
    told = json.loads(done.stdout.splitlines()[-1])
    assert (
        told["collecting"] or function == "site"
    )  # what is loaded at the start is looked through by no collection
    return set(told["modules"]), told["answers"]


def test_a_turn_loads_no_heavy_library() -> None:
    modules, (appended, context) = first_answers("sessions", APPEND, CONTEXT)
    assert (appended["statusCode"], context["statusCode"]) == (201, 404)
    assert {"palimpsest", "botocore", "palimpsest.models.tiktoken_counter"} <= modules
    assert not modules & {*HEAVY, *LATER, "tiktoken"}


def test_what_is_loaded_later_is_there_to_be_loaded() -> None:
    """Or the test above would prove nothing."""
    assert {name for name in LATER if importlib.util.find_spec(name) is not None} == LATER


def test_the_authorizer_loads_no_heavy_library_and_counts_no_tokens() -> None:
    modules, answers = first_answers("authorize", STRANGER)
    assert answers == [{"isAuthorized": True, "context": {"refused": "invalid_key"}}]
    assert not modules & {*HEAVY, "tiktoken", "jwt", "cryptography"}


@pytest.mark.parametrize("function", ["dispatch", "site"])
def test_what_only_passes_on_loads_no_heavy_library(function: str) -> None:
    modules, _ = first_answers(function)
    assert "palimpsest" in modules
    assert not modules & {*HEAVY, "tiktoken", "pynamodb"}


def test_the_library_loads_none_of_its_classes_until_one_is_asked_for() -> None:
    script = "import sys, palimpsest; print(*(name for name in sys.modules if name.startswith('palimpsest')))"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )  # noqa: RUF100, S603
    assert done.stdout.split() == ["palimpsest"]
    classes = [getattr(palimpsest, name).__name__ for name in palimpsest.__all__]
    assert classes == palimpsest.__all__
    with pytest.raises(AttributeError, match="Nothing"):
        _ = palimpsest.Nothing


def test_the_heavy_libraries_are_there_to_be_loaded() -> None:
    """Or the tests above would prove nothing."""
    assert {name for name in HEAVY if importlib.util.find_spec(name) is not None} == HEAVY

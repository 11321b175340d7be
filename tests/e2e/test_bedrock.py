"""A local stack whose models are Bedrock's, called with a profile of this machine, and whose spans go to a collector.
Bedrock is a stand-in that verifies each signature and token.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.cost.models import answer
from infra import paths
from tests.doubles.bedrock import CHAT, KNOWN, REGION, BedrockApi
from tests.doubles.collector import Collector
from tests.engines import loopback

pytestmark = pytest.mark.own_stack

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
MODEL, VECTORS = "openai.gpt-oss-20b-1:0", "amazon.titan-embed-text-v2:0"
PATIENCE = 120  # seconds, on a busy machine
BEFORE_A_PROFILE = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_DEFAULT_REGION",
    "AWS_REGION",
)
"""Variables that the SDK reads before a profile."""


@pytest.fixture(scope="module")
def bedrock() -> Iterator[BedrockApi]:
    with BedrockApi(answer=answer) as running:
        yield running


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with Collector() as running:
        yield running


@pytest.fixture(scope="module")
def environment(bedrock: BedrockApi, collector: Collector, tmp_path_factory: Any) -> dict[str, str]:
    folder: Path = tmp_path_factory.mktemp("profile")
    (folder / "config").write_text(f"[profile me]\nregion = {REGION}\n")
    (folder / "credentials").write_text(
        f"[me]\naws_access_key_id = {KNOWN.key}\naws_secret_access_key = {KNOWN.secret}\n"
        f"aws_session_token = {KNOWN.session}\n"
    )
    told = {name: value for name, value in os.environ.items() if name not in BEFORE_A_PROFILE}
    return told | {
        "AWS_CONFIG_FILE": str(folder / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "credentials"),
        "AWS_PROFILE": "me",
        "MODELS_FROM": "bedrock",
        "EMBEDDING": "titan",
        "RERANK": "cohere",
        "BEDROCK_URL": bedrock.endpoint,
        "TRACES": f"{collector.endpoint.replace('127.0.0.1', 'localhost')}/v1/traces",
        "PALIMPSEST_LOCAL_DIR": str(tmp_path_factory.mktemp("local")),
    }


class Stack:
    """The running stack, called with its key."""

    def __init__(self, folder: Path) -> None:
        told = json.loads((folder / "endpoint.json").read_text())
        self._url, self._key = told["url"], told["api_key"]

    def post(self, path: str, body: object) -> Any:
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        request = urllib.request.Request(  # noqa: S310 - on loopback
            self._url + path, data=json.dumps(body).encode(), headers={**headers, **CALLER}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answered:  # noqa: S310
            return json.loads(answered.read())


@pytest.fixture(scope="module")
def stack(environment: dict[str, str]) -> Iterator[Stack]:
    def make(*target: str) -> None:
        subprocess.run(["make", *target], env=environment, cwd=paths.PROJECT, check=True)

    make("start", f"PORT={loopback.free_port()}")
    try:
        yield Stack(Path(environment["PALIMPSEST_LOCAL_DIR"]))
    finally:
        make("reset", "ARGS=--all")


def test_a_memory_is_made_and_found_with_bedrocks_models_and_a_profile(
    stack: Stack, bedrock: BedrockApi
) -> None:
    said = {"role": "user", "content": "I moved to Lisbon and keep a violin in the cellar."}
    stack.post("/v1/sessions/s1/messages", {"user_id": "sarah", "messages": [said]})
    stack.post("/v1/sessions/s1/extract", {"wait": 20})
    until = time.monotonic() + PATIENCE
    found: set[str] = set()
    while "vector" not in found and time.monotonic() < until:
        time.sleep(0.5)
        recalled = stack.post("/v1/users/sarah/recall", {"query": "Where is the violin?"})
        facts = [memory for memory in recalled["memories"] if memory["type"] == "fact"]
        found = {way for memory in facts for way in memory["found_by"]}
    assert "vector" in found
    assert bedrock.refused == []
    chats = [request.body["model"] for request in bedrock.requests if request.path == CHAT]
    assert set(chats) == {MODEL}
    named = {name for name, _ in bedrock.invoked}
    assert named == {"InvokeModel", "Rerank"}
    vectors = {parameters.get("modelId", VECTORS) for _, parameters in bedrock.invoked}
    assert vectors == {VECTORS}


def test_all_of_it_is_in_the_callers_trace(stack: Stack, collector: Collector) -> None:
    stack.post("/v1/users/sarah/recall", {"query": "Where is the violin?"})
    wanted = {
        "request",
        "dispatch",
        "process job",
        "index",
        "search_memory",
        "upsert_memory",
        "rerank",
        f"chat {MODEL}",
        f"embeddings {VECTORS}",
    }
    until = time.monotonic() + PATIENCE
    while not wanted <= collector.names(TRACE) and time.monotonic() < until:
        time.sleep(0.5)
    assert wanted <= collector.names(TRACE)

"""One trace leads from a client's append over the API, the stream, the queue and the worker to the index and to models,
whatever is retried, fails at first or is delivered twice. Nothing of a text is in it.
"""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from benchmarks.cost.models import RecordingApi
from infra import paths
from tests.contract.tables import memories_table, sessions_table, tenants_table
from tests.doubles.openai_api import Request, Step
from tests.engines import dynoxide
from tests.engines.npm import required

APPENDS = 24
CHANGES = {"upsert_memory": APPENDS + 1, "update_memory": APPENDS + 2, "delete_memory": APPENDS + 3}
"""The numbers of the traces in which a caller saves, changes and deletes a memory."""
KEY = "/traces/openai-api-key"
MODEL, EMBEDDING = "gpt-4.1-nano", "text-embedding-3-small"
QUEUES = ("summarize", "extract", "embed")
PAGE = paths.PROJECT / "docs" / "traces.md"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
TEXTS = [
    f"Item {number} of my inventory is a {thing}, which I keep in the cellar of house {number}."
    for number, thing in enumerate(["violin", "kayak", "sextant", "loom"] * 6)
]


def traceparent(number: int, flag: str = "01") -> str:
    return f"00-{number + 1:032x}-{number + 1:016x}-{flag}"


class FailingAtFirst(RecordingApi):
    """Each kind of call fails twice before the first is answered."""

    def _take(self, request: Request) -> Step:
        step = super()._take(request)
        before = sum(each.path == request.path for _, each in self.recorded)
        return Step(status=500) if before <= 2 else step


@dataclass(frozen=True)
class Traced:
    """What happened: the spans by id, and what was delivered again."""

    spans: list[dict[str, Any]]
    again: int
    failures: int

    @cached_property
    def by_id(self) -> Mapping[str, dict[str, Any]]:
        return {span["context"]["span_id"]: span for span in self.spans}

    def of_trace(self, number: int) -> list[dict[str, Any]]:
        trace = f"0x{number + 1:032x}"
        return [span for span in self.spans if span["context"]["trace_id"] == trace]

    def reaches(self, span: Mapping[str, Any], name: str) -> bool:
        """Whether a span of that name is beneath this span, or beneath one that it is linked to."""
        linked = [link["context"]["span_id"] for link in span["links"]]
        roots = {span["context"]["span_id"], *linked}
        return any(each["name"] == name and roots & set(self.above(each)) for each in self.spans)

    def above(self, span: Mapping[str, Any]) -> Iterator[str]:
        """The ids of the spans that this one is a part of, and its own."""
        at: Mapping[str, Any] | None = span
        while at is not None:
            yield at["context"]["span_id"]
            at = self.by_id.get(at["parent_id"] or "")


@pytest.fixture(scope="module")
def aws() -> Iterator[str]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="module")
def traced(aws: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    if reason := dynoxide.missing():
        pytest.fail(reason) if required() else pytest.skip(reason)
    with pytest.MonkeyPatch.context() as patch, FailingAtFirst() as models:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        with dynoxide.running() as endpoint:
            folder = tmp_path_factory.mktemp("index")
            environment = told_to(endpoint, aws, models.base_url, folder)
            yield outcome(environment)


def told_to(endpoint: str, aws: str, models: str, folder: Path) -> dict[str, str]:
    sqs: Any = boto3.client("sqs", endpoint_url=aws)
    ssm: Any = boto3.client("ssm", endpoint_url=aws)
    s3: Any = boto3.client("s3", endpoint_url=aws)
    s3.create_bucket(Bucket="contents")
    ssm.put_parameter(Name=KEY, Value="test", Type="SecureString")
    urls = {
        f"{name.upper()}_QUEUE_URL": sqs.create_queue(QueueName=f"{name}-{uuid.uuid4().hex[:8]}")[
            "QueueUrl"
        ]
        for name in (*QUEUES, "sweep", "reindex", "events", "parked")
    }
    return {
        **os.environ,
        **CREDENTIALS,
        **urls,
        "AWS_ENDPOINT_URL": aws,
        "AWS_ENDPOINT_URL_DYNAMODB": endpoint,
        "AWS_ENDPOINT_URL_DYNAMODB_STREAMS": endpoint,
        "STAGE": "local",
        "POWERTOOLS_SERVICE_NAME": "palimpsest",
        "SESSIONS_TABLE": sessions_table(endpoint),
        "MEMORIES_TABLE": memories_table(endpoint),
        "TENANTS_TABLE": tenants_table(endpoint),
        "CONTENTS_BUCKET": "contents",
        "EVENT_BUS": "default",
        "OPENAI_KEY_PARAMETER": KEY,
        "OPENAI_BASE_URL": models,
        "CHAT_MODEL": MODEL,
        "EMBEDDING_MODEL": EMBEDDING,
        "EMBEDDING_DIMENSION": "1536",
        "SEARCH_URL": (folder / "index.sqlite").as_uri(),
    }


def outcome(environment: Mapping[str, str]) -> Traced:
    appends = [
        {
            "role": "user" if number % 2 == 0 else "assistant",
            "text": text,
            "traceparent": traceparent(number),
        }
        for number, text in enumerate(TEXTS[:APPENDS])
    ]
    tables = [environment["SESSIONS_TABLE"], environment["MEMORIES_TABLE"]]
    queues = {name: environment[f"{name.upper()}_QUEUE_URL"] for name in QUEUES}
    asked = {
        "appends": appends,
        "tables": tables,
        "queues": queues,
        "recall": traceparent(APPENDS),
        "changes": {name: traceparent(number) for name, number in CHANGES.items()},
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.doubles.traced_service"],
        input=json.dumps(asked), env=dict(environment), cwd=paths.PROJECT, check=False,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3_000:]
    return Traced(**json.loads(done.stdout.splitlines()[-1]))


def test_things_failed_and_came_twice_on_the_way(traced: Traced) -> None:
    assert traced.again > 3
    assert traced.failures > 1
    assert any(span["attributes"].get("error.type") for span in traced.spans)


@pytest.mark.parametrize("number", range(APPENDS))
def test_every_append_is_joined_from_the_client_to_the_index_and_its_model(
    traced: Traced, number: int
) -> None:
    mine = traced.of_trace(number)
    request = next(span for span in mine if span["name"] == "request")
    assert request["parent_id"] == f"0x{number + 1:016x}"
    dispatched = [span for span in mine if span["name"] == "dispatch"]
    assert dispatched
    indexed = [span for span in mine if span["name"] == "index"]
    assert indexed
    assert any(traced.reaches(span, f"embeddings {EMBEDDING}") for span in indexed)
    forwarded = {span["context"]["span_id"] for span in dispatched}
    assert all(forwarded & set(traced.above(span)) for span in indexed)


def test_no_span_is_lost_from_its_trace(traced: Traced) -> None:
    clients = {f"0x{number + 1:016x}" for number in range(APPENDS + 1 + len(CHANGES))}
    parents = {span["parent_id"] for span in traced.spans if span["parent_id"] is not None}
    assert parents <= clients | set(traced.by_id)


def test_work_that_an_append_starts_is_in_its_trace_with_the_models_that_do_it(
    traced: Traced,
) -> None:
    jobs = [span for span in traced.spans if span["name"] == "process job"]
    assert any(span["attributes"]["palimpsest.receives"] > 1 for span in jobs)
    assert {span["context"]["trace_id"] for span in jobs} <= {
        f"0x{number + 1:032x}" for number in range(APPENDS)
    }
    assert sum(traced.reaches(span, f"chat {MODEL}") for span in jobs) > 2
    by_caller = traced.of_trace(CHANGES["upsert_memory"])
    upserts = [
        span for span in traced.spans if span["name"] == "upsert_memory" and span not in by_caller
    ]
    assert sum(span["attributes"]["gen_ai.memory.record.count"] for span in upserts) > 0
    job_ids = {span["context"]["span_id"] for span in jobs}
    assert all(job_ids & set(traced.above(span)) for span in upserts)


def test_a_recall_is_a_search_of_memory_in_the_words_of_opentelemetry(traced: Traced) -> None:
    (search,) = [span for span in traced.of_trace(APPENDS) if span["name"] == "search_memory"]
    assert search["attributes"]["gen_ai.operation.name"] == "search_memory"
    assert search["attributes"]["gen_ai.memory.store.id"] == "acme"
    assert search["attributes"]["gen_ai.memory.record.count"] > 0


@pytest.mark.parametrize("operation", CHANGES)
def test_a_change_of_a_memory_is_an_operation_in_the_words_of_opentelemetry(
    traced: Traced, operation: str
) -> None:
    mine = traced.of_trace(CHANGES[operation])
    (request,) = [span for span in mine if span["name"] == "request"]
    (changed,) = [span for span in mine if span["name"] == operation]
    assert changed["parent_id"] == request["context"]["span_id"]
    assert changed["attributes"] == {
        "gen_ai.operation.name": operation,
        "gen_ai.memory.store.id": "acme",
        "gen_ai.memory.record.count": 1,
    }


def test_the_page_lists_the_names_and_attributes_of_all_spans(traced: Traced) -> None:
    rows = re.findall(r"^\| (`.+?) \| \w+ \|(.+)$", PAGE.read_text(), re.MULTILINE)
    listed = {
        name.replace(" <model>", ""): set(re.findall(r"`([\w.]+)`", row))
        for names, row in rows
        for name in re.findall(r"`(.+?)`", names)
    }
    for span in traced.spans:
        name = re.sub(r"^(chat|embeddings) .+", r"\1", span["name"])
        assert set(span["attributes"]) - {"error.type"} <= listed[name], name


def test_calls_of_models_tell_their_tokens(traced: Traced) -> None:
    chats = [
        span
        for span in traced.spans
        if span["name"] == f"chat {MODEL}" and "error.type" not in span["attributes"]
    ]
    assert chats
    for span in chats:
        assert span["kind"] == "SpanKind.CLIENT"
        assert span["attributes"]["gen_ai.provider.name"] == "openai"
        assert span["attributes"]["gen_ai.request.model"] == MODEL
        assert span["attributes"]["gen_ai.usage.input_tokens"] == 100
        assert span["attributes"]["gen_ai.usage.output_tokens"] == 10


def test_no_span_holds_a_text(traced: Traced) -> None:
    written = json.dumps(traced.spans)
    words = {"lighthouse", "violin", "kayak", "sextant", "cellar", "inventory", "Where is"}
    assert [word for word in words if re.search(word, written)] == []

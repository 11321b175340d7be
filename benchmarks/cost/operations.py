"""The cost of 1,000 turns at list prices. Operations are counted while a conversation goes through
the service's handlers.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from palimpsest.models.catalogue import AWS_AS_OF, AWS_PRICES, model_catalogue

from benchmarks.beside.environments import environment, printed
from benchmarks.cost.models import EVERY, SUMMARY_WORDS, RecordingApi, Tokens, tokens_of
from benchmarks.report import Cell, Table
from benchmarks.retrieval.labelled.dataset import load
from benchmarks.service import Place
from infra import paths
from infra.app import use_bundled_node
from infra.config import BUILTIN, OPENAI, Choices
from tests.contract.tables import memories_table, sessions_table, tenants_table
from tests.engines import builtin_models, npm

STAGES = ("append", "context", "recall", "dispatch", "summarize", "extract", "embed")
FUNCTION_OF = {"append": "sessions", "context": "memories", "recall": "memories"}
TURNS, QUICK_TURNS, PER = 100, 20, 1_000
A_DAY, DAYS = (1, 10, 50), 30
"""The turns of a user on each day, and the days of a month."""
WINDOW = 4_000  # tokens
MODEL = Choices().chat_model
COLUMNS = (
    "stage",
    "API calls",
    "Lambda calls",
    "GB-s (estimate)",
    "write units",
    "read units",
    "SQS requests",
    "tokens in",
    "tokens out",
    "KB of logs",
    "US$ AWS",
    "US$ models",
    "US$",
)
WITHOUT = (
    "Without a key for a model: summaries in the conversation's own sentences, memories by patterns; "
    "vectors and the order of results by the built-in models."
)
WITH_MODEL = (
    f"{MODEL} and {OPENAI.model}. Tokens in are counted in the requests that a stand-in for the "
    f"server was sent, out in"
    f" its answers: a summary of {SUMMARY_WORDS} words, a memory for every {EVERY} user messages."
)
WHOLE_CPU = 1_769  # MB of a function that has one
LOG_GB = 0.50  # US$ for a GB that CloudWatch Logs takes in
PLATFORM_LINES = 400  # bytes of START, END and REPORT
AUTHORIZED_MS, AUTHORIZED_MB = 2, 512  # a key that was met before is checked in less
SECONDS = 1200
KEY = "/benchmark/openai-api-key"
WORKED = ("summarize", "extract", "embed")
QUEUES = (*WORKED, "sweep", "reindex", "events", "parked")


def tables(place: Place, *, quick: bool) -> list[Table]:
    if missing := builtin_models.install():
        raise RuntimeError(missing)
    turns = QUICK_TURNS if quick else TURNS
    rows = list(_turns(turns))
    counted = [_table(place, rows, has_model=has_model) for has_model in (False, True)]
    return [*counted, user_month(*counted)]


def user_month(without: Table, with_model: Table) -> Table:
    """Return the cost of a user's month, from the costs of `PER` turns without and with a model."""
    dollars = [float(str(table.rows[-1][COLUMNS.index("US$")])) for table in (without, with_model)]
    rows: list[list[Cell]] = [
        [turns, turns * DAYS, *(f"{cost * turns * DAYS / PER:.3f}" for cost in dollars)]
        for turns in A_DAY
    ]
    note = (
        f"Calculated from the costs of {PER:,} turns, for {DAYS} days of use. These costs have no "
        "storage, no wait for a model, no traffic and no search index."
    )
    return Table(
        "A month of one user",
        ("turns a day", "turns a month", "US$ without a model", f"US$ with {MODEL}"),
        rows,
        [note],
    )


def _table(place: Place, turns: Sequence[tuple[str, str, str]], *, has_model: bool) -> Table:
    counts, tokens = _counted(place, turns, has_model=has_model)
    scale = PER / len(turns)
    rows = [
        _row(stage, counts[stage], tokens.get(stage), scale) for stage in STAGES if stage in counts
    ]
    rows.append(
        ["all", *(sum(float(row[place] or 0) for row in rows) for place in range(1, len(COLUMNS)))]
    )
    title = f"Cost of {PER:,} turns, {'with' if has_model else 'without'} a model"
    return Table(
        title,
        COLUMNS,
        [_shown(row) for row in rows],
        [*_notes(len(turns)), WITH_MODEL if has_model else WITHOUT],
    )


def _shown(row: Sequence[Cell]) -> list[Cell]:
    """Return the cells of a row, with dollars to a hundredth of a cent."""
    return [
        f"{cell:.4f}" if name.startswith("US$") else cell
        for name, cell in zip(COLUMNS, row, strict=True)
    ]


def _notes(turns: int) -> Iterator[str]:
    yield "A turn: two appends with a key, a context with three blocks of memory, one recall."
    yield (
        f"{turns} turns of the labelled set's English conversations, scaled; a window of "
        f"{WINDOW:,} tokens; extraction"
        " every 5 turns. After each call all that follows from it is worked off: no batch grows, "
        "the dearest case."
    )
    yield (
        "Counted: requests, invocations, consumed units (dynoxide), sends, receives and deletes. "
        "Estimated: GB-s, from"
        f" the CPU used here at the function's share of a whole one ({WHOLE_CPU:,} MB), or the "
        f"clock if that is longer."
    )
    yield (
        f"Logs: what the functions write, and {PLATFORM_LINES} bytes of Lambda's own lines for "
        f"each call, at"
        f" US$ {LOG_GB} a GB. The authorizer is a call of {AUTHORIZED_MS} ms and {AUTHORIZED_MB} "
        f"MB with each request."
    )
    yield "Not in it: the wait for a model's answer, storage, traffic, the hours of a search domain."
    yield f"List prices: AWS in us-east-1 of {AWS_AS_OF}, models of {model_catalogue().as_of}."


def _row(stage: str, count: Mapping[str, float], tokens: Tokens | None, scale: float) -> list[Cell]:
    gigabytes = memory_of(FUNCTION_OF.get(stage, stage)) / 1024
    busy = max(count["cpu_ms"] * max(1.0, WHOLE_CPU / 1024 / gigabytes), count["clock_ms"]) / 1e3
    used = {name: count.get(name, 0) for name in AWS_PRICES} | {
        "lambda_gb_seconds": busy * gigabytes
    }
    logged = count.get("log_bytes", 0) + PLATFORM_LINES * count["lambda_requests"]
    aws = sum(AWS_PRICES[name] * amount for name, amount in used.items()) / 1e6
    aws += logged / 1e9 * LOG_GB + authorized(count.get("http_api_requests", 0))
    models = tokens.dollars if tokens else 0.0
    names = (
        "http_api_requests",
        "lambda_requests",
        "lambda_gb_seconds",
        "dynamodb_writes",
        "dynamodb_reads",
        "sqs_requests",
    )
    counted = [used[name] * scale for name in names]
    read, written = (tokens.tokens_in, tokens.tokens_out) if tokens else (0, 0)
    dollars = [aws * scale, models * scale, (aws + models) * scale]
    return [stage, *(round(number) for number in counted), round(read * scale), round(written * scale),
            round(logged * scale / 1e3), *dollars]  # fmt: skip


def authorized(requests: float) -> float:
    """Return the cost of the authorizer's calls in dollars."""
    seconds = requests * AUTHORIZED_MS / 1e3
    gigabytes = seconds * AUTHORIZED_MB / 1024
    return (
        AWS_PRICES["lambda_requests"] * requests + AWS_PRICES["lambda_gb_seconds"] * gigabytes
    ) / 1e6


@cache
def memory_of(function: str) -> int:
    """Return the memory of a function in MB, as the stack configures it."""
    source = (paths.PROJECT / "infra" / "stack.py").read_text()
    match = re.search(
        rf'_(?:function|worker)\(\s*"{function}",(?:[^()]|\([^()]*\))*?memory_mb=(\w+)', source
    )
    if match is None:
        raise RuntimeError(f"the stack states no memory size for {function}")
    named = re.search(rf"^{match[1]} = (\d+)", source, re.MULTILINE)
    return int(named[1] if named else match[1])


def _turns(count: int) -> Iterator[tuple[str, str, str]]:
    """Yield so many turns: what a user said, what the agent answered, and a question. These are the
    English messages and the questions of the labelled set, in order. After the last one, the first
    one comes again.
    """
    dataset = load()
    spoken = [
        (message.role, message.content)
        for session in dataset.sessions()
        if session.language == "en"
        for message in session.messages
        if message.role in ("user", "assistant") and message.content
    ]
    pairs = [
        (statement, reply)
        for (role, statement), (other, reply) in pairwise(spoken)
        if (role, other) == ("user", "assistant")
    ]
    questions = [question.question for question in dataset.questions]
    for number in range(count):
        yield *pairs[number % len(pairs)], questions[number % len(questions)]


def _counted(
    place: Place, turns: Sequence[tuple[str, str, str]], *, has_model: bool
) -> tuple[Mapping[str, Mapping[str, float]], Mapping[str, Tokens]]:
    """Return the usage of AWS and of the models, for each stage."""
    with tempfile.TemporaryDirectory() as folder, RecordingApi() as server, _local_aws() as aws:
        queues = {name: _queue(aws, name) for name in QUEUES}
        # a first question loads the store: functions do not wait so long
        _boto("ssm", aws).get_parameters(Names=[KEY])
        if has_model:
            _boto("ssm", aws).put_parameter(Name=KEY, Value="benchmark", Type="SecureString")
        embedding = OPENAI if has_model else BUILTIN
        tokens = {
            **environment(place),
            "PYTHONPATH": str(npm.ENGINES),
            "SESSIONS_TABLE": sessions_table(place.endpoint),
            "MEMORIES_TABLE": memories_table(place.endpoint),
            "TENANTS_TABLE": tenants_table(place.endpoint),
            "AWS_ENDPOINT_URL_DYNAMODB_STREAMS": place.endpoint,
            "AWS_ENDPOINT_URL_SQS": aws,
            "AWS_ENDPOINT_URL_EVENTS": aws,
            "EVENT_BUS": "default",
            "AWS_ENDPOINT_URL_SSM": aws,
            "OPENAI_KEY_PARAMETER": KEY,
            "OPENAI_BASE_URL": server.base_url,
            "CHAT_MODEL": MODEL,
            "EMBEDDING_MODEL": embedding.model,
            "EMBEDDING_DIMENSION": str(embedding.dimension),
            "SEARCH_URL": (Path(folder) / "index.sqlite").as_uri(),
            **{f"{name.upper()}_QUEUE_URL": url for name, url in queues.items()},
        }
        counts = {"turns": turns, "window": WINDOW, **_pollers(tokens)}
        answer = printed(
            "benchmarks.cost.turns", env=tokens, seconds=SECONDS, input_text=json.dumps(counts)
        )
        return answer["counts"], tokens_of(server.recorded, answer["spans"])


def _pollers(outputs: Mapping[str, str]) -> dict[str, Any]:
    """Return what the template lets Lambda read: streams through filters, and queues in batches."""
    use_bundled_node()
    from infra.parts.streams import BATCH, CHANGED_RECORDS, NEW_JOBS, NEW_MESSAGES
    from infra.stack import INDEXING, LINES

    lines = LINES | INDEXING
    queues = {
        name: {"url": outputs[f"{name.upper()}_QUEUE_URL"], "batch": lines[name].batch}
        for name in WORKED
    }
    streams = {
        outputs["SESSIONS_TABLE"]: [NEW_JOBS, NEW_MESSAGES],
        outputs["MEMORIES_TABLE"]: [CHANGED_RECORDS],
    }
    return {"queues": queues, "streams": streams, "stream_batch": BATCH}


@contextlib.contextmanager
def _local_aws() -> Iterator[str]:
    """Run queues and parameters in this process. Their work does not count as work of the
    functions.
    """
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def _queue(aws: str, name: str) -> str:
    return str(
        _boto("sqs", aws).create_queue(QueueName=f"{name}-{uuid.uuid4().hex[:8]}")["QueueUrl"]
    )


def _boto(service: str, endpoint: str) -> Any:
    import boto3

    made: Any = boto3.client  # typed service by service
    return made(service, endpoint_url=endpoint)

"""The service on the local AWS: how many requests it answers in a second, compared with a trivial
function, and how soon a message is found.
"""

from __future__ import annotations

import http.client
import itertools
import json
import statistics
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.report import Cell, Table
from tests.e2e.stack import PATIENCE, Stack
from tests.engines.loopback import free_port

CONNECTIONS = (1, 4, 16)
SECONDS, QUICK_SECONDS = 4.0, 1.0
WARM_SECONDS = 1.0
START_SECONDS = 300  # the first burst starts a process for each connection
ROUNDS, QUICK_ROUNDS = 10, 2
KEPT = (
    20  # messages of a session: a query of the local AWS costs in proportion to its whole partition
)
NOWHERE = "http://127.0.0.1:9"
NOTES = (
    "MiniStack on the same machine runs each function as warm processes, and enforces roles; no "
    "key for a model, the"
    " built-in one for vectors."
)


class Caller:
    """A client with one connection, which is kept open."""

    def __init__(self, stack: Stack) -> None:
        place = urlsplit(stack.url)
        self._base = place.path
        self._headers = {"Authorization": f"Bearer {stack.key}", "Content-Type": "application/json"}
        self._connection = http.client.HTTPConnection(place.netloc, timeout=START_SECONDS)

    def __call__(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the answer. A refusal stops the benchmark."""
        text = None if body is None else json.dumps(body)
        self._connection.request(method, self._base + path, text, self._headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status >= http.HTTPStatus.BAD_REQUEST:
            raise RuntimeError(f"{method} {path}: {answer.status} {content[:300]!r}")
        return json.loads(content)


@dataclass(frozen=True, slots=True)
class Load:
    """The results of a number of connections in some seconds. Times are in ms."""

    seconds: float
    times: Sequence[float]

    @property
    def cells(self) -> list[Cell]:
        """Return requests a second, and the median and the 95th percentile of their times."""
        middle, late = statistics.median(self.times), statistics.quantiles(self.times, n=20)[-1]
        return [round(len(self.times) / self.seconds, 1), round(middle, 1), round(late, 1)]


def tables(*, quick: bool) -> list[Table]:
    with running() as stack:
        return [
            _throughput(stack, quick=quick),
            _freshness(stack, rounds=QUICK_ROUNDS if quick else ROUNDS),
        ]


@contextmanager
def running() -> Iterator[Stack]:
    """Run a stack of its own in a folder of its own, so that other data does not affect the
    measurement.
    """
    with tempfile.TemporaryDirectory(prefix="bench-stack-", ignore_cleanup_errors=True) as folder:
        stack = Stack(Path(folder), NOWHERE, port=free_port())
        try:
            stack.start()
            yield stack
        finally:
            stack.kill()


def _throughput(stack: Stack, *, quick: bool) -> Table:
    calls: dict[str, Callable[[Caller], Callable[[], Any]]] = {
        "GET health, the floor": lambda caller: lambda: caller("GET", "/v1/health"),
        "append": _appends,
        "context": _contexts,
        "recall": _recalls,
        "recall, rerank: false": partial(_recalls, rerank=False),
    }
    rows: list[list[Cell]] = []
    for name, prepared in calls.items():
        row: list[Cell] = [name]
        for connections in CONNECTIONS:
            row += load(
                stack,
                prepared,
                connections=connections,
                seconds=QUICK_SECONDS if quick else SECONDS,
            ).cells
        rows.append(row)
    columns = [
        f"{name}, {count} at once"
        for count in CONNECTIONS
        for name in ("a second", "p50 ms", "p95 ms")
    ]
    return Table(
        "Requests on the local stack",
        ["request", *columns],
        rows,
        (
            NOTES,
            (
                "Warm: each connection was answered, then a second more. Health does nothing: the "
                "local AWS's own time."
            ),
            (
                f"Sessions of up to {KEPT} messages; a recall looks among {KEPT} memories and their "
                f"messages."
            ),
        ),
    )


def load(
    stack: Stack,
    prepared: Callable[[Caller], Callable[[], Any]],
    *,
    connections: int,
    seconds: float,
) -> Load:
    """Make the same call repeatedly on each connection. `prepared` prepares the call for each
    connection.
    """
    times: list[list[float]] = [[] for _ in range(connections)]
    failures: list[BaseException] = []
    ready = threading.Barrier(connections)

    def work(mine: list[float]) -> None:
        try:
            call = prepared(Caller(stack))
            call()
            ready.wait(START_SECONDS)
            _repeat(call, WARM_SECONDS)
            mine += _repeat(call, seconds)
        except BaseException as failure:  # noqa: BLE001 - raised below, in the thread that waits
            failures.append(failure)
            ready.abort()

    threads = [threading.Thread(target=work, args=(mine,)) for mine in times]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return Load(seconds, list(itertools.chain.from_iterable(times)))


def _repeat(call: Callable[[], Any], seconds: float) -> list[float]:
    times: list[float] = []
    end = time.perf_counter() + seconds
    while (begun := time.perf_counter()) < end:
        call()
        times.append((time.perf_counter() - begun) * 1e3)
    return times


def _appends(caller: Caller) -> Callable[[], Any]:
    number = itertools.count()
    session = uuid.uuid4().hex

    def append() -> Any:
        path = f"/v1/sessions/{session}-{next(number) // KEPT}/messages"
        return caller(
            "POST", path, {"user_id": "sarah", "messages": [{"role": "user", "content": "May I?"}]}
        )

    return append


def _contexts(caller: Caller) -> Callable[[], Any]:
    path = f"/v1/sessions/{uuid.uuid4().hex}"
    chats = [{"role": role, "content": "We may."} for role in ("user", "assistant") * (KEPT // 2)]
    caller("POST", f"{path}/messages", {"user_id": "sarah", "messages": chats})
    return lambda: caller("GET", f"{path}/context")


def _recalls(caller: Caller, *, rerank: bool = True) -> Callable[[], Any]:
    user = f"user-{uuid.uuid4().hex}"
    facts = [
        {"type": "fact", "content": f"Colleague {number} has desk {number * 7}"}
        for number in range(KEPT)
    ]
    caller("POST", f"/v1/users/{user}/memories", {"memories": facts})
    body = {"query": "Which desk has colleague 5?", "rerank": rerank}
    return lambda: caller("POST", f"/v1/users/{user}/recall", body)


def _freshness(stack: Stack, *, rounds: int) -> Table:
    """Return the table of freshness. Raises `AssertionError` if the very next recall does not find
    what was just said.
    """
    runs = [_one(Caller(stack), number) for number in range(rounds + 1)][1:]
    stages = list(runs[0])
    rows: list[list[Cell]] = [
        [
            stage,
            round(statistics.median(run[stage] for run in runs)),
            round(max(run[stage] for run in runs)),
        ]
        for stage in stages
    ]
    return Table(
        "From an append until it is found",
        ("ms after the append's answer", "median", "most"),
        rows,
        (
            NOTES,
            (
                f"{rounds} times, a session each. That the first recall after the append finds the "
                f"message is asserted."
            ),
            "The index has it once stream, queue and embedding are through.",
            (
                "Extraction is asked for right after the append; its record goes the same way into the "
                "index."
            ),
        ),
    )


def _one(caller: Caller, number: int) -> dict[str, float]:
    user, word = f"user-{uuid.uuid4().hex}", f"quillon{number}{uuid.uuid4().hex[:6]}"
    session = f"/v1/sessions/{uuid.uuid4().hex}"
    text = f"My favourite colour is {word}."
    caller(
        "POST",
        f"{session}/messages",
        {"user_id": user, "messages": [{"role": "user", "content": text}]},
    )
    begun = time.perf_counter()

    def passed() -> float:
        return (time.perf_counter() - begun) * 1e3

    recall = f"/v1/users/{user}/recall"
    first = caller("POST", recall, {"query": f"Who likes {word}?"})["memories"]
    assert any(word in memory["content"] for memory in first), "what was just said is not found"
    times = {"found by recall, from the table": passed()}
    job = caller("POST", f"{session}/extract", {})["job_id"]
    search = f"/v1/users/{user}/memories/search"
    messages = {"query": word, "mode": "keyword", "filter": {"types": ["message"]}}
    _until(lambda: caller("POST", search, messages)["memories"])
    times["the message is in the index"] = passed()
    _until(lambda: caller("GET", f"/v1/jobs/{job}?wait=5")["state"] == "done")
    times["its record is extracted"] = passed()
    facts = {"query": word, "mode": "keyword", "filter": {"types": ["fact"]}}
    _until(lambda: caller("POST", search, facts)["memories"])
    times["the record is in the index"] = passed()
    return times


def _until(look: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not look():
        if time.monotonic() > deadline:
            raise RuntimeError(f"not so within {PATIENCE} s")
        time.sleep(0.02)

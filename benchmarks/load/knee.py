"""Calls an endpoint at rising rates until it falls behind, and draws latency against rate.

python -m benchmarks.load.knee [URL] [--most 200] [--seconds 10] [--out FOLDER] [--write]

The key is read from `PALIMPSEST_KEY`, and must have the scope `write`. Without a URL, a local stack
is started for the measurement. Calls begin at the planned times, whether or not earlier calls have
ended, so that a slow endpoint is not spared.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import statistics
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.chart import BLUE, GREEN, INK, ORANGE, Panel, drawing, rounded, text
from benchmarks.load.local_stack import running
from benchmarks.report import Table, as_markdown, for_terminal, load, machine
from infra import paths

FIRST_RATE, GROWTH = 2.0, 1.5
CONNECTIONS = 256
SLOW = 5  # times the first latency
KEPT_UP = 0.9  # of the planned rate
FAILED = 0.01
PATIENCE = 30
WARM_CALLS, WARM_AT_ONCE = 64, 16
"""How many calls are made to a local stack before the first rate, and how many of them at a time,
so that its processes have started.
"""
WIDTH, HEIGHT = 760, 340
PAGES = paths.PROJECT / "docs" / "measurements"


@dataclass(frozen=True, slots=True)
class Step:
    """The results at one rate of calls a second. Latencies are in ms, from the planned time on."""

    rate: float
    achieved: float
    median: float
    p95: float
    failed: int
    calls: int


def has_fallen_behind(step: Step, first: Step) -> bool:
    """Return whether the endpoint does not keep up with the rate: it answers too little, too late,
    or with errors.
    """
    return (
        step.achieved < KEPT_UP * step.rate
        or step.p95 > SLOW * first.p95
        or step.failed > FAILED * step.calls
    )


def knee(steps: Sequence[Step]) -> Step | None:
    """Return the last step at which the endpoint kept up, or None if it never did."""
    good = list(itertools.takewhile(lambda step: not has_fallen_behind(step, steps[0]), steps))
    return good[-1] if good else None


def rates(most: float) -> Iterator[float]:
    rate = FIRST_RATE
    while rate < most:
        yield round(rate, 1)
        rate *= GROWTH
    yield most


def ramp(call: Callable[[], bool], *, most: float, seconds: float) -> list[Step]:
    """Return the results of each rate, up to the first at which the endpoint falls behind."""
    steps: list[Step] = []
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        for rate in rates(most):
            steps.append(measured(pool, call, rate=rate, seconds=seconds))
            if has_fallen_behind(steps[-1], steps[0]):
                break
    return steps


def measured(
    pool: ThreadPoolExecutor, call: Callable[[], bool], *, rate: float, seconds: float
) -> Step:
    begun, planned = time.perf_counter(), max(2, round(rate * seconds))

    def timed(due: float) -> tuple[float, bool]:
        is_good = call()
        return (time.perf_counter() - due) * 1e3, is_good

    waiting = []
    for number in range(planned):
        due = begun + number / rate
        time.sleep(max(0.0, due - time.perf_counter()))
        waiting.append(pool.submit(timed, due))
    results = [task.result() for task in waiting]
    times = sorted(took for took, _ in results)
    return Step(
        rate=rate,
        achieved=round((planned - 1) / (time.perf_counter() - begun), 1),
        median=round(statistics.median(times), 1),
        p95=round(times[int(len(times) * 0.95)], 1),
        failed=sum(not is_good for _, is_good in results),
        calls=planned,
    )


class Turns:
    """Calls of turns: each appends a message with its context. A thread keeps its connection."""

    def __init__(self, url: str, key: str) -> None:
        self._place = urlsplit(url)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._own = threading.local()
        self._run = uuid.uuid4().hex[:8]

    def __call__(self) -> bool:
        session = f"load-{self._run}-{uuid.uuid4().hex[:2]}"  # 256 conversations
        message = {"role": "user", "content": "How many days may I work from home?"}
        body = {"user_id": "load", "messages": [message], "context": {}}
        try:
            return self._status(f"/v1/sessions/{session}/messages", body) == HTTPStatus.CREATED
        except (OSError, http.client.HTTPException):
            self._own.connection = None
            return False

    def _status(self, path: str, body: dict[str, Any]) -> int:
        connection = getattr(self._own, "connection", None) or self._connected()
        connection.request("POST", self._place.path + path, json.dumps(body), self._headers)
        answer = connection.getresponse()
        answer.read()
        return int(answer.status)

    def _connected(self) -> http.client.HTTPConnection:
        is_safe = self._place.scheme == "https"
        kind = http.client.HTTPSConnection if is_safe else http.client.HTTPConnection
        self._own.connection = kind(self._place.netloc, timeout=PATIENCE)
        connection: http.client.HTTPConnection = self._own.connection
        return connection


def table(steps: Sequence[Step]) -> Table:
    rows = [[step.rate, step.achieved, step.median, step.p95, step.failed] for step in steps]
    limit = knee(steps)
    last = (
        "The endpoint did not keep up at any rate."
        if limit is None
        else (f"The endpoint keeps up with {limit.rate:g} calls a second.")
    )
    columns = ("calls a second", "answered", "median, ms", "95 of 100, ms", "failed")
    return Table("Appends with their contexts, at rising rates", columns, rows, (last,))


def svg(steps: Sequence[Step]) -> str:
    most = max(step.rate for step in steps)
    panel = Panel(80, 40, WIDTH - 110, 230, most, rounded(max(step.p95 for step in steps)))
    parts = list(panel.axis(unit="ms"))
    for name, stroke in (("median", BLUE), ("p95", ORANGE)):
        parts.append(panel.line([(s.rate, getattr(s, name)) for s in steps], stroke=stroke))
    parts += [text(panel.x(s.rate), 288, f"{s.rate:g}", anchor="middle") for s in steps]
    parts.append(text(WIDTH / 2, 312, "calls a second", anchor="middle", fill=INK))
    parts += [text(90, 332, "median", fill=BLUE), text(150, 332, "95 of 100", fill=ORANGE)]
    limit = knee(steps)
    if limit is not None:
        place = panel.x(limit.rate)
        parts.append(f'<path d="M{place} 40V270" stroke="{GREEN}" stroke-dasharray="4 3"/>')
        parts.append(text(place + 4, 52, "the knee", fill=GREEN))
    return drawing(WIDTH, HEIGHT, parts, title="Latency against rate")


def page(steps: Sequence[Step], *, seconds: float) -> str:
    """Return the page about the local stack."""
    return f"""# Load

Figures of decision [143](../adr/0143-a-storm.md).

`make load` without a URL starts a local stack and calls it at rising rates. A call appends a message and gets its context. It is one of
256 conversations of one user. Each rate is held for {seconds:g} seconds, and calls begin at their planned times, whether or not earlier calls have
ended. The stack falls behind when it answers less than {KEPT_UP:.0%} of the calls in time, when 95 of 100 calls take {SLOW} times as long as at
the first rate, or when more than {FAILED:.0%} of the calls fail.

![Latency against rate](load.svg)

{as_markdown(table(steps))}
{machine()}, load {load()}.

The local AWS runs on the same processors as the functions and the caller. So these figures are of this machine. Only a run against a deployed
service shows how much that one bears.
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.load.knee", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("url", nargs="?", default="", help="of the service, without /v1")
    parser.add_argument("--most", type=float, default=200, help="the highest rate (default: 200)")
    parser.add_argument("--seconds", type=float, default=10, help="of each rate (default: 10)")
    parser.add_argument(
        "--out", type=Path, default=paths.BUILD / "load", help="folder of the picture"
    )
    parser.add_argument("--write", action="store_true", help="write the local stack's page in docs")
    parsed = parser.parse_args()
    if parsed.write and parsed.url:
        raise SystemExit("The page in docs is about the local stack: leave the URL out.")
    steps = _steps(parsed.url.rstrip("/"), most=parsed.most, seconds=parsed.seconds)
    print(for_terminal(table(steps)))
    folder = PAGES if parsed.write else parsed.out
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "load.svg").write_text(svg(steps))
    if parsed.write:
        (folder / "load.md").write_text(page(steps, seconds=parsed.seconds))
    print(f"The picture is {folder / 'load.svg'}")


def _steps(url: str, *, most: float, seconds: float) -> list[Step]:
    if not url:
        with running() as stack:
            turns = Turns(stack.url, stack.key)
            with ThreadPoolExecutor(WARM_AT_ONCE) as pool:
                list(pool.map(lambda _: turns(), range(WARM_CALLS)))
            return ramp(turns, most=most, seconds=seconds)
    key = os.environ.get("PALIMPSEST_KEY", "")
    if not url.startswith(("http://", "https://")) or not key:
        raise SystemExit("Name the service and a key: PALIMPSEST_KEY=pal_… make load URL=https://…")
    return ramp(Turns(url, key), most=most, seconds=seconds)


if __name__ == "__main__":
    main()

"""Rounds of the sweep that find nothing due, through the function's own handler, in a process of
its own. It prints what a round takes, as JSON.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from benchmarks.cost.turns import Log
from benchmarks.measure import cost_of
from benchmarks.meter import metered
from tests.unit.api.gateway import LambdaContext

MANY = 25  # items in a request (DynamoDB)
LATER = 4_000_000_000  # epoch seconds


@dataclass(frozen=True, slots=True)
class Round:
    """What a round takes: requests of DynamoDB and their read units, milliseconds of CPU and of the
    clock, and bytes of logs.
    """

    requests: float
    read_units: float
    cpu_ms: float
    clock_ms: float
    log_bytes: float


def rounds(tables: Sequence[str], *, waiting: int, times: int) -> Round:
    """Return the median of so many rounds while so many items, which are due later, wait in the list of
    each table. The environment is that of the function.
    """
    from palimpsest.engines.dynamodb.table import connected

    log = Log()
    with contextlib.redirect_stdout(log):  # the function's logger holds it from now on
        handler = importlib.import_module("functions.sweep.handler").handler
    client = connected(None, None)
    for table in tables:
        for start in range(0, waiting, MANY):
            items = [_item(number) for number in range(start, min(start + MANY, waiting))]
            client.batch_write_item(RequestItems={table: items})
    with metered(client) as meter:
        handler({}, LambdaContext())  # the first one connects
        meter.read()
        log.taken()
        taken = [_round(handler, meter, log) for _ in range(times)]
    return Round(*map(median, zip(*taken, strict=True)))


def _round(handler: Any, meter: Any, log: Log) -> tuple[float, ...]:
    _, cost = cost_of(lambda: handler({}, LambdaContext()))
    reading = meter.read()
    return reading.requests, reading.read_units, cost.cpu, cost.clock, log.taken()


def _item(number: int) -> Mapping[str, Any]:
    """Return the request that puts an item with keys as long as those of a session."""
    from palimpsest.engines.places import shard_of

    partition = f"acme#3b241101-e2bb-4255-8caf-{number:012d}"
    due = {"due_shard": {"S": shard_of(partition)}, "due_at": {"N": str(LATER)}}
    return {"PutRequest": {"Item": {"pk": {"S": partition}, "sk": {"S": "settings"}, **due}}}


if __name__ == "__main__":
    named = [os.environ["SESSIONS_TABLE"], os.environ["MEMORIES_TABLE"]]
    print(json.dumps(asdict(rounds(named, waiting=int(sys.argv[1]), times=int(sys.argv[2])))))

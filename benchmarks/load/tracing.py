"""What tracing costs a process: a span while traces are off, a span while they are on, and loading
the library.

python -m benchmarks.load.tracing [--write]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest import tracing

from benchmarks.report import load, machine
from infra import paths

PAGE = paths.PROJECT / "docs" / "measurements" / "traces.md"
SPANS_OFF, SPANS_ON = 200_000, 5_000
SPANS_OF_AN_EVENT = 100
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
ROUNDS = 7  # of which the median counts
LOADING = """
import time
import palimpsest.tracing
begun = time.process_time()
from palimpsest.engines.opentelemetry import OpenTelemetryTracer, sends_to
tracer = OpenTelemetryTracer(sends_to("http://127.0.0.1:9/v1/traces"), service="palimpsest")
print(time.process_time() - begun)
"""
"""What a cold start does more if the stack traces."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of CPU: of a span while traces are off and on, and of loading the library."""

    span_off: float
    span_on: float
    loading: float


def measured(
    *, spans_off: int = SPANS_OFF, spans_on: int = SPANS_ON, rounds: int = ROUNDS
) -> Costs:
    """Measure the three figures in this process and in new ones. Tracing is off afterwards."""
    tracing.use(None)
    off = statistics.median(_seconds_of_a_span(spans_off) for _ in range(rounds))
    tracing.use(_tracer())
    try:
        on = statistics.median(_seconds_of_a_span(spans_on) for _ in range(rounds))
    finally:
        tracing.use(None)
    return Costs(off, on, statistics.median(_seconds_of_loading() for _ in range(rounds)))


def _tracer() -> tracing.Tracer:
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
    from palimpsest.engines.opentelemetry import OpenTelemetryTracer

    class Dropping(SpanExporter):
        """It sends nothing, because the request to a collector is another cost."""

        def export(self, spans: Sequence[Any]) -> SpanExportResult:
            return SpanExportResult.SUCCESS

    return OpenTelemetryTracer(Dropping(), service="palimpsest")


def _seconds_of_a_span(spans: int) -> float:
    """Return the CPU time of one span, opened and closed as for a job, and of handing it to the
    exporter at the end of an event.
    """
    begun = time.process_time()
    for number in range(spans):
        about: dict[str, tracing.Value] = {"messaging.message.id": "1", "palimpsest.receives": 1}
        with tracing.span("process job", kind="consumer", parent=PARENT, attributes=about):
            pass
        if number % SPANS_OF_AN_EVENT == 0:
            tracing.flush()
    return (time.process_time() - begun) / spans


def _seconds_of_loading() -> float:
    library = str(paths.LAYERS / "core" / "python")
    done = subprocess.run(
        [sys.executable, "-c", LOADING], env={"PYTHONPATH": library}, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    return float(done.stdout)


def page(costs: Costs) -> str:
    return f"""# Traces

Written by `python -m benchmarks.load.tracing --write`, for [ADR 136](../adr/0136-traces-by-traceparent.md): CPU time, the median of {ROUNDS}
rounds. {machine()}, load {load()}.

| what | off | on |
|---|---:|---:|
| a span with a parent, opened, closed and handed to the exporter | {costs.span_off * 1e6:.1f} µs | {costs.span_on * 1e6:.0f} µs |
| loading the SDK and its exporter, once in a process | none: not loaded | {costs.loading * 1e3:.0f} ms |

The time of a request to a collector is not in these figures.

`tests/unit/api/test_tracing_while_off.py` counts the function calls of an append while traces are off. Fewer than one in 100 of them
belongs to tracing. `tests/contract/test_traces.py` sends 24 appends, six of them twice, through the handlers, real streams and queues.
Every fifth batch of a stream fails at first, every third comes twice, each kind of model call fails twice, and every fourth batch of a
queue is received again after it was done. All 24 are joined from the client's span to the index and its embedding model.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load.tracing", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page in docs")
    parsed = parser.parse_args()
    text = page(measured())
    print(text)
    if parsed.write:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()

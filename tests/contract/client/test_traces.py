"""A program that traces with OpenTelemetry has its present span in each call, and any other none."""

from __future__ import annotations

import subprocess
import sys

from opentelemetry.sdk.trace import TracerProvider
from palimpsest_client.calls import Send, call


def header() -> str | None:
    step = next(call("POST", "sessions", "s1", "messages", body={}))
    assert isinstance(step, Send)
    return step.headers.get("traceparent")


def test_a_call_within_a_span_carries_it() -> None:
    with TracerProvider().get_tracer("program").start_as_current_span("turn") as span:
        found = span.get_span_context()
        version, trace, parent, flags = (header() or "").split("-")
    assert (version, trace) == ("00", f"{found.trace_id:032x}")
    assert parent == f"{found.span_id:016x}"
    assert int(flags, 16) & 1  # it is recorded


def test_a_call_outside_of_any_span_carries_nothing() -> None:
    assert header() is None


def test_a_program_that_does_not_trace_loads_nothing_for_it() -> None:
    code = (
        "import sys; from palimpsest_client.calls import call; next(call('GET', 'users')); "
        "print(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert out.stdout.strip() == "False"

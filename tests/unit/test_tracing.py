"""Tracing costs nothing while it is off, and follows W3C's `traceparent` while it is on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from palimpsest import tracing
from palimpsest.engines.opentelemetry import OpenTelemetryTracer
from palimpsest.errors import ModelUnavailable
from palimpsest.jobs.events import JobNotice
from palimpsest.scope import UserScope

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
UNSAMPLED = CALLER.removesuffix("01") + "00"
OTHER = "00-11111111111111111111111111111111-2222222222222222-01"


@pytest.fixture
def exported() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    tracing.use(OpenTelemetryTracer(exporter, service="test", stage="unit"))
    yield exporter
    tracing.use(None)


def spans(exporter: InMemorySpanExporter) -> list[ReadableSpan]:
    tracing.flush()
    return list(exporter.get_finished_spans())


def test_while_off_every_span_is_the_same_object_and_keeps_nothing() -> None:
    with (
        tracing.span("one", parent=CALLER) as one,
        tracing.memory("search_memory", tenant="a") as other,
    ):
        one.note("name", 1)
        assert one is other is tracing.NOTHING
        assert tracing.current() == ""
    assert not tracing.is_on()


def test_while_off_no_library_of_it_is_loaded() -> None:
    code = (
        "import sys; import palimpsest.tracing, palimpsest.api.app, palimpsest.workers.batches, "
        "palimpsest.wiring.deployed, palimpsest.wiring.workers, palimpsest.engines.opentelemetry; "
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert out.stdout.strip() == "[]"


def test_a_span_belongs_to_the_trace_of_its_parent(exported: InMemorySpanExporter) -> None:
    with tracing.span("outer", parent=CALLER), tracing.span("inner"):
        assert tracing.current().split("-")[1] == CALLER.split("-")[1]
    inner, outer = spans(exported)
    assert inner.parent is not None
    assert outer.parent is not None
    assert outer.context is not None
    assert f"{outer.parent.span_id:016x}" == CALLER.split("-")[2]
    assert inner.parent.span_id == outer.context.span_id


@pytest.mark.parametrize(
    "value", ["", "nonsense", "00-0-0-01", f"00-{'0' * 32}-{'0' * 16}-01", "\x00"]
)
def test_a_value_in_another_form_is_no_parent(exported: InMemorySpanExporter, value: str) -> None:
    with tracing.span("root", parent=value, links=[value]):
        assert tracing.current() != ""
    (root,) = spans(exported)
    assert root.parent is None
    assert root.links == ()


def test_a_caller_decides_whether_its_trace_is_recorded(exported: InMemorySpanExporter) -> None:
    with tracing.span("request", parent=UNSAMPLED):
        assert tracing.current().endswith("-00")
    assert spans(exported) == []


def test_of_traces_that_begin_here_a_share_is_recorded() -> None:
    exporter = InMemorySpanExporter()
    tracing.use(OpenTelemetryTracer(exporter, service="test", share=0.0))
    try:
        with tracing.span("mine"):
            pass
        with tracing.span("a caller's", parent=CALLER):
            pass
        assert [span.name for span in spans(exporter)] == ["a caller's"]
    finally:
        tracing.use(None)


def test_an_error_ends_a_span_with_its_type_and_without_its_words(
    exported: InMemorySpanExporter,
) -> None:
    with pytest.raises(ModelUnavailable), tracing.span("chat"):
        raise ModelUnavailable("The words of this error are Sarah's.")
    (span,) = spans(exported)
    assert span.attributes == {"error.type": "ModelUnavailable"}
    assert span.events == ()
    assert span.status.description is None


def test_an_operation_on_memories_tells_their_number(exported: InMemorySpanExporter) -> None:
    class Finds:
        @tracing.operation("search_memory", len)
        def __call__(self, scope: UserScope, text: str) -> list[str]:
            return [text, scope.user]

    assert Finds()(UserScope("acme", "sarah"), "a question") == ["a question", "sarah"]
    (span,) = spans(exported)
    assert span.name == "search_memory"
    assert span.attributes == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.memory.store.id": "acme",
        "gen_ai.memory.record.count": 2,
    }


def test_spans_may_be_linked_to_other_traces(exported: InMemorySpanExporter) -> None:
    with tracing.span("batch", links=[OTHER]):
        pass
    (span,) = spans(exported)
    assert [f"{link.context.trace_id:032x}" for link in span.links] == [OTHER.split("-")[1]]


def test_two_notices_of_one_job_are_the_same_whoever_traced_them() -> None:
    assert JobNotice("acme", "job_1", "extract", CALLER) == JobNotice("acme", "job_1", "extract")

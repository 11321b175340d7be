"""Spans on their way out: to a collector that takes OTLP, and to AWS X-Ray with a signature."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

import pytest
import requests
from palimpsest import tracing
from palimpsest.engines.opentelemetry import (
    OpenTelemetryTracer,
    is_of_xray,
    sends_to,
    signing_session,
)

from tests.doubles.collector import Collector
from tests.doubles.signatures import Signed, signature

SECRET = "secret of this test"
CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as running:
        yield running
    tracing.use(None)


def trace_to(collector: Collector) -> None:
    exporter = sends_to(f"{collector.endpoint}/v1/traces")
    tracing.use(OpenTelemetryTracer(exporter, service="palimpsest", stage="test"))


def test_spans_reach_a_collector_by_the_end_of_the_event(collector: Collector) -> None:
    trace_to(collector)
    with tracing.span("request", kind="server", parent=CALLER) as span:
        span.note("http.route", "/v1/sessions")
    tracing.flush()
    (request,) = collector.received
    (resource,) = request.resource_spans
    told = {
        attribute.key: attribute.value.string_value for attribute in resource.resource.attributes
    }
    assert told["service.name"] == "palimpsest"
    assert told["deployment.environment.name"] == "test"
    (sent,) = resource.scope_spans[0].spans
    assert sent.trace_id.hex() == CALLER.split("-")[1]
    assert sent.parent_span_id.hex() == CALLER.split("-")[2]
    assert sent.attributes[0].key == "http.route"


@pytest.mark.parametrize("status", [400, 503])
def test_a_collector_that_refuses_spans_disturbs_nothing(collector: Collector, status: int) -> None:
    collector.status = status
    trace_to(collector)
    with tracing.span("request"):
        pass
    tracing.flush()


def test_a_collector_that_is_gone_disturbs_nothing() -> None:
    with Collector() as gone:
        pass
    trace_to(gone)
    with tracing.span("request"):
        pass
    tracing.flush()
    tracing.use(None)


@pytest.mark.parametrize(
    ("endpoint", "is_signed"),
    [
        ("https://xray.eu-central-1.amazonaws.com/v1/traces", True),
        ("https://xray.example.com/v1/traces", False),
        ("http://localhost:4318/v1/traces", False),
    ],
)
def test_only_requests_to_xray_are_signed(endpoint: str, is_signed: bool) -> None:  # noqa: FBT001
    assert is_of_xray(endpoint) is is_signed


def test_a_request_to_xray_has_the_signature_of_the_role(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDOFTHISTEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", "session of this test")
    url, body = "https://xray.eu-central-1.amazonaws.com/v1/traces", b"spans"
    content = {"Content-Type": "application/x-protobuf"}
    request = signing_session().prepare_request(
        requests.Request("POST", url, data=body, headers=content)
    )
    headers: Mapping[str, str] = {
        name.lower(): str(value) for name, value in request.headers.items()
    }
    given = headers["authorization"].partition(" ")[2]
    fields = dict(part.strip().split("=", 1) for part in given.split(","))
    names = fields["SignedHeaders"].split(";")
    assert {"host", "x-amz-date", "x-amz-security-token"} <= set(names)
    signed = Signed(
        method="POST",
        path="/v1/traces",
        query="",
        headers={"host": urlsplit(url).netloc, **{n: headers[n] for n in names if n != "host"}},
        body_hash=hashlib.sha256(body).hexdigest(),
        signed_at=headers["x-amz-date"],
        region="eu-central-1",
        service="xray",
    )
    assert fields["Signature"] == signature(signed, SECRET)

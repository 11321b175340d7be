"""The tracer on OpenTelemetry's SDK. It sends spans to AWS X-Ray, or to any collector that takes
OTLP over HTTP.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from palimpsest.tracing import HEADER, Kind, OpenSpan, Value

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import SpanContext
    from requests import PreparedRequest, Session

SECONDS = 2.0  # for sending the spans of one event


class _Noting:
    """A span of OpenTelemetry as an `OpenSpan`."""

    def __init__(self, span: Any) -> None:
        self._span = span

    def note(self, name: str, value: Value) -> None:
        self._span.set_attribute(name, value)


class OpenTelemetryTracer:
    """Implements `Tracer`. It records the share `share` (0 to 1) of the traces that begin here. If
    the caller began a trace, the caller's flag decides whether it is recorded.
    """

    def __init__(
        self, exporter: SpanExporter, *, service: str, share: float = 1.0, stage: str = ""
    ) -> None:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        about = {"service.name": service, "deployment.environment.name": stage}
        provider = TracerProvider(
            sampler=ParentBased(TraceIdRatioBased(share)), resource=Resource.create(about)
        )
        provider.add_span_processor(BatchSpanProcessor(exporter))
        self._provider = provider
        self._tracer = provider.get_tracer("palimpsest")
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def span(
        self,
        name: str,
        *,
        kind: Kind,
        parent: str,
        links: Sequence[str],
        attributes: Mapping[str, Value],
    ) -> Iterator[OpenSpan]:
        from opentelemetry.trace import Link, SpanKind, Status, StatusCode

        linked = [Link(context) for link in links if (context := self._span_of(link)) is not None]
        with self._tracer.start_as_current_span(
            name,
            context=self._context(parent),
            kind=SpanKind[kind.upper()],
            links=linked,
            attributes=attributes,
            record_exception=False,  # its message may hold a text
            set_status_on_exception=False,
        ) as made:
            try:
                yield _Noting(made)
            except BaseException as error:
                made.set_attribute("error.type", type(error).__name__)
                made.set_status(Status(StatusCode.ERROR))
                raise

    def current(self) -> str:
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier)
        return carrier.get(HEADER, "")

    def flush(self) -> None:
        self._provider.force_flush(int(SECONDS * 1_000))

    def _context(self, parent: str) -> Context | None:
        """Return the context that the parent names, or the present context if there is none."""
        return self._propagator.extract({HEADER: parent}) if self._span_of(parent) else None

    def _span_of(self, traceparent: str) -> SpanContext | None:
        from opentelemetry.context import Context
        from opentelemetry.trace import get_current_span

        if not traceparent:
            return None
        context = self._propagator.extract({HEADER: traceparent}, context=Context())
        span_context = get_current_span(context).get_span_context()
        return span_context if span_context.is_valid else None


def sends_to(endpoint: str) -> SpanExporter:
    """Return an exporter for that address. Requests to AWS X-Ray are signed with the credentials of
    the process.
    """
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    session = signing_session() if is_of_xray(endpoint) else None
    return OTLPSpanExporter(endpoint=endpoint, timeout=SECONDS, session=session)


def is_of_xray(endpoint: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    return host.startswith("xray.") and host.endswith(".amazonaws.com")


def signing_session() -> Session:
    """Return a session that signs each request for X-Ray in the region of its address."""
    import boto3
    import requests
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest

    credentials: Any = boto3.Session().get_credentials()

    def signed(request: PreparedRequest) -> PreparedRequest:
        region = (urlsplit(request.url or "").hostname or "").split(".")[1]
        content = {"Content-Type": request.headers["Content-Type"]}
        made = AWSRequest(
            method=request.method, url=request.url, data=request.body, headers=content
        )
        SigV4Auth(credentials.get_frozen_credentials(), "xray", region).add_auth(made)
        request.headers.update(dict(made.headers))
        return request

    session = requests.Session()
    session.auth = signed
    return session

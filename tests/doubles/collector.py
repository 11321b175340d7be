"""A stand-in for a collector of spans, which takes OTLP over HTTP."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.doubles.http_double import HttpDouble

UNPACK: Mapping[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "deflate": zlib.decompress,
}


@dataclass
class Collector(HttpDouble):
    """A collector. `received` has the requests for spans, in order. It answers `status`."""

    status: int = 200
    received: list[ExportTraceServiceRequest] = field(default_factory=list)

    def names(self, trace: str) -> set[str]:
        """The names of the spans of a trace, whose id is in hexadecimal digits."""
        return {
            span.name
            for request in self.received
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
            if span.trace_id.hex() == trace
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                unpack = UNPACK.get(self.headers.get("Content-Encoding", ""), bytes)
                plain = unpack(body)
                outer.received.append(ExportTraceServiceRequest.FromString(plain))
                self.send_response(outer.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                return

        return Handler

"""Vectors that another function makes: what it is asked, and what its failures become."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from palimpsest import tracing
from palimpsest.engines.aws.functions import FunctionEmbedder
from palimpsest.engines.opentelemetry import OpenTelemetryTracer
from palimpsest.errors import ModelUnavailable
from palimpsest.models.ports import Space
from palimpsest.workers.batches import asked_vectors

from tests.doubles.meanings import Meanings
from tests.unit.api.handlers import load

SPACE = Space("meanings", 128)


class Invoked:
    """Implements what is used of the client for Lambda, over a handler."""

    def __init__(self, handler: Callable[[dict[str, Any]], Any]) -> None:
        self.handler = handler
        self.functions: list[str] = []

    def invoke(self, *, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803 - boto3's names
        self.functions.append(FunctionName)
        return {"Payload": io.BytesIO(json.dumps(self.handler(json.loads(Payload))).encode())}


def test_the_handler_of_embed_makes_the_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    module, model = load("embed"), Meanings()
    asked: list[bool] = []

    class Worker:
        def vectors(self, texts: list[str], *, as_questions: bool) -> Any:
            asked.append(as_questions)
            return model.embed(texts)

    monkeypatch.setattr(module.indexing, "embed_worker", Worker)
    client = Invoked(lambda event: module.handler.__wrapped__(event, None))
    embedder = FunctionEmbedder("Embed", space=SPACE, client=client)
    assert embedder.space == SPACE
    assert embedder.embed(["green tea", "half \ud800 a pair"], as_questions=True) == model.embed(
        ["green tea", "half \ud800 a pair"]
    )
    assert (asked, client.functions) == ([True], ["Embed"])


def refused(_: dict[str, Any]) -> None:
    raise ClientError({"Error": {"Code": "TooManyRequestsException"}}, "Invoke")


def slow(_: dict[str, Any]) -> None:
    raise ReadTimeoutError(endpoint_url="http://127.0.0.1")


@pytest.mark.parametrize(
    "handler", [refused, slow, lambda _: {"errorMessage": "no"}, lambda _: None]
)
def test_a_function_that_gives_no_vectors_is_a_model_that_is_unavailable(
    handler: Callable[..., Any],
) -> None:
    with pytest.raises(ModelUnavailable):
        FunctionEmbedder("Embed", space=SPACE, client=Invoked(handler)).embed(["green tea"])


def test_the_vectors_that_another_function_asks_for_are_made_in_its_trace() -> None:
    exporter = InMemorySpanExporter()
    tracing.use(OpenTelemetryTracer(exporter, service="test"))
    try:
        client = Invoked(lambda event: asked_vectors(event, vectors=Meanings().embed))
        with tracing.span("request"):
            FunctionEmbedder("Embed", space=SPACE, client=client).embed(["green tea"])
        tracing.flush()
        made, request = exporter.get_finished_spans()
    finally:
        tracing.use(None)
    assert made.parent is not None
    assert request.context is not None
    assert (made.name, made.parent.span_id) == ("make vectors", request.context.span_id)

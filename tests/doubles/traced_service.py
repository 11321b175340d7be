"""A conversation through the service's own handlers, traced, in a process of its own. Streams and queues between the
functions deliver some things twice, and some fail at first. The last line that it prints says what was sent and which
spans ended, as JSON.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from palimpsest import tracing
from palimpsest.engines.opentelemetry import OpenTelemetryTracer
from palimpsest.errors import Unavailable

from tests.unit.api.gateway import ALL_SCOPES, LambdaContext, http_event

FUNCTIONS = ("sessions", "memories", "dispatch", "summarize", "extract", "embed")
USER, SESSION = "sarah", "traced"
ROUNDS = 60  # of deliveries after a request; it needs about three


def client(service: str) -> Any:
    import boto3

    made: Any = boto3.client  # typed service by service
    return made(service)


class Streams:
    """The streams of the tables, read from where they were last read. Every third batch comes twice, and every fifth
    fails at first, because no queue answers.
    """

    def __init__(self, tables: Sequence[str], dispatch: Any) -> None:
        self._client, self._dispatch, self._batches = client("dynamodbstreams"), dispatch, 0
        self._places = {table: self._begin(table) for table in tables}
        self.failures = 0

    def _begin(self, table: str) -> str:
        arn = client("dynamodb").describe_table(TableName=table)["Table"]["LatestStreamArn"]
        (shard,) = self._client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
        first = {"ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        return str(self._client.get_shard_iterator(StreamArn=arn, **first)["ShardIterator"])

    def deliver(self) -> bool:
        has_records = False
        for table, place in self._places.items():
            answer = self._client.get_records(ShardIterator=place)
            self._places[table] = answer.get("NextShardIterator", place)
            records = [json.loads(json.dumps(record, default=str)) for record in answer["Records"]]
            wanted = [record for record in records if _is_forwarded(record)]
            if wanted:
                self._deliver(wanted)
                has_records = True
        return has_records

    def _deliver(self, records: list[dict[str, Any]]) -> None:
        self._batches += 1
        if self._batches % 5 == 0:
            with no_queue_answers():
                failed = self._dispatch({"Records": records}, LambdaContext())
            assert failed["batchItemFailures"]
            self.failures += 1
        for _ in range(2 if self._batches % 3 == 0 else 1):
            assert self._dispatch({"Records": records}, LambdaContext()) == {
                "batchItemFailures": []
            }


@contextlib.contextmanager
def no_queue_answers() -> Any:
    from palimpsest.engines.aws.queues import SqsQueues

    def refuse(*_: object, **__: object) -> None:
        raise Unavailable("The queue did not answer; try again.")

    before = SqsQueues._send
    SqsQueues._send = refuse  # type: ignore[method-assign]
    try:
        yield
    finally:
        SqsQueues._send = before  # type: ignore[method-assign]


def _is_forwarded(record: Mapping[str, Any]) -> bool:
    change = record["dynamodb"]
    image = change.get("NewImage") or {}
    kind = image.get("type", {}).get("S")
    if kind == "record":
        return bool(image["index_state"]["S"] == "pending")
    return kind in ("job", "message") and record["eventName"] == "INSERT"


class Queues:
    """The queues. What failed is received again at once, and every fourth message also after it was done."""

    def __init__(self, queues: Mapping[str, str], handlers: Mapping[str, Any]) -> None:
        self._queues, self._handlers, self._sqs = queues, handlers, client("sqs")
        self._received = self.again = 0

    def deliver(self) -> bool:
        has_messages = False
        for name, url in self._queues.items():
            limits = {"MaxNumberOfMessages": 10 if name == "embed" else 1}
            received = self._sqs.receive_message(
                QueueUrl=url, MessageAttributeNames=["All"],
                AttributeNames=["ApproximateReceiveCount"], **limits,
            )  # fmt: skip
            if messages := received.get("Messages", []):
                self._deliver(name, url, messages)
                has_messages = True
        return has_messages

    def _deliver(self, name: str, url: str, messages: Sequence[Mapping[str, Any]]) -> None:
        self._received += 1
        event_of_batch = {"Records": [sqs_record(message) for message in messages]}
        answer = self._handlers[name](event_of_batch, LambdaContext())
        failed = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        if not failed and self._received % 4 == 0:
            self._handlers[name](event_of_batch, LambdaContext())
            self.again += 1
        for message in messages:
            receipt = {"QueueUrl": url, "ReceiptHandle": message["ReceiptHandle"]}
            if message["MessageId"] in failed:
                self._sqs.change_message_visibility(**receipt, VisibilityTimeout=0)
                self.again += 1
            else:
                self._sqs.delete_message(**receipt)


def sqs_record(message: Mapping[str, Any]) -> dict[str, Any]:
    """A received message as Lambda gives it to a function."""
    attributes = {
        name: {"stringValue": attribute["StringValue"], "dataType": attribute["DataType"]}
        for name, attribute in message.get("MessageAttributes", {}).items()
    }
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
        "messageAttributes": attributes,
        "eventSource": "aws:sqs",
    }


def event(method: str, path: str, body: Mapping[str, Any], **headers: str) -> dict[str, Any]:
    authorizer = {"lambda": {"tenant": "acme", "scopes": ALL_SCOPES, "key_id": "k" * 64}}
    return http_event(method, path, json.dumps(body), headers=headers, authorizer=authorizer)


def talk(task: Mapping[str, Any]) -> Mapping[str, Any]:
    exporter = InMemorySpanExporter()
    tracing.use(OpenTelemetryTracer(exporter, service="palimpsest"))
    with contextlib.redirect_stdout(io.StringIO()):
        handlers = {
            name: importlib.import_module(f"functions.{name}.handler").handler for name in FUNCTIONS
        }
        streams = Streams(task["tables"], handlers["dispatch"])
        queues = Queues(task["queues"], handlers)

        def call(function: str, method: str, path: str, body: Any, **headers: str) -> Any:
            answer = handlers[function](event(method, path, body, **headers), LambdaContext())
            assert answer["statusCode"] < 300, answer["body"]
            return json.loads(answer["body"] or "null")

        def settle() -> None:
            for _ in range(ROUNDS):
                if not any((streams.deliver(), queues.deliver())):
                    return
            raise RuntimeError("the work does not end")

        memory = {"strategy": "summarize", "max_tokens": 300, "extract": "auto"}
        begun = {"session_id": SESSION, "user_id": USER, "memory": memory}
        call("sessions", "POST", "/v1/sessions", begun)
        for number, append in enumerate(task["appends"]):
            path = f"/v1/sessions/{SESSION}/messages"
            body = {"messages": [{"role": append["role"], "content": append["text"]}]}
            headers = {"traceparent": append["traceparent"], "idempotency-key": f"key-{number}"}
            for _ in range(2 if number % 4 == 0 else 1):  # a client that heard no answer
                call("sessions", "POST", path, body, **headers)
            if number % 3 == 2:  # several appends share a batch
                settle()
        settle()
        headers_of_recall = {"traceparent": task["recall"]}
        call(
            "memories",
            "POST",
            f"/v1/users/{USER}/recall",
            {"query": "Where is the violin?"},
            **headers_of_recall,
        )
        change(call, task["changes"])
    spans = [json.loads(span.to_json(indent=None)) for span in exporter.get_finished_spans()]
    return {"spans": spans, "again": queues.again, "failures": streams.failures}


def change(call: Any, traces: Mapping[str, str]) -> None:
    """Save, change and delete one memory, each in the trace that the task names."""
    memories = f"/v1/users/{USER}/memories"
    new = {"memories": [{"type": "fact", "content": "Sarah lives beside a lighthouse."}]}
    saved = call("memories", "POST", memories, new, traceparent=traces["upsert_memory"])
    path = f"{memories}/{saved['memories'][0]['id']}"
    newer = {"importance": 0.9}
    call("memories", "PATCH", path, newer, traceparent=traces["update_memory"])
    call("memories", "DELETE", path, {}, traceparent=traces["delete_memory"])


if __name__ == "__main__":
    print(json.dumps(talk(json.loads(sys.stdin.read()))))

"""A conversation through the service's own handlers, in a process of its own. The operations on AWS
are counted for each stage.

Streams are read, and queues emptied, after every call. Nothing waits for a larger batch, so this is
the most expensive case. The last line that it prints has the counts, as JSON.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.measure import cost_of
from benchmarks.meter import Meter, metered
from benchmarks.service import body_of, event
from tests.unit.api.gateway import LambdaContext

FUNCTIONS = ("sessions", "memories", "dispatch", "summarize", "extract", "embed")
BLOCKS = [{"type": "static"}, {"type": "extractive"}, {"type": "vector"}]
USER, SESSION = "sarah", "turns"


class Service:
    """The functions, with streams and queues between them, which are read as Lambda's pollers read
    them. `counts` are by stage. `spans` say when each call of a stage began and ended.
    """

    def __init__(self, task: Mapping[str, Any]) -> None:
        self.counts: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        self.spans: list[tuple[str, float, float]] = []
        self._log = Log()
        with contextlib.redirect_stdout(self._log):  # the functions' logger holds it from now on
            self._handlers = {
                name: importlib.import_module(f"functions.{name}.handler").handler
                for name in FUNCTIONS
            }
        self._queues: Mapping[str, Mapping[str, Any]] = task["queues"]
        self._sqs = _client("sqs")
        self._batch: int = task["stream_batch"]
        self._streams = [_Stream(table, filters) for table, filters in task["streams"].items()]

    def call(
        self, stage: str, method: str, path: str, body: Mapping[str, Any], *, meter: Meter
    ) -> Any:
        """Make a request of the API, then do all work that it causes. Return the answer."""
        by_sessions = path.startswith("/v1/sessions") and not path.endswith("/context")
        self.counts[stage]["http_api_requests"] += 1
        key = (
            f"{stage}-{self.counts[stage]['http_api_requests']:.0f}" if stage == "append" else None
        )
        request = event(method, path, body, key=key)
        answer = self._invoke(
            stage, "sessions" if by_sessions else "memories", request, meter=meter
        )
        while self._follow(meter):
            pass
        return body_of(answer)

    def _follow(self, meter: Meter) -> bool:
        """Do one round of the work in streams and queues. Return whether there was any."""
        is_found = False
        for stream in self._streams:
            records = stream.read()
            for start in range(0, len(records), self._batch):
                self._invoke(
                    "dispatch",
                    "dispatch",
                    {"Records": records[start : start + self._batch]},
                    meter=meter,
                )
            self.counts["dispatch"]["sqs_requests"] += len(records)  # a message each
            is_found |= bool(records)
        for name, queue in self._queues.items():
            is_found |= self._work(name, queue["url"], queue["batch"], meter=meter)
        return is_found

    def _work(self, name: str, url: str, batch: int, *, meter: Meter) -> bool:
        received = self._sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=batch)
        messages = received.get("Messages", [])
        if not messages:
            return False
        failed = self._invoke(
            name, name, {"Records": [_sqs_record(message) for message in messages]}, meter=meter
        )
        if failed["batchItemFailures"]:
            raise RuntimeError(f"{name} failed: {failed}")
        for message in messages:
            self._sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        # a receive and a delete of the batch, and a worker hides each message as it begins
        self.counts[name]["sqs_requests"] += 2 + len(messages)
        return True

    def _invoke(self, stage: str, function: str, event: Mapping[str, Any], *, meter: Meter) -> Any:
        begun = time.monotonic()
        answer, cost = cost_of(lambda: self._handlers[function](event, LambdaContext()))
        self.spans.append((stage, begun, time.monotonic()))
        reading = meter.read()
        count = self.counts[stage]
        count["lambda_requests"] += 1
        count["dynamodb_reads"] += reading.read_units
        count["dynamodb_writes"] += reading.write_units
        count["cpu_ms"] += cost.cpu
        count["clock_ms"] += cost.clock
        count["log_bytes"] += self._log.taken()
        return answer


class Log(io.StringIO):
    """The log output of the functions."""

    def taken(self) -> int:
        """Return how many bytes were logged since the last call."""
        size = len(self.getvalue().encode())
        self.seek(0)
        self.truncate()
        return size


class _Stream:
    """A table's stream, read from the last position on, through the filters of the template."""

    def __init__(self, table: str, filters: Sequence[Mapping[str, Any]]) -> None:
        self._filters = filters
        self._client = _client("dynamodbstreams")
        arn = _client("dynamodb").describe_table(TableName=table)["Table"]["LatestStreamArn"]
        (shard,) = self._client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
        self._at = self._client.get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]

    def read(self) -> list[dict[str, Any]]:
        answer = self._client.get_records(ShardIterator=self._at)
        self._at = answer.get("NextShardIterator", self._at)
        records = [json.loads(json.dumps(record, default=str)) for record in answer["Records"]]
        return [
            record
            for record in records
            if any(matches(record, pattern) for pattern in self._filters)
        ]


def matches(record: Mapping[str, Any], pattern: Mapping[str, Any]) -> bool:
    """Return whether a stream record passes a filter of the template. In such a filter, each field
    has a list of texts, one of which must be its value.
    """
    for name, wanted in pattern.items():
        value = record.get(name)
        if isinstance(wanted, Mapping):
            if not isinstance(value, Mapping) or not matches(value, wanted):
                return False
        elif value not in wanted:
            return False
    return True


def _sqs_record(message: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": {"ApproximateReceiveCount": "1"},
        "messageAttributes": {},
        "eventSource": "aws:sqs",
    }


def _client(service: str) -> Any:
    import boto3

    made: Any = boto3.client  # typed service by service
    return made(service)


def talk(task: Mapping[str, Any]) -> Mapping[str, Any]:
    """Do the turns, and return the counts. In each turn, the user's message is appended, a context
    with memory is read for it, the reply is appended, and a recall is made.
    """
    from palimpsest.engines.dynamodb.table import connected

    service = Service(task)
    path = f"/v1/sessions/{SESSION}"
    with metered(connected(None, None)) as meter:
        memory = {
            "strategy": "summarize",
            "max_tokens": task["window"],
            "extract": "auto",
            "blocks": BLOCKS,
        }
        begun = {"session_id": SESSION, "user_id": USER, "memory": memory}
        service.call("begin", "POST", "/v1/sessions", begun, meter=meter)
        for statement, replied, question in task["turns"]:
            for role, text in (("user", statement), ("assistant", replied)):
                messages = {"messages": [{"role": role, "content": text}]}
                service.call("append", "POST", f"{path}/messages", messages, meter=meter)
                if role == "user":
                    service.call(
                        "context", "POST", f"{path}/context", {"message": statement}, meter=meter
                    )
            service.call(
                "recall", "POST", f"/v1/users/{USER}/recall", {"query": question}, meter=meter
            )
    return {"counts": service.counts, "spans": service.spans}


if __name__ == "__main__":
    print(json.dumps(talk(json.loads(sys.stdin.read()))))

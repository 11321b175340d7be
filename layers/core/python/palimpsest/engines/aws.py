"""The adapters to AWS services other than DynamoDB: SSM, S3, Lambda, SQS and EventBridge. Their
clients give up after a few seconds.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from palimpsest import tracing
from palimpsest.errors import ModelUnavailable, Unavailable
from palimpsest.jobs.events import Changed, Happened, JobNotice
from palimpsest.jobs.kinds import JobKind
from palimpsest.models.ports import Space, Vector

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient


CONNECT_SECONDS = 1.0


def client(
    service: str, *, seconds: float, attempts: int, endpoint: str | None = None, **settings: Any
) -> Any:
    """Return a boto3 client of the service. It waits `seconds` for an answer and makes at most
    `attempts` attempts. `settings` are passed on to botocore's `Config`.
    """
    import boto3
    from botocore.config import Config

    config = Config(
        connect_timeout=CONNECT_SECONDS, read_timeout=seconds,
        retries={"mode": "standard", "total_max_attempts": attempts}, **settings,
    )  # fmt: skip
    return boto3.Session().client(service, endpoint_url=endpoint, config=config)  # type: ignore[call-overload]


@contextmanager
def answering(who: str) -> Iterator[None]:
    """Raise `Unavailable`, with `who` in the message, if an AWS call in this context fails."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise Unavailable(f"{who} did not answer; try again.") from error


PARAMETER_SECONDS = 2.0  # until an answer
CACHED_SECONDS = 300.0


class Parameter:
    """A SecureString in SSM. It is read when it is first needed and cached for 5 minutes."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._value: str | None = None
        self._stale_at = 0.0
        self._lock = threading.Lock()

    def value(self) -> str | None:
        """Return the parameter's value, or None if the parameter does not exist. Raises
        `Unavailable` if it can't be read.
        """
        with self._lock:
            if time.monotonic() >= self._stale_at:
                self._value = self._read()
                self._stale_at = time.monotonic() + CACHED_SECONDS
            return self._value

    def _read(self) -> str | None:
        ssm = client("ssm", seconds=PARAMETER_SECONDS, attempts=2)
        with answering("The parameter store"):
            try:
                value: str | None = ssm.get_parameter(Name=self._name, WithDecryption=True)[
                    "Parameter"
                ].get("Value")
            except ssm.exceptions.ParameterNotFound:
                return None
        return value


KEYS_AT_ONCE = 1_000  # keys in one DeleteObjects, and on one page of a list (S3)


class S3Blobs:
    """Implements `Blobs` over one S3 bucket. It connects on first use, so that requests without
    large contents load no client. Safe to use from many threads.
    """

    def __init__(self, bucket: str, *, endpoint: str | None = None) -> None:
        self._bucket = bucket
        self._endpoint = endpoint

    def put(self, key: str, data: bytes) -> None:
        with answering("The bucket"):
            self._s3.put_object(Bucket=self._bucket, Key=key, Body=data)

    def get(self, key: str) -> bytes | None:
        with answering("The bucket"):
            try:
                return self._s3.get_object(Bucket=self._bucket, Key=key)["Body"].read()
            except self._s3.exceptions.NoSuchKey:
                return None

    def keys(self, prefix: str, *, first: str = "") -> Iterator[str]:
        pages = self._s3.get_paginator("list_objects_v2")
        found = pages.paginate(
            Bucket=self._bucket,
            Prefix=prefix,
            StartAfter=prefix + first,
            PaginationConfig={"PageSize": KEYS_AT_ONCE},
        )
        with answering("The bucket"):
            for page in found:
                yield from (stored["Key"] for stored in page.get("Contents", ()))

    def remove(self, keys: Sequence[str]) -> None:
        for start in range(0, len(keys), KEYS_AT_ONCE):
            named = [{"Key": key} for key in keys[start : start + KEYS_AT_ONCE]]
            with answering("The bucket"):
                removal: Any = {"Objects": named, "Quiet": True}
                answer = self._s3.delete_objects(Bucket=self._bucket, Delete=removal)
            if answer.get("Errors"):
                raise Unavailable("The bucket did not remove everything; try again.")

    def link(self, key: str, *, seconds: int) -> str:
        with answering("The bucket"):
            place = {"Bucket": self._bucket, "Key": key}
            return self._s3.generate_presigned_url("get_object", Params=place, ExpiresIn=seconds)

    @cached_property
    def _s3(self) -> S3Client:
        made: S3Client = client(
            "s3", seconds=10.0, attempts=3, endpoint=self._endpoint, signature_version="s3v4",
            s3={"addressing_style": "path"},  # a local AWS has no host name for each bucket
        )  # fmt: skip
        return made


class FunctionEmbedder:
    """Implements `Embedder` for Lambda functions that carry no model. The Lambda function named
    `function` computes the vectors. `client` is a boto3 client for Lambda; without one, a client is
    made on first use.
    """

    def __init__(self, function: str, *, space: Space, client: Any = None) -> None:
        self._function = function
        self._space = space
        self._given = client

    @property
    def space(self) -> Space:
        return self._space

    def embed(self, texts: Sequence[str], *, as_questions: bool = False) -> list[Vector]:
        from botocore.exceptions import BotoCoreError, ClientError

        asked: dict[str, Any] = {"texts": list(texts), "as_questions": as_questions}
        if trace := tracing.current():
            asked[tracing.HEADER] = trace
        payload = json.dumps(asked).encode()
        try:
            answer = self._client.invoke(FunctionName=self._function, Payload=payload)
            vectors: list[Vector] = json.loads(answer["Payload"].read())["vectors"]
        except (BotoCoreError, ClientError) as error:
            raise ModelUnavailable("The function that embeds did not answer.") from error
        except (
            ValueError,
            LookupError,
            TypeError,
        ) as error:  # the function failed, and its error is the answer
            raise ModelUnavailable("The function that embeds has failed.") from error
        return vectors

    @cached_property
    def _client(self) -> Any:
        return self._given or client("lambda", seconds=5.0, attempts=1)


MAX_HIDDEN_SECONDS = 11 * 3600  # SQS hides a message for 12 hours at most, counted from its receipt
MOST_HIDDEN = 10  # messages in one call


class _SqsClient:
    """Base class with a boto3 client for SQS, made on first use."""

    @cached_property
    def _sqs(self) -> SQSClient:
        made: SQSClient = client("sqs", seconds=3.0, attempts=3)
        return made


class SqsQueues(_SqsClient):
    """Implements `Queues` over SQS. Each kind of job has one queue. There is one more queue for
    changes of the search index, one for events that the event bus refused, and one for unreadable
    records.

    The message group of a message is its tenant. On a standard queue, SQS then delivers other
    tenants' messages first while one tenant has too many in progress (fair queues). A parked record
    has no group, because its tenant may be unreadable. The URL of a queue that the caller never
    sends to may be left empty.
    """

    def __init__(
        self,
        urls_by_kind: Mapping[JobKind, str],
        *,
        changes_url: str = "",
        events_url: str = "",
        parked_url: str = "",
    ) -> None:
        self._urls = dict(urls_by_kind)
        self._changes_url = changes_url
        self._events_url = events_url
        self._parked_url = parked_url

    def send(self, notices: Sequence[JobNotice]) -> None:
        for notice in notices:
            url, trace = self._urls[notice.kind], notice.trace or tracing.current()
            self._send(url, json.dumps(named(notice)), tenant=notice.tenant, trace=trace)

    def send_changes(self, changes: Sequence[Changed]) -> None:
        for change in changes:
            body = json.dumps(asdict(change))
            self._send(self._changes_url, body, tenant=change.tenant, trace=tracing.current())

    def send_events(self, events: Sequence[Happened]) -> None:
        for event in events:
            self._send(self._events_url, json.dumps(asdict(event)), tenant=event.tenant)

    def park(self, record: str) -> None:
        self._send(self._parked_url, record)

    def _send(self, url: str, body: str, *, tenant: str | None = None, trace: str = "") -> None:
        """Send a message. `trace` goes beside its body, so that a release that knows no traces can
        read the message too.
        """
        more: dict[str, Any] = {} if tenant is None else {"MessageGroupId": tenant}
        if trace:
            more["MessageAttributes"] = {
                tracing.HEADER: {"DataType": "String", "StringValue": trace}
            }
        with answering("The queue"):
            self._sqs.send_message(QueueUrl=url, MessageBody=body, **more)


def named(notice: JobNotice) -> dict[str, str]:
    """Return the body of a notice's message, which names the job."""
    return {"tenant": notice.tenant, "job_id": notice.job_id, "kind": notice.kind}


class SqsVisibility(_SqsClient):
    """Sets when received messages of one queue become visible again."""

    def __init__(self, queue_url: str) -> None:
        self._queue_url = queue_url

    def hide(self, *receipt_handles: str, seconds: float) -> None:
        """Hide received messages for this many seconds from now. Raises `Unavailable`."""
        hidden = min(max(0, round(seconds)), MAX_HIDDEN_SECONDS)
        with answering("The queue"):
            for start in range(0, len(receipt_handles), MOST_HIDDEN):
                self._hide(receipt_handles[start : start + MOST_HIDDEN], seconds=hidden)

    def _hide(self, receipt_handles: Sequence[str], *, seconds: int) -> None:
        entries: list[Any] = [
            {"Id": str(number), "ReceiptHandle": handle, "VisibilityTimeout": seconds}
            for number, handle in enumerate(receipt_handles)
        ]
        done = self._sqs.change_message_visibility_batch(QueueUrl=self._queue_url, Entries=entries)
        if failed := done.get("Failed"):
            raise Unavailable(f"The queue could not hide {len(failed)} messages. Try again.")


SOURCE = "palimpsest"
REST = 10.0  # seconds without calls after the bus did not answer


@dataclass
class EventBridge:
    """Implements `EventBus` over the EventBridge bus named `name`. An event's detail holds its
    tenant and ids.

    After the bus failed to answer, it isn't called for some seconds. A caller with many events then
    does not wait for a time-out with each of them.
    """

    name: str
    rests_until: float = 0.0

    @cached_property
    def _client(self) -> Any:
        return client("events", seconds=3.0, attempts=1)

    def publish(self, events: Sequence[Happened]) -> None:
        if time.monotonic() < self.rests_until:
            raise Unavailable("The event bus did not answer a moment ago; try again.")
        entries = [
            {
                "EventBusName": self.name,
                "Source": SOURCE,
                "DetailType": event.name,
                "Detail": json.dumps({"tenant": event.tenant, **event.ids}),
            }
            for event in events
        ]
        try:
            with answering("The event bus"):
                answer = self._client.put_events(Entries=entries)
        except Unavailable:
            self.rests_until = time.monotonic() + REST
            raise
        if answer["FailedEntryCount"]:
            raise Unavailable("The event bus did not take every event; try again.")

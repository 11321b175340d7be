"""The queues of jobs and changes (SQS)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

from palimpsest import tracing
from palimpsest.jobs.events import Changed, Happened, JobNotice
from palimpsest.jobs.kinds import JobKind

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
from palimpsest.engines.aws.client import answering, client

MAX_HIDDEN_SECONDS = 11 * 3600  # SQS hides a message for 12 hours at most, counted from its receipt


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
        """Send a message. `trace` is sent as an attribute, not in the body, so that a release that
        knows no traces can read the message too.
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
        """Hide received messages for this many seconds from now. Raises `Unavailable`.

        Each message is a call of its own. The local AWS asks for a right to the call for several
        messages, which IAM does not know.
        """
        hidden = min(max(0, round(seconds)), MAX_HIDDEN_SECONDS)
        with answering("The queue"):
            for handle in receipt_handles:
                self._sqs.change_message_visibility(
                    QueueUrl=self._queue_url, ReceiptHandle=handle, VisibilityTimeout=hidden
                )

"""The queues between the streams and the workers, on SQS."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING

from palimpsest.engines.aws import answering, client
from palimpsest.jobs.kinds import JobKind
from palimpsest.jobs.ports import Changed, Happened, JobNotice

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

SECONDS, ATTEMPTS = 3.0, 3
MAX_HIDDEN_SECONDS = 11 * 3600  # SQS hides a message for 12 hours at most, counted from its receipt


class _Client:
    """boto3's client, made when it is first needed."""

    @cached_property
    def _sqs(self) -> SQSClient:
        made: SQSClient = client("sqs", seconds=SECONDS, attempts=ATTEMPTS)
        return made


class SqsQueues(_Client):
    """`Queues` over a queue for each kind of job, one for changes of what is searched, one for events that the bus did
    not take, and one for what can't be read.

    A message names its tenant as its group: on a standard queue, SQS delivers other tenants' messages first while one
    tenant has too many under way (fair queues). A parked record has no group, as its tenant may be what is unreadable.
    A caller that sends no changes or events, or parks nothing, names no queue for them.
    """

    def __init__(
        self, urls_by_kind: Mapping[JobKind, str], *, changes_url: str = "", events_url: str = "", parked_url: str = ""
    ) -> None:
        self._urls = dict(urls_by_kind)
        self._changes_url = changes_url
        self._events_url = events_url
        self._parked_url = parked_url

    def send(self, notices: Sequence[JobNotice]) -> None:
        for notice in notices:
            self._send(self._urls[notice.kind], json.dumps(asdict(notice)), tenant=notice.tenant)

    def send_changes(self, changes: Sequence[Changed]) -> None:
        for change in changes:
            self._send(self._changes_url, json.dumps(asdict(change)), tenant=change.tenant)

    def send_events(self, events: Sequence[Happened]) -> None:
        for event in events:
            self._send(self._events_url, json.dumps(asdict(event)), tenant=event.tenant)

    def park(self, record: str) -> None:
        self._send(self._parked_url, record)

    def _send(self, url: str, body: str, *, tenant: str | None = None) -> None:
        with answering("The queue"):
            if tenant is None:
                self._sqs.send_message(QueueUrl=url, MessageBody=body)
            else:
                self._sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId=tenant)


class SqsVisibility(_Client):
    """When a message of one queue is to be seen again."""

    def __init__(self, queue_url: str) -> None:
        self._queue_url = queue_url

    def hide(self, receipt_handle: str, seconds: float) -> None:
        """Hide a received message from now on; raises `Unavailable`."""
        hidden = min(max(0, round(seconds)), MAX_HIDDEN_SECONDS)
        with answering("The queue"):
            self._sqs.change_message_visibility(
                QueueUrl=self._queue_url, ReceiptHandle=receipt_handle, VisibilityTimeout=hidden
            )

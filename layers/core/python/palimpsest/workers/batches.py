"""Runs the records of a queue or stream batch one by one, and reports the failed ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import fields
from functools import partial
from typing import Any

from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.dynamo_db_stream_event import DynamoDBRecord
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.typing import LambdaContext

from palimpsest import tracing
from palimpsest.errors import BadRequest, DamagedJob, ModelUnavailable, NewerJob, PalimpsestError
from palimpsest.jobs.attempts import MAX_TRIES
from palimpsest.jobs.events import Changed, JobNotice, MessageChanged, RecordChanged, Removed
from palimpsest.jobs.handling import Worker
from palimpsest.jobs.kinds import KIND, KINDS
from palimpsest.jobs.ports import Hide
from palimpsest.models.ports import Vector
from palimpsest.observability import logger
from palimpsest.retry import back_off
from palimpsest.scope import Scope

FIRST_BACKOFF = 5  # seconds, doubled with every try

LONGEST_BACKOFF = 120

NOTICE = {field.name for field in fields(JobNotice)} - {"trace"}

CHANGES = [
    frozenset(kind.__dataclass_fields__) for kind in (RecordChanged, MessageChanged, Removed)
]
"""The fields of a queue's message. A message must have all of them and no others."""

LONGEST_RETRY_AFTER = 120  # the most, as the provider may work again long before

AFTER_THE_END = 10  # seconds from the end of a worker until its messages are delivered again


def read_notice(body: str) -> JobNotice:
    """Return the notice of the job that a queue message names. Raises `NewerJob` for a kind that
    only a newer release knows, and `ValueError` or `LookupError` if the message names no job.
    """
    content = json.loads(body)
    if (
        not isinstance(content, dict)
        or content.keys() != NOTICE
        or not KIND.fullmatch(content["kind"])
    ):
        message = "not a job notice"
        raise ValueError(message)
    if content["kind"] not in KINDS:
        raise NewerJob("A newer release made this job.")
    return JobNotice(tenant=content["tenant"], job_id=content["job_id"], kind=content["kind"])


def read_change(body: str) -> Changed:
    """Return the change that a queue message names. Raises `ValueError`, `LookupError`, `TypeError`
    or `BadRequest` if the message names none.
    """
    content = json.loads(body)
    if not isinstance(content, dict) or content.keys() not in CHANGES:
        message = "not a change"
        raise ValueError(message)
    if "record_id" in content:
        owner = Scope(content["tenant"]).user(content["user"])
        return RecordChanged(owner.tenant, owner.user, str(content["record_id"]))
    if "job_id" in content:
        return Removed(Scope(content["tenant"]).tenant, str(content["job_id"]))
    session = Scope(content["tenant"]).session(content["session"])
    return MessageChanged(session.tenant, session.session, int(content["seq"]))


class JobFailed(Exception):
    """Keeps the message of a failed job in its queue, until the queue has it as a dead letter."""


def backoff(error: Exception, *, tries: int) -> int:
    """Return how many whole seconds to wait before the next attempt. That is the time that the
    model's provider asked for, or else a time that grows with each attempt.
    """
    if isinstance(error, ModelUnavailable) and error.retry_after is not None:
        return int(min(LONGEST_RETRY_AFTER, max(1, error.retry_after)))
    return pause(tries)


def pause(tries: int) -> int:
    """Return how many whole seconds to wait after this many failed tries: about 5 after the first
    try, and twice as many after each further one.
    """
    return int(back_off(tries - 1, first=FIRST_BACKOFF, longest=LONGEST_BACKOFF)) + 1


def work_batch(event: dict[str, Any], context: LambdaContext, *, worker: Worker) -> dict[str, Any]:
    """Call the worker for each message of an SQS event. Return the answer that lists the failed
    messages.
    """
    hold(event, context, hide=worker.hide)
    return queue_batch(event, context, handle=partial(_traced_record, worker=worker))


def hold(event: Mapping[str, Any], context: LambdaContext, *, hide: Hide) -> None:
    """Hide the messages of an SQS event until shortly after the function must have ended. If its
    process is killed, they are delivered again then. The queue itself hides a message several times
    as long, because the function may be throttled before it begins.
    """
    receipts = [record["receiptHandle"] for record in event["Records"]]
    seconds = context.get_remaining_time_in_millis() // 1000 + AFTER_THE_END
    if receipts:
        with suppress(PalimpsestError):  # else they stay hidden as long as the queue says
            hide(*receipts, seconds=seconds)


def _traced_record(record: SQSRecord, *, worker: Worker) -> None:
    with tracing.span("process job", kind="consumer", parent=_trace_of(record)) as span:
        span.note("messaging.message.id", record.message_id)
        span.note("palimpsest.receives", int(record.attributes.approximate_receive_count))
        queue_record(record, worker=worker)


def _trace_of(record: SQSRecord) -> str:
    """Return the `traceparent` that was sent with the message, or "" if there is none."""
    attributes = record.raw_event.get("messageAttributes") or {}
    return str(attributes.get(tracing.HEADER, {}).get("stringValue") or "")


def queue_record(record: SQSRecord, *, worker: Worker) -> None:
    """Run one step of the job that the message names. If it fails, the message is delivered again
    after a pause. After the last try the job is marked as failed.

    The error is raised in both cases, so that the queue keeps the message. If another try can't
    help, there is no pause: the message of a job that failed, or that can't be read, comes back
    until it is received as often as its queue allows. The message then becomes a dead letter, which
    sets off an alarm. A dead letter that an operator sends again is received for the first time.

    A job that only a newer release can do stays in the table as it is. Its message is deleted,
    because that release's sweep sends it again.
    """
    receives = int(record.attributes.approximate_receive_count)
    try:
        notice = read_notice(record.body)
    except NewerJob:
        logger.warning("job of a newer release", extra={"message_id": record.message_id})
        return
    except (ValueError, LookupError):
        logger.warning(
            "message names no job", extra={"message_id": record.message_id, "receives": receives}
        )
        worker.hide(record.receipt_handle, seconds=0)
        raise
    fields = {
        "tenant": notice.tenant,
        "job_id": notice.job_id,
        "kind": notice.kind,
        "receives": receives,
    }
    # At its first delivery a job is new, or an operator has sent it again so that it starts anew.
    if receives > 1 and _has_failed(worker, notice):
        worker.hide(record.receipt_handle, seconds=0)
        raise JobFailed("The job failed before, and its message becomes a dead letter.")
    try:
        worker.step(notice)
    except NewerJob:
        logger.warning("job of a newer release", extra=fields)
        return
    except Exception as error:
        # the outermost edge: whatever failed, the job must end or be tried again
        logger.warning("job step failed", extra={**fields, **_failure(error)})
        _end_or_try_again(record, notice, error, worker=worker)
        raise
    _leave(worker, notice)
    logger.info("job step done", extra=fields)


def _end_or_try_again(
    record: SQSRecord, notice: JobNotice, error: Exception, *, worker: Worker
) -> None:
    tries = 1 + _failed_before(worker, notice)
    if tries >= MAX_TRIES or isinstance(error, DamagedJob):
        worker.give_up(notice, error=_failure(error)["code"])
        worker.hide(record.receipt_handle, seconds=0)
        _leave(worker, notice)
        return
    hidden = backoff(error, tries=tries)
    worker.hide(record.receipt_handle, seconds=hidden)
    with suppress(PalimpsestError):  # else the sweep may send a second message, which does no harm
        worker.tries.wait(notice, seconds=hidden)


def _has_failed(worker: Worker, notice: JobNotice) -> bool:
    try:
        return worker.tries.has_failed(notice)
    except PalimpsestError:  # the step itself meets what is wrong, and the message waits
        return False


def _failed_before(worker: Worker, notice: JobNotice) -> int:
    """Return how many tries failed before. Return 0 if the store does not answer, so that the job
    is not given up.
    """
    try:
        return worker.tries.failed(notice)
    except PalimpsestError:
        return 0


def _leave(worker: Worker, notice: JobNotice) -> None:
    try:
        worker.free_place(notice)
    except PalimpsestError as error:
        # the step is done nevertheless, and the sweep finds the jobs that wait
        logger.warning(
            "place in the queue not left", extra={"job_id": notice.job_id, **_failure(error)}
        )


def change_batch(
    event: dict[str, Any],
    context: LambdaContext,
    *,
    embed: Callable[[Sequence[Changed]], Collection[Changed]],
    hide: Hide,
) -> dict[str, Any]:
    """Index all changes that the messages of an SQS event name, in one call. Return the answer that
    lists the failed messages.

    A failed message is delivered again after a pause. A message that names no change is not
    delayed, and reaches the dead-letter queue at once.
    """
    hold(event, context, hide=hide)
    records = [SQSRecord(message) for message in event["Records"]]
    named = {record.message_id: _named(record) for record in records}
    wanted = [change for change in named.values() if change is not None]
    try:
        with _traced_changes(records):
            failed = set(embed(wanted))
    except Exception as error:  # noqa: BLE001 - the outermost edge: whatever failed, it must be tried again
        logger.warning("changes failed", extra=_failure(error))
        failed = set(wanted)
    tracing.flush()
    again = [
        record
        for record in records
        if (change := named[record.message_id]) is None or change in failed
    ]
    for record in again:
        is_named = named[record.message_id] is not None
        receives = int(record.attributes.approximate_receive_count)
        hide(record.receipt_handle, seconds=pause(receives) if is_named else 0)
    logger.info("changes", extra={"records": len(records), "failed": len(again)})
    return {"batchItemFailures": [{"itemIdentifier": record.message_id} for record in again]}


def asked_vectors(
    event: Mapping[str, Any], *, vectors: Callable[..., list[Vector]]
) -> dict[str, Any]:
    """Return the vectors for which another function asks, in the trace of its work."""
    parent = str(event.get(tracing.HEADER) or "")
    with tracing.span("make vectors", kind="server", parent=parent):
        made = vectors(event["texts"], as_questions=event["as_questions"])
    tracing.flush()
    return {"vectors": made}


@contextmanager
def _traced_changes(records: Sequence[SQSRecord]) -> Iterator[None]:
    """Trace the work on a batch. Each message has a span in its own trace. The work that they share
    is a part of the first message's trace, and the spans of the others are linked to it.
    """
    traces = [_trace_of(record) for record in records] if tracing.is_on() else []
    first, *others = traces or [""]
    about: Mapping[str, int] = {"messaging.batch.message_count": len(records)}
    with ExitStack() as spans:
        index = partial(tracing.span, "index", kind="consumer")
        spans.enter_context(index(parent=first, links=others, attributes=about))
        shared = tracing.current()
        for trace in others:
            spans.enter_context(index(parent=trace, links=[shared]))
        spans.enter_context(tracing.span("write to the index", parent=shared))
        yield


def _named(record: SQSRecord) -> Changed | None:
    try:
        return read_change(record.body)
    except (ValueError, LookupError, TypeError, BadRequest):
        logger.warning("message names no change", extra={"message_id": record.message_id})
        return None


def _failure(error: Exception) -> dict[str, str]:
    """Return fields that describe an error in the log: its code and types, never its text."""
    code = error.code if isinstance(error, PalimpsestError) else "internal_error"
    return {"code": code, "error": type(error).__name__, "cause": type(error.__cause__).__name__}


def queue_batch(
    event: dict[str, Any], context: LambdaContext, *, handle: Callable[[SQSRecord], None]
) -> dict[str, Any]:
    """Call `handle` for every record of an SQS event. Return the answer that lists the failed
    records.
    """
    return _batch(event, context, EventType.SQS, handle)


def stream_batch(
    event: dict[str, Any], context: LambdaContext, *, handle: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Call `handle` for every record of a DynamoDB stream event. Return the answer that lists the
    failed records. Lambda delivers the first failed record and all later records again.
    """

    def record_handler(record: DynamoDBRecord) -> None:
        try:
            handle(record.raw_event)
        except Exception as error:
            # the outermost edge: the record is delivered again, and nobody else logs why
            logger.warning(
                "stream record failed", extra={"event_id": record.event_id, **_failure(error)}
            )
            raise
        logger.info("stream record done", extra={"event_id": record.event_id})

    return _batch(event, context, EventType.DynamoDBStreams, record_handler)


def _batch(
    event: dict[str, Any], context: LambdaContext, kind: EventType, handle: Callable[[Any], None]
) -> dict[str, Any]:
    processor = BatchProcessor(event_type=kind, raise_on_entire_batch_failure=False)
    logger.info("batch", extra={"records": len(event["Records"])})
    if not event["Records"]:  # a smoke test
        return {"batchItemFailures": []}
    answer = process_partial_response(
        event=event, record_handler=handle, processor=processor, context=context
    )
    tracing.flush()
    return dict(answer)

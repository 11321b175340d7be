"""The worker of the summarize queue: each message summarises one overflow."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest.bootstrap import warm, workers
from palimpsest.observability import logger
from palimpsest.workers.batches import queue_batch, queue_record


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    workers.summarize_worker()  # if it can't be built, the whole batch fails with that error
    return queue_batch(event, context, handle=summarize)


def summarize(record: SQSRecord) -> None:
    worker = workers.summarize_worker()
    queue_record(record, step=worker.step, give_up=worker.give_up, hide=worker.hide)


warm(workers.summarize_worker)

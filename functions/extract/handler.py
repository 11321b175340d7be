"""The extract queue in: one chunk of a conversation remembered a message."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest import bootstrap
from palimpsest.observability import logger
from palimpsest.workers.batches import queue_batch, queue_record


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    bootstrap.extract_worker()  # what can't be wired fails the whole batch, and says why
    return queue_batch(event, context, handle=extract)


def extract(record: SQSRecord) -> None:
    worker = bootstrap.extract_worker()
    queue_record(record, step=worker.step, give_up=worker.give_up, hide=worker.hide)


bootstrap.warm(bootstrap.extract_worker)

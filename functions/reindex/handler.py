"""The reindex queue in: one step of the rebuilding of the search index a message. An operator's call begins it."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest import bootstrap
from palimpsest.observability import logger
from palimpsest.workers.batches import queue_batch, queue_record


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    if "Records" not in event:
        return begin()
    bootstrap.reindex_worker()  # what can't be wired fails the whole batch, and says why
    return queue_batch(event, context, handle=reindex)


def reindex(record: SQSRecord) -> None:
    worker = bootstrap.reindex_worker()
    queue_record(record, step=worker.step, give_up=worker.give_up, hide=worker.hide)


def begin() -> dict[str, Any]:
    """The job that goes on now, and whether it is a new one: there is one at a time."""
    job, is_new = bootstrap.reindex_starter()()
    logger.info("reindexing", extra={"job_id": job.id, "is_new": is_new})
    return {"tenant": job.tenant, "job_id": job.id, "is_new": is_new}


bootstrap.warm(bootstrap.reindex_worker)

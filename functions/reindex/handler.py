"""The reindex queue in: one step of the rebuilding of the search index a message. An operator's call begins it."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest import bootstrap
from palimpsest.api.records import queue_batch, queue_record
from palimpsest.observability import logger


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    if "Records" not in event:
        return operate(event)
    bootstrap.reindex_worker()  # what can't be wired fails the whole batch, and says why
    return queue_batch(event, context, handle=reindex)


def reindex(record: SQSRecord) -> None:
    worker = bootstrap.reindex_worker()
    queue_record(record, step=worker.step, give_up=worker.give_up, hide=worker.hide)


def operate(event: dict[str, Any]) -> dict[str, Any]:
    """Begin, or look at the job that is named."""
    start = bootstrap.reindex_starter()
    job, is_new = (start.look(event["job_id"]), False) if "job_id" in event else start()
    logger.info("reindexing", extra={"job_id": job.id, "state": job.state, "is_new": is_new})
    return {"job_id": job.id, "state": job.state, "is_new": is_new, "error": job.error, **job.result}


bootstrap.warm(bootstrap.reindex_worker)

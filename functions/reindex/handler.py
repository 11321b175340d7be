"""The worker of the reindex queue: each message does one step of a rebuild of the index. An operator starts it."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest.bootstrap import indexing, warm
from palimpsest.observability import logger
from palimpsest.workers import work_batch


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    if "Records" not in event:
        return begin()
    return work_batch(event, context, worker=indexing.reindex_worker())


def begin() -> dict[str, Any]:
    """Start a rebuild, or find the one that is running; return its job, and whether it is new."""
    job, is_new = indexing.reindex_starter()()
    logger.info("reindexing", extra={"job_id": job.id, "is_new": is_new})
    return {"tenant": job.tenant, "job_id": job.id, "is_new": is_new}


warm(indexing.reindex_worker)

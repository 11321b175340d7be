"""The worker of the reindex queue. Each message does one step of a rebuild of the index. An
operator starts the rebuild.
"""

from __future__ import annotations

from typing import Any

from palimpsest.wiring import cold_start

cold_start.begin()  # first, because it makes the imports below faster

from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest.observability import logger
from palimpsest.wiring import indexing
from palimpsest.workers.batches import work_batch


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    # An operator's command calls the function without a queue.
    if "Records" not in event:
        return begin()
    return work_batch(event, context, worker=indexing.reindex_worker())


def begin() -> dict[str, Any]:
    """Start a rebuild, or find the running one. Return its job, and whether the job is new."""
    job, is_new = indexing.reindex_starter()()
    logger.info("reindexing", extra={"job_id": job.id, "is_new": is_new})
    return {"tenant": job.tenant, "job_id": job.id, "is_new": is_new}


cold_start.warm(indexing.reindex_worker)  # in init, where a function has a whole processor

"""The scheduled sweep, and the worker of the sweep queue, which removes deleted sessions and withdrawn messages."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest.bootstrap import warm, workers
from palimpsest.observability import logger
from palimpsest.workers import work_batch


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    if "Records" in event:
        return work_batch(event, context, worker=workers.remove_worker())
    looked_at = workers.sweeper()()
    logger.info("swept", extra={"looked_at": looked_at})
    return {"looked_at": looked_at}


warm(workers.remove_worker)

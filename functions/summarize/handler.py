"""The worker of the summarize queue: each message summarises one overflow."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest.bootstrap import warm, workers
from palimpsest.observability import logger
from palimpsest.workers import work_batch


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    return work_batch(event, context, worker=workers.summarize_worker())


warm(workers.summarize_worker)

"""Reads the streams of the tables, and sends a queue message for each new job and each change."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest.bootstrap import warm, workers
from palimpsest.observability import logger
from palimpsest.workers.batches import stream_batch


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    return stream_batch(event, context, handle=workers.dispatcher())


warm(workers.dispatcher)

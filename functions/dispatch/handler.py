"""Reads the streams of the tables, and sends a queue message for each new job and each change; publishes events that
the bus did not take at first.
"""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest.bootstrap import warm, workers
from palimpsest.observability import logger
from palimpsest.workers import queue_batch, stream_batch


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    dispatch = workers.dispatcher()
    if event["Records"][0].get("eventSource") == "aws:sqs":
        return queue_batch(event, context, handle=lambda record: dispatch.publish(record.body))
    return stream_batch(event, context, handle=dispatch)


warm(workers.dispatcher)

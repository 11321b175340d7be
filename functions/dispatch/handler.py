"""Reads the streams of the tables, and sends a queue message for each new job and each change. It
also publishes events that the bus did not accept at first.
"""

from __future__ import annotations

from typing import Any

from palimpsest.wiring import cold_start

cold_start.begin()  # first, because it makes the imports below faster

from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest.observability import logger
from palimpsest.wiring import workers
from palimpsest.workers.batches import queue_batch, stream_batch


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    dispatch = workers.dispatcher()
    records = event["Records"]
    # Events that the bus refused come back through a queue (docs/adr/0036).
    if records and records[0].get("eventSource") == "aws:sqs":
        return queue_batch(event, context, handle=lambda record: dispatch.publish(record.body))
    return stream_batch(event, context, handle=dispatch)


cold_start.warm(workers.dispatcher)  # in init, where a function has a whole processor

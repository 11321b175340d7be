"""The worker of the extract queue. Each message extracts memories from one chunk of a
conversation.
"""

from __future__ import annotations

from typing import Any

from palimpsest.wiring import cold_start

cold_start.begin()  # first, because it makes the imports below faster

from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest.observability import logger
from palimpsest.wiring import workers
from palimpsest.workers.batches import work_batch


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    return work_batch(event, context, worker=workers.extract_worker())


cold_start.warm(workers.extract_worker)  # in init, where a function has a whole processor

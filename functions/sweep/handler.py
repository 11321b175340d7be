"""The scheduled sweep, and the worker of the sweep queue, which removes deleted sessions and
withdrawn messages.
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
    # Removals run here, because a function for them would have the same permissions and code
    # (docs/adr/0002).
    if "Records" in event:
        return work_batch(event, context, worker=workers.remove_worker())
    looked_at = workers.sweeper()()
    logger.info("swept", extra={"looked_at": looked_at})
    return {"looked_at": looked_at}


cold_start.warm(workers.remove_worker)  # in init, where a function has a whole processor

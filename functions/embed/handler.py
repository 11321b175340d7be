"""The worker of the embed queue, which updates the search index with a batch of changes at once. It
also makes vectors for functions that do not contain the model.
"""

from __future__ import annotations

from typing import Any

from palimpsest.wiring import cold_start

cold_start.begin()  # first, because it makes the imports below faster

from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest.observability import logger
from palimpsest.wiring import indexing
from palimpsest.workers.batches import asked_vectors, change_batch


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    worker = indexing.embed_worker()
    # `sessions` calls this function, because it carries no model itself (docs/adr/0031).
    if "texts" in event:
        return asked_vectors(event, vectors=worker.vectors)
    return change_batch(event, context, embed=worker.embed, hide=worker.hide)


cold_start.warm(indexing.embed_worker)  # in init, where a function has a whole processor

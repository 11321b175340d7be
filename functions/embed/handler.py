"""The worker of the embed queue: it updates the search index, a batch of changes at once. It also makes vectors for
functions that do not carry the model.
"""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest.bootstrap import indexing, warm
from palimpsest.observability import logger
from palimpsest.workers import change_batch


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    worker = indexing.embed_worker()
    if "texts" in event:
        return {"vectors": worker.vectors(event["texts"], as_questions=event["as_questions"])}
    return change_batch(event, embed=worker.embed, hide=worker.hide)


warm(indexing.embed_worker)

"""The gateway's authorizer: it finds the tenant of an API key, and refuses a key that is not valid."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest import bootstrap
from palimpsest.observability import logger


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Decide on one request. If the store can't answer, it raises: the gateway answers 500 and caches nothing."""
    logger.set_correlation_id(event["requestContext"]["requestId"])
    headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
    mem0 = headers.get("x-api-key")  # what clients of mem0's own server send
    key = bootstrap.authorizer()(headers.get("authorization") or (mem0 and f"Bearer {mem0}"))
    if key is None:
        logger.info("refused")
        return {"isAuthorized": False}
    scopes = " ".join(sorted(key.scopes))
    logger.info("authorized", extra={"tenant": key.tenant, "key_id": key.id, "scopes": scopes})
    return {"isAuthorized": True, "context": {"tenant": key.tenant, "scopes": scopes, "key_id": key.id}}


bootstrap.warm(bootstrap.authorizer)

"""The gateway's authorizer: who calls, by API key. What it can't vouch for is refused."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest import bootstrap
from palimpsest.observability import logger


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """A store that can't answer raises: the gateway then answers 500 itself, and keeps nothing in its cache."""
    logger.set_correlation_id(event["requestContext"]["requestId"])
    headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
    key = bootstrap.authorizer()(headers.get("authorization"))
    if key is None:
        logger.info("refused")
        return {"isAuthorized": False}
    scopes = " ".join(sorted(key.scopes))
    logger.info("authorized", extra={"tenant": key.tenant, "key_id": key.id, "scopes": scopes})
    return {"isAuthorized": True, "context": {"tenant": key.tenant, "scopes": scopes, "key_id": key.id}}


bootstrap.warm(bootstrap.authorizer)

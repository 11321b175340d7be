"""The gateway's authorizer: it finds the tenant of an API key; a call that it refuses goes on, to get a problem."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest.bootstrap import engines, warm
from palimpsest.errors import Forbidden, Unauthenticated, Unavailable
from palimpsest.observability import logger


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Say whose the request is, or why it is nobody's: the context of one that is refused names no tenant."""
    logger.set_correlation_id(event["requestContext"]["requestId"])
    headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
    mem0 = headers.get("x-api-key") if event["rawPath"].startswith("/compat/") else None
    credential = headers.get("authorization") or (mem0 and f"Bearer {mem0}")
    try:
        key = engines.authorizer()(credential)
    except Unavailable:
        return _refused(Unavailable.code)
    if key is None:
        return _refused(Forbidden.code if credential else Unauthenticated.code)
    scopes = " ".join(sorted(key.scopes))
    logger.info("authorized", extra={"tenant": key.tenant, "key_id": key.id, "scopes": scopes})
    return {"isAuthorized": True, "context": {"tenant": key.tenant, "scopes": scopes, "key_id": key.id}}


def _refused(why: str) -> dict[str, Any]:
    logger.info("refused", extra={"why": why})
    return {"isAuthorized": True, "context": {"refused": why}}


warm(engines.authorizer)

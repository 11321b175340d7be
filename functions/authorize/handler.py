"""The gateway's authorizer, which finds the tenant of a key or token. A call with an invalid key
still reaches the service, which answers with a problem, unless very many such calls come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from palimpsest.wiring import cold_start

cold_start.begin()  # first, because it makes the imports below faster

from palimpsest.errors import Unauthenticated, Unavailable
from palimpsest.observability import logger
from palimpsest.wiring import callers

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Return the tenant of the request, or the reason why there is none. The context of a refused
    request names no tenant. The gateway itself refuses a request that is not authorized (403).
    """
    logger.set_correlation_id(event["requestContext"]["requestId"])
    headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
    # Clients of mem0 send their credential in this header.
    mem0 = headers.get("x-api-key") if event["rawPath"].startswith("/compat/") else None
    credential = headers.get("authorization") or (mem0 and f"Bearer {mem0}")
    authorizer = callers.authorizer()
    try:
        caller = authorizer(credential)
    except (Unauthenticated, Unavailable) as error:
        logger.info("refused", extra={"why": error.code})
        # In a flood the gateway refuses, so that no larger function runs (docs/adr/0105).
        if isinstance(error, Unauthenticated) and not callers.refusals().is_answered():
            return {"isAuthorized": False}
        stated = {"refused": error.code}
    else:
        stated = {"tenant": caller.tenant, "scopes": " ".join(sorted(caller.scopes))}
        stated |= {} if caller.id is None else {"key_id": caller.id}
        logger.info("authorized", extra=stated)
    return {
        # Refused callers pass too, because a function can answer with a problem and the gateway
        # can't (docs/adr/0041).
        "isAuthorized": True,
        "context": stated | ({"issuer": authorizer.issuer} if authorizer.issuer else {}),
    }


cold_start.warm(callers.authorizer)  # in init, where a function has a whole processor

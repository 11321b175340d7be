"""The function for the public pages: health, the API's description, and its documentation."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest.api.site import page
from palimpsest.observability import logger
from palimpsest.settings import SiteSettings


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    request_id = event["requestContext"]["requestId"]
    settings = SiteSettings.read()
    answer = page(event, stage=settings.stage, request_id=request_id, issuer=settings.jwt_issuer)
    logger.set_correlation_id(request_id)
    logger.info("request", extra={"status": answer["statusCode"], "bytes_out": len(answer["body"])})
    return answer

"""What routes are made of: routers, and the parameters that many of them take."""

from __future__ import annotations

from typing import Annotated, Literal

from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from palimpsest.api.chat import LIKE_AN_ID
from palimpsest.api.requests import LONGEST_WAIT

UserId = Annotated[str, Path(description="Id of the user", json_schema_extra=LIKE_AN_ID)]
SessionId = Annotated[str, Path(description="Id of the session", json_schema_extra=LIKE_AN_ID)]
Limit = Annotated[int, Query(ge=1, le=100, description="The most that a page holds; one of large items may hold less")]
Cursor = Annotated[str | None, Query(max_length=2_000, description="`next_cursor` of the page before")]
Order = Annotated[Literal["asc", "desc"], Query(description="Oldest or newest first")]
Wait = Annotated[float, Query(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the job, 0 to 20")]
DEFAULT_LIMIT = 50


def new_router() -> APIGatewayHttpRouter:
    return APIGatewayHttpRouter()  # type: ignore[no-untyped-call] # Powertools leaves it without types

"""Compactions: what left the window, each with the messages it stands for."""

from __future__ import annotations

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path

from palimpsest.api import answers
from palimpsest.api.call import call
from palimpsest.api.cursors import after_number
from palimpsest.api.cursors import cursor as cursor_of
from palimpsest.api.outgoing import paged
from palimpsest.api.routing import DEFAULT_LIMIT, Cursor, Limit, Order, SessionId, new_router

router = new_router()
TAGS = ["compactions"]


@router.get(
    "/v1/sessions/<session_id>/compactions",
    summary="List compactions",
    description="What left the window, and the summaries that stand for it.",
    operation_id="list_compactions",
    tags=TAGS,
)
def list_compactions(
    session_id: SessionId, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None, order: Order = "asc"
) -> Response[str]:
    scope = call().session(session_id)
    listed = (scope.partition, "compactions", order)
    page, after = call().use.history.compactions(
        scope, limit=limit, after=after_number(cursor, *listed), newest_first=order == "desc"
    )
    rows = ((answers.compaction(each), each.last) for each in page)
    return paged("compactions", rows, after=after, cursor=lambda place: cursor_of(*listed, after=place))


@router.get(
    "/v1/sessions/<session_id>/compactions/<n>/messages",
    summary="Unfold a compaction",
    description="The messages that a compaction took out of the window, word for word.",
    operation_id="unfold_compaction",
    tags=TAGS,
)
def unfold_compaction(
    session_id: SessionId,
    n: Annotated[int, Path(ge=1, description="`n` of the compaction")],
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Response[str]:
    scope = call().session(session_id)
    listed = (scope.partition, "unfolded", n)
    page, after = call().use.history.unfold(scope, n, limit=limit, after=after_number(cursor, *listed))
    rows = ((answers.message(each), each.seq) for each in page)
    return paged("messages", rows, after=after, cursor=lambda place: cursor_of(*listed, after=place))

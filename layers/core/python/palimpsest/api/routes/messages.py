"""Messages: append them, read what was said, empty the window, withdraw what should not have been said."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Header, Query

from palimpsest.api import answers
from palimpsest.api.call import call
from palimpsest.api.chat import LIKE_AN_ID
from palimpsest.api.contexts import answered_with_context
from palimpsest.api.cursors import after_number
from palimpsest.api.cursors import cursor as cursor_of
from palimpsest.api.outgoing import answered, awaited, paged
from palimpsest.api.requests import AppendRequest
from palimpsest.api.routing import DEFAULT_LIMIT, Cursor, Limit, Order, SessionId, Wait, new_router
from palimpsest.scope import checked_id

router = new_router()
TAGS = ["messages"]
KEY = "Idempotency-Key"


@router.post(
    "/v1/sessions/<session_id>/messages",
    summary="Append messages",
    description=(
        "Store 1 to 50 messages behind what is there: all of them, once and in order, or none. A request whose answer "
        "was lost can be repeated with its Idempotency-Key (or with ids on all messages): it gives the first result."
    ),
    operation_id="append_messages",
    status_code=HTTPStatus.CREATED,
    tags=TAGS,
)
def append_messages(
    session_id: SessionId,
    body: AppendRequest,
    idempotency_key: Annotated[
        str | None, Header(alias=KEY, description="Makes it repeatable for a day", json_schema_extra=LIKE_AN_ID)
    ] = None,
) -> Response[str]:
    if body.context is not None:
        call().caller.require("read")
    scope = call().session(session_id)
    done = call().use.append(
        scope,
        body.messages,
        user=body.user_id,
        agent=body.agent_id,
        key=None if idempotency_key is None else checked_id(idempotency_key.strip().strip('"'), field=KEY),
        allow_repeat=body.allow_repeat,
    )
    answer = answers.appended(session_id, done)
    if body.context is not None:
        return answered_with_context(answer, scope, body.context, status=HTTPStatus.CREATED)
    return answered(answer, status=HTTPStatus.CREATED)


@router.get(
    "/v1/sessions/<session_id>/messages",
    summary="Read the history",
    description="Everything that was said, word for word, also what left the window long ago.",
    operation_id="read_history",
    tags=TAGS,
)
def read_history(
    session_id: SessionId, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None, order: Order = "asc"
) -> Response[str]:
    scope = call().session(session_id)
    listed = (scope.partition, "messages", order)
    page, after = call().use.history.messages(
        scope, limit=limit, after=after_number(cursor, *listed), newest_first=order == "desc"
    )
    rows = ((answers.message(each), each.seq) for each in page)
    return paged("messages", rows, after=after, cursor=lambda place: cursor_of(*listed, after=place))


@router.delete(
    "/v1/sessions/<session_id>/messages",
    summary="Empty the window, or withdraw messages",
    description=(
        "Without `from` the window is emptied and the history stays. With `from` every message from that number on "
        "is withdrawn, from window, summaries and history, at once; a job deletes what is withdrawn."
    ),
    operation_id="remove_messages",
    tags=TAGS,
)
def remove_messages(
    session_id: SessionId,
    first: Annotated[int | None, Query(alias="from", ge=1, description="Withdraw from this sequence number on")] = None,
    wait: Wait = 0,
) -> Response[str]:
    scope = call().session(session_id)
    if first is None:
        head = call().use.history.empty(scope)
        return answered({"session_id": session_id, "window": answers.window(head)})
    head, job_id = call().use.history.withdraw(scope, first=first)
    return awaited(job_id, wait=wait, beside={"session_id": session_id, "window": answers.window(head)})

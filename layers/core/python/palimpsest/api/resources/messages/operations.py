"""The operations on the messages of a session. They append messages, read the history, empty the
window, and withdraw or redact messages.
"""

from __future__ import annotations

from contextlib import nullcontext
from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query

from palimpsest.api.answers import answered, window
from palimpsest.api.call import Call, Service
from palimpsest.api.fields import SessionId, Wait
from palimpsest.api.operations import operations_on
from palimpsest.api.pages import DEFAULT_LIMIT, Cursor, Limit, Order, after_number, paged
from palimpsest.api.problems import naming
from palimpsest.api.resources.context.answer import answered_with_context
from palimpsest.api.resources.jobs import awaited
from palimpsest.api.resources.messages.shapes import (
    IF_LAST,
    Appended,
    AppendRequest,
    Redaction,
    WindowEmptied,
)
from palimpsest.api.resources.messages.shown import MOST_ROW, ShowMessages
from palimpsest.conversations.append import AppendResult
from palimpsest.conversations.drafts import Draft
from palimpsest.conversations.message import text_of
from palimpsest.models.reported import ReportedCall

operation = operations_on("messages", function="sessions")


Seq = Annotated[int, Path(ge=1, lt=10**12, description="Sequence number of the message")]


@operation("POST /v1/sessions/{session_id}/messages", answers={201: "Appended"})
def append_messages(
    service: Service, call: Call, *, session_id: SessionId, body: AppendRequest
) -> Appended | Response[str]:
    """Append messages.

    Store 1 to 50 messages at the end of the session: all of them, once and in order, or none. If an
    answer was lost, repeat the request with the same Idempotency-Key, or with ids on all messages;
    it returns the first result. If an assistant makes calls in several messages in a row, they are
    stored as one message, as the chat API requires.
    """
    if body.context is not None:
        call.caller.require("read")
    scope = call.session(session_id)
    of_user = (draft.chat for draft in reversed(body.messages) if draft.chat["role"] == "user")
    newest = next(of_user, None)
    ahead = None if body.context is None else service.context.ahead(scope, newest=newest)
    with naming("memory") if body.memory else nullcontext():
        done = service.append(
            scope,
            body.messages,
            user=body.user_id,
            agent=body.agent_id,
            key=call.key,
            allow_repeat=body.allow_repeat,
            if_last=body.if_last,
            memory=body.memory,
            opens=ahead,
        )
    # A repeated append reports the same call again.
    if body.usage is not None and not done.replayed:
        user = scope.owner.user(done.head.user)
        service.count_reported(user, ReportedCall(**body.usage.model_dump()))
    answer = _appended(session_id, done)
    if body.context is not None:
        return answered_with_context(
            service,
            call,
            answer,
            scope,
            body.context,
            newest=newest,
            ahead=ahead,
            head=done.head,
            status=HTTPStatus.CREATED,
        )
    return answer


@operation("GET /v1/sessions/{session_id}/messages", answers={200: "MessagePage"}, refuses=(413,))
def read_history(
    service: Service,
    call: Call,
    *,
    session_id: SessionId,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    order: Order = "asc",
) -> Response[str]:
    """Read the history.

    Return every message of the session, word for word, including messages that have left the
    window.
    """
    scope = call.session(session_id)
    listed = (scope.partition, "messages", order)
    page, after = service.history.messages(
        scope, limit=limit, after=after_number(cursor, *listed), newest_first=order == "desc"
    )
    shown = ShowMessages(service, scope)
    rows = ((shown(message), message.seq) for message in page)
    return paged("messages", rows, listed=listed, after=after)


@operation("GET /v1/sessions/{session_id}/messages/{seq}", answers={200: "HistoryMessage"})
def read_message(service: Service, call: Call, *, session_id: SessionId, seq: Seq) -> Response[str]:
    """Read a message.

    Return one message of the history, word for word.
    """
    scope = call.session(session_id)
    return answered(
        ShowMessages(service, scope)(service.history.message(scope, seq)),
        most=MOST_ROW,
        shows=call.shows,
    )


@operation(
    "DELETE /v1/sessions/{session_id}/messages",
    answers={200: "WindowEmptied | JobDone", 202: "JobPending"},
    refuses=(409,),
)
def remove_messages(
    service: Service,
    call: Call,
    *,
    session_id: SessionId,
    first: Annotated[
        int | None, Query(alias="from", ge=1, description="Withdraw from this sequence number on")
    ] = None,
    if_last: Annotated[int | None, Query(ge=0, description=f"With `from`: {IF_LAST}")] = None,
    wait: Wait = 0,
) -> WindowEmptied | Response[str]:
    """Empty the window, or withdraw messages.

    Without `from`, the window is emptied and the history stays. With `from`, all messages from that
    sequence number on are withdrawn at once from window, summaries and history. A job deletes them,
    and the memories that were made from them alone; a value that such a memory replaced is current
    again. The same messages may be appended again, and are then new. A session without messages
    stays as it is.
    """
    scope = call.session(session_id)
    if first is None:
        head = service.history.empty(scope)
        return {"session_id": session_id, "window": window(head)}
    head, job_id = service.history.withdraw(scope, first=first, if_last=if_last)
    if job_id is None:
        return {"session_id": session_id, "window": window(head)}
    return awaited(
        service, call, job_id, wait=wait, beside={"session_id": session_id, "window": window(head)}
    )


@operation(
    "PATCH /v1/sessions/{session_id}/messages/{seq}", answers={200: "JobDone", 202: "JobPending"}
)
def redact_message(
    service: Service, call: Call, *, session_id: SessionId, seq: Seq, body: Redaction
) -> Response[str]:
    """Redact a message.

    Replace the text of a message. Its place, role and id stay. Its refusal, unknown fields and the
    arguments of its calls are removed. From this answer on, no read of the session shows the old
    text. A job removes the summaries and memories that were made of the old text, and has a receipt
    of this. The job is done once the search index does not have the old text either.
    """
    scope = call.session(session_id)
    # The tenant's setting for secrets holds for the new text too.
    draft = Draft({"role": "user", "content": body.content})
    (kept,) = service.append.admitted(scope.owner, [draft])
    content = text_of(kept.chat)
    head, job_id = service.redact(scope, seq, content=content, metadata=body.metadata)
    return awaited(
        service,
        call,
        job_id,
        wait=body.wait,
        beside={"session_id": session_id, "window": window(head)},
    )


def _appended(session_id: str, done: AppendResult) -> Appended:
    happened = done.overflow
    return {
        "session_id": session_id,
        "created": done.created,
        "messages": [
            {"id": message.id, "seq": message.seq, "tokens": message.tokens}
            for message in done.messages
        ],
        "window": window(done.head),
        "overflow": None
        if happened is None
        else {"strategy": happened.strategy, "state": happened.state, "job_id": happened.job_id},
        "replayed": done.replayed,
    }

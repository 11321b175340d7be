"""The operations that return the context of a session: the messages that the model will see
next.
"""

from __future__ import annotations

from typing import Annotated, Literal

from aws_lambda_powertools.event_handler.openapi.params import Query

from palimpsest.api.call import Call, Service
from palimpsest.api.fields import SessionId
from palimpsest.api.operations import operations_on
from palimpsest.api.resources.context.answer import context_of
from palimpsest.api.resources.context.shapes import (
    AFTER,
    POINTS,
    WHOSE,
    Context,
    ContextOptions,
    ContextRequest,
)
from palimpsest.context.cache import LONGEST_MARK
from palimpsest.context.formats import ContextFormat

operation = operations_on("context", function="sessions")


@operation("GET /v1/sessions/{session_id}/context", answers={200: "Context"}, refuses=(413,))
def get_context(
    service: Service,
    call: Call,
    *,
    session_id: SessionId,
    max_tokens: Annotated[
        int | None, Query(ge=1, le=10_000_000, description="Budget of the context, in tokens")
    ] = None,
    model: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=128,
            description="The model that will read it: its window is the budget",
        ),
    ] = None,
    compact: Annotated[
        Literal["sync"] | None,
        Query(description="sync: first fold the messages over the budget, for up to 20 s"),
    ] = None,
    explain: Annotated[
        bool,
        Query(description="Explain why each part is there, and list the parts that were left out"),
    ] = False,
    at: Annotated[
        int | None, Query(ge=1, description="Return the window as it was after this message")
    ] = None,
    form: Annotated[ContextFormat, Query(alias="format", description=WHOSE)] = "openai",
    after: Annotated[str | None, Query(max_length=LONGEST_MARK, description=AFTER)] = None,
    cache_points: Annotated[bool, Query(description=POINTS)] = True,
) -> Context:
    """Get the context.

    The chat messages to send next, always within the budget, with the memories of the session's
    blocks. Only `compact=sync` waits for a model.
    """
    options = ContextOptions(
        max_tokens=max_tokens,
        model=model,
        compact=compact,
        explain=explain,
        at=at,
        format=form,
        after=after,
        cache_points=cache_points,
    )
    return context_of(service, call, call.session(session_id), options)


@operation(
    "POST /v1/sessions/{session_id}/context",
    function="memories",
    scopes=("read",),
    answers={200: "Context"},
)
def get_context_for(
    service: Service, call: Call, *, session_id: SessionId, body: ContextRequest
) -> Context:
    """Get the context for a message.

    Return the context like GET, for a message that is about to be sent. The tokens of the message
    are counted, it is not stored, and a vector block adds similar past messages. `degraded` names
    the parts that could not be read in time.
    """
    return context_of(service, call, call.session(session_id), body, given=body.message)

"""The context: what the model shall see next, from the tables alone, and the room that is made in it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query

from palimpsest.api import answers
from palimpsest.api.call import call
from palimpsest.api.contexts import answered_with_context, context_of
from palimpsest.api.outgoing import accepted, answered
from palimpsest.api.requests import ContextOptions, PruneRequest
from palimpsest.api.routing import SessionId, new_router

router = new_router()
TAGS = ["context"]


@router.get(
    "/v1/sessions/<session_id>/context",
    summary="Get the context",
    description=(
        "Chat messages ready to send, always within the budget, with what the session's blocks bring from the tables. "
        "Only `compact=sync` waits for a model."
    ),
    operation_id="get_context",
    tags=TAGS,
)
def get_context(  # noqa: PLR0917 - Powertools passes parameters by name
    session_id: SessionId,
    max_tokens: Annotated[
        int | None, Query(ge=1, le=10_000_000, description="Budget of the context, in tokens")
    ] = None,
    model: Annotated[
        str | None,
        Query(min_length=1, max_length=128, description="The model that will read it: its window is the budget"),
    ] = None,
    compact: Annotated[Literal["sync"] | None, Query(description="sync: fold what overflows first, up to 20 s")] = None,
    explain: Annotated[bool, Query(description="Say why each part is there, and what was left out")] = False,  # noqa: FBT002
    at: Annotated[int | None, Query(ge=1, description="The window as it stood after this message")] = None,
) -> Response[str]:
    options = ContextOptions(max_tokens=max_tokens, model=model, compact=compact, explain=explain, at=at)
    return answered(context_of(call().session(session_id), options))


@router.post(
    "/v1/sessions/<session_id>/prune",
    summary="Make room in the window",
    description=(
        "`fifo` drops the oldest turns at once. `summarize` folds all but the recent turns: done within `wait` seconds "
        "it is answered with 200, else with 202 and a job. What leaves the window stays in the history."
    ),
    operation_id="prune_window",
    tags=TAGS,
)
def prune_window(session_id: SessionId, body: PruneRequest) -> Response[str]:
    scope = call().session(session_id)
    wait = call().patience(body.wait)
    job = call().use.prune(scope, strategy=body.strategy, max_tokens=body.max_tokens, wait=wait)
    if job is not None and not job.has_ended:
        return accepted(job.id, job.state)
    answer: dict[str, Any] = {"session_id": session_id, "job_id": None, "state": "done"}
    if job is not None:
        answer |= {"job_id": job.id, "state": job.state}
    answer["window"] = answers.window(call().use.manage.read(scope).head)
    return answered_with_context(answer, scope, ContextOptions(max_tokens=body.max_tokens), given=body.message)

"""Extraction of a session on request: messages since the last extraction become memories."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from pydantic import Field

from palimpsest.api.call import call
from palimpsest.api.operations import operations_on
from palimpsest.api.resources.fields import Closed, SessionId, WaitSeconds
from palimpsest.api.resources.jobs import awaited_or_ended
from palimpsest.errors import Unprocessable

operation = operations_on("memories", function="sessions")


class ExtractRequest(Closed):
    if_needed: Annotated[bool, Field(description="Only if at least `max_buffer_turns` turns wait")] = False
    max_buffer_turns: Annotated[
        int | None, Field(ge=1, le=1_000, description="How many turns are enough; default: the session's own number")
    ] = None
    wait: WaitSeconds = 0


@operation("POST /v1/sessions/{session_id}/extract", answers={200: "JobDone | NothingExtracted", 202: "JobPending"})
def extract_session(session_id: SessionId, body: ExtractRequest) -> Response[str]:
    """Extract memories from a session.

    A job extracts memories from the messages that came after the last extraction. With `if_needed` it does so only if
    enough turns wait. If nothing waits, the answer is the last job, with `armed` false.
    """
    extract = call().use.extract
    if extract is None:
        raise Unprocessable("There is no long-term memory here.", code="no_long_term_memory")
    scope, turns = call().session(session_id), body.max_buffer_turns
    asked = call().made(lambda _: asdict(extract(scope, if_needed=body.if_needed, max_buffer_turns=turns)))
    beside = {"session_id": session_id, "armed": asked["armed"]}
    return awaited_or_ended(asked["job_id"], wait=body.wait, beside=beside)

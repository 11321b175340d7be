"""Ingest: a whole transcript is stored as a session's history and extracted into memories."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from pydantic import Field

from palimpsest.api.call import call
from palimpsest.api.operations import operations_on
from palimpsest.api.resources.chat import ChatMessage, Id
from palimpsest.api.resources.fields import Closed, UserId, WaitSeconds, answered
from palimpsest.api.resources.jobs import awaited_or_ended
from palimpsest.extraction.ingest import MAX_TRANSCRIPT

operation = operations_on("memories", function="memories")


class IngestRequest(Closed):
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MAX_TRANSCRIPT)]
    session_id: Annotated[Id | None, Field(description="Where it is stored; without it, its beginning decides")] = None
    agent_id: Id | None = None
    wait: WaitSeconds = 0


@operation("POST /v1/users/{user_id}/ingest", answers={200: "JobDone | NothingExtracted", 202: "JobPending"})
def ingest_transcript(user_id: UserId, body: IngestRequest) -> Response[str]:
    """Ingest a transcript.

    Store 1 to 1000 messages as the history of a session, word for word; a job extracts memories from them. A growing
    transcript can be sent again and again: only messages that are not stored yet are appended. If the stored history
    differs from the transcript, the answer is 409 `transcript_diverged`.
    """
    scope, ingest = call().user(user_id), call().memory.ingest
    done = call().made(lambda _: asdict(ingest(scope, body.messages, session_id=body.session_id, agent=body.agent_id)))
    beside = {"session_id": done["session"], "created": done["created"], "appended": done["appended"]}
    if done["job_id"] is None:
        return answered({"job_id": None, "state": "done", **beside})
    return awaited_or_ended(done["job_id"], wait=body.wait, beside=beside)

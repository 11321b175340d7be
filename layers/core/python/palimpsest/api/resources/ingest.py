"""Ingest: a whole transcript is stored as a session's history and extracted into memories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from pydantic import Field, ValidationInfo, field_validator

from palimpsest.api.call import call
from palimpsest.api.operations import operations_on
from palimpsest.api.resources.chat import ChatMessage, Id
from palimpsest.api.resources.fields import Closed, UserId, WaitSeconds
from palimpsest.api.resources.jobs import awaited_or_ended
from palimpsest.extraction.ingest import MAX_TRANSCRIPT, Ingested

operation = operations_on("memories", function="memories")


class IngestRequest(Closed):
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MAX_TRANSCRIPT)]
    store: Annotated[
        bool, Field(description="False: the history stays yours, and ids and digests of its messages are stored alone")
    ] = True
    session_id: Annotated[
        Id | None, Field(validate_default=True, description="Where it is stored; without it, its beginning decides")
    ] = None
    agent_id: Id | None = None
    wait: WaitSeconds = 0

    @field_validator("session_id")
    @classmethod
    def _names_what_is_not_stored(cls, value: str | None, others: ValidationInfo) -> str | None:
        if value is None and others.data.get("store") is False:
            raise ValueError("names the history if that is not stored")
        return value


@operation("POST /v1/users/{user_id}/ingest", answers={200: "JobDone | NothingExtracted", 202: "JobPending"})
def ingest_transcript(user_id: UserId, body: IngestRequest) -> Response[str]:
    """Ingest a transcript.

    Store 1 to 1000 messages as the history of a session, word for word; a job extracts memories from them. A growing
    transcript can be sent again and again: only messages that are not stored yet are appended. If the stored history
    differs from the transcript, the answer is 409 `transcript_diverged`.

    With `store: false` memories are extracted, with their quotes and your ids of the messages, and no message is
    stored: a text waits outside the tables until it is extracted. The session holds a digest of each message, so that
    the same or a part of the history can be sent again; only messages that it has not met are extracted, in
    their order. The digests go with the session, and with the user.
    """
    scope, memory = call().user(user_id), call().memory
    ingest: Callable[..., Ingested] = memory.ingest if body.store else memory.ingest_outside
    done = call().made(lambda _: asdict(ingest(scope, body.messages, session_id=body.session_id, agent=body.agent_id)))
    beside = {"session_id": done["session"], "created": done["created"], "appended": done["appended"]}
    return awaited_or_ended(done["job_id"], wait=body.wait, beside=beside)

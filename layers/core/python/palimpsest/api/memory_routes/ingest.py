"""Ingest: a whole transcript is stored as it is, and what is worth remembering of it is extracted."""

from __future__ import annotations

from aws_lambda_powertools.event_handler import Response

from palimpsest.api.call import call
from palimpsest.api.outgoing import answered, told_of
from palimpsest.api.recall_requests import IngestRequest
from palimpsest.api.routing import UserId, new_router

router = new_router()


@router.post(
    "/v1/users/<user_id>/ingest",
    summary="Take in a transcript",
    description=(
        "Store 1 to 1000 messages as a session's history, word for word, and have them extracted by a job. What is "
        "stored may be a beginning of the transcript (the rest is appended) or the other way round (nothing is): the "
        "same transcript can be sent again and again, as it grows. Any other history is 409 `transcript_diverged`."
    ),
    operation_id="ingest_transcript",
    tags=["memories"],
)
def ingest_transcript(user_id: UserId, body: IngestRequest) -> Response[str]:
    done = call().memory.ingest(call().user(user_id), body.messages, session_id=body.session_id, agent=body.agent_id)
    beside = {"session_id": done.session, "created": done.created, "appended": done.appended}
    if done.job_id is None:
        return answered({"job_id": None, "state": "done", **beside})
    return told_of(done.job_id, wait=body.wait, beside=beside)

"""Sessions: begin, configure, read, end and delete them."""

from __future__ import annotations

import uuid
from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query

from palimpsest.api import answers
from palimpsest.api.call import call
from palimpsest.api.outgoing import answered, awaited
from palimpsest.api.problems import naming
from palimpsest.api.requests import NewSession, SessionChange, SessionSetup
from palimpsest.api.routing import SessionId, Wait, new_router
from palimpsest.conversations.manage import Wanted

router = new_router()
TAGS = ["sessions"]
KeepMemories = Annotated[bool, Query(description="Leave every memory that came of it")]


@router.post(
    "/v1/sessions",
    summary="Begin a session",
    description="Begin a session for a user. The same request again gives the same session while it has no messages.",
    operation_id="create_session",
    status_code=HTTPStatus.CREATED,
    tags=TAGS,
)
def create_session(body: NewSession) -> Response[str]:
    session_id = body.session_id or f"ses_{uuid.uuid4().hex}"
    with naming("memory"):
        session, is_new = call().use.manage.create(
            call().session(session_id), user=body.user_id, agent=body.agent_id, wanted=_wanted(body)
        )
    return answered(answers.session(session), status=HTTPStatus.CREATED if is_new else HTTPStatus.OK)


@router.get(
    "/v1/sessions/<session_id>",
    summary="Read a session",
    description="Its configuration, its window, its totals, and whether an overflow is pending or has failed.",
    operation_id="read_session",
    tags=TAGS,
)
def read_session(session_id: SessionId) -> Response[str]:
    return answered(answers.session(call().use.manage.read(call().session(session_id))))


@router.put(
    "/v1/sessions/<session_id>",
    summary="Configure a session anew",
    description=(
        "Replace system message, memory configuration and metadata: what is not said goes back to its default. With "
        "a `user_id` the session is begun if there is none."
    ),
    operation_id="replace_session",
    tags=TAGS,
)
def replace_session(session_id: SessionId, body: SessionSetup) -> Response[str]:
    with naming("memory"):
        session, is_new = call().use.manage.replace(
            call().session(session_id), user=body.user_id, agent=body.agent_id, wanted=_wanted(body)
        )
    return answered(answers.session(session), status=HTTPStatus.CREATED if is_new else HTTPStatus.OK)


@router.patch(
    "/v1/sessions/<session_id>",
    summary="Change a session",
    description="Change what is said, keep the rest: memory merges field by field, metadata key by key, null removes.",
    operation_id="change_session",
    tags=TAGS,
)
def change_session(session_id: SessionId, body: SessionChange) -> Response[str]:
    clear_system = "system" in body.model_fields_set and body.system is None
    with naming("memory"):
        session = call().use.manage.patch(
            call().session(session_id),
            user=body.user_id,
            agent=body.agent_id,
            wanted=_wanted(body),
            clear_system=clear_system,
        )
    return answered(answers.session(session))


@router.delete(
    "/v1/sessions/<session_id>",
    summary="Delete a session",
    description=(
        "The session is gone from this answer on; a job removes what it held, and the memories that have no other "
        "source."
    ),
    operation_id="delete_session",
    tags=TAGS,
)
def delete_session(
    session_id: SessionId,
    keep_memories: KeepMemories = False,  # noqa: FBT002 - Powertools passes parameters by name
    wait: Wait = 0,
) -> Response[str]:
    return awaited(call().use.manage.delete(call().session(session_id), keep_memories=keep_memories), wait=wait)


@router.post(
    "/v1/sessions/<session_id>/end",
    summary="End a session",
    description="Mark the session as ended. An append opens it again.",
    operation_id="end_session",
    tags=TAGS,
)
def end_session(session_id: SessionId) -> Response[str]:
    return answered(answers.session(call().use.manage.end(call().session(session_id))))


def _wanted(body: SessionSetup) -> Wanted:
    return Wanted(system=body.system, memory=body.memory, metadata=body.metadata)

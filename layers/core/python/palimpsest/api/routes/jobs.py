"""Jobs: how far the work is that outlasts a call, and the work that failed tried again."""

from __future__ import annotations

from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query

from palimpsest.api import answers, cursors
from palimpsest.api.call import call
from palimpsest.api.chat import LIKE_AN_ID
from palimpsest.api.outgoing import accepted, answered, fitting, shown_job
from palimpsest.api.routing import DEFAULT_LIMIT, Cursor, Limit, Order, Wait, new_router
from palimpsest.jobs.job import JobState
from palimpsest.scope import checked_id

router = new_router()
TAGS = ["jobs"]
JobId = Annotated[str, Path(description="Id of the job", json_schema_extra=LIKE_AN_ID)]


@router.get(
    "/v1/jobs",
    summary="List jobs",
    description=(
        "Jobs of a user, or of one session, by creation: for 30 days. A page may be short, or empty, although there "
        "are more: `next_cursor` alone says where the end is."
    ),
    operation_id="list_jobs",
    tags=TAGS,
)
def list_jobs(  # noqa: PLR0917 - Powertools passes parameters by name
    user_id: Annotated[
        str | None, Query(description="Of this user; this or a session must be named", json_schema_extra=LIKE_AN_ID)
    ] = None,
    session_id: Annotated[str | None, Query(description="Of this session", json_schema_extra=LIKE_AN_ID)] = None,
    state: Annotated[JobState | None, Query(description="Only those in this state")] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    order: Order = "desc",
) -> Response[str]:
    user, session = user_id, session_id
    for field, value in (("user_id", user), ("session_id", session)):
        if value is not None:
            checked_id(value, field=field)
    tenant = call().caller.tenant
    listed = (tenant.tenant, "jobs", user, session, state, order)
    after = cursors.after(cursor, *listed)

    def page(most: int) -> dict[str, Any]:
        found, following = call().use.list_jobs(
            tenant, user=user, session=session, state=state, limit=most, after=after, newest_first=order == "desc"
        )
        next_cursor = None if following is None else cursors.cursor(*listed, after=following)
        return {"jobs": list(map(answers.listed_job, found)), "next_cursor": next_cursor}

    return fitting(page, limit=limit)


@router.get(
    "/v1/jobs/<job_id>",
    summary="Read a job",
    description="The job as it is when it has ended, or when `wait` seconds are over. It can be read for 30 days.",
    operation_id="read_job",
    tags=TAGS,
)
def read_job(job_id: JobId, wait: Wait = 0) -> Response[str]:
    return answered(shown_job(call().use.read_job(call().caller.tenant, job_id, wait=call().patience(wait))))


@router.post(
    "/v1/jobs/<job_id>/retry",
    summary="Try a failed job again",
    description="What failed begins again as a new job, whose id is answered. By itself that happens after a while.",
    operation_id="retry_job",
    tags=TAGS,
)
def retry_job(job_id: JobId) -> Response[str]:
    return accepted(call().use.retry_job(call().caller.tenant, job_id), "pending")

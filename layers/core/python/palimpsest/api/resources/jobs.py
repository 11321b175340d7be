"""The operations on jobs, which do work that takes longer than a call. Jobs can be read, waited for
and retried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any, Literal, NotRequired, cast

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from pydantic import Field
from typing_extensions import TypedDict

from palimpsest.api.answers import Window, answered
from palimpsest.api.call import Call, Service
from palimpsest.api.fields import LIKE_AN_ID, Json, Moment, Wait, check_ids, rfc3339
from palimpsest.api.operations import operations_on
from palimpsest.api.pages import DEFAULT_LIMIT, Cursor, Limit, NextCursor, Order, listing
from palimpsest.api.resources.receipts import Receipt, RedactionReceipt, receipt_of
from palimpsest.errors import Unavailable
from palimpsest.extraction.report import ExtractionLedger, ExtractionReport, spent_of
from palimpsest.jobs.job import Job, JobState
from palimpsest.jobs.kinds import TenantJobKind
from palimpsest.model_calls.kept import KeptCall

operation = operations_on("jobs", function="sessions")

JobId = Annotated[str, Path(description="Id of the job", json_schema_extra=LIKE_AN_ID)]

SequenceRange = TypedDict("SequenceRange", {"from": int, "to": int})


class Ledger(TypedDict):
    """The counts of an extraction's messages. `received` is the sum of `extracted`, `skipped` and
    `parked`.
    """

    received: int
    extracted: int
    skipped: int
    parked: int
    reasons: Annotated[Mapping[str, int], Field(description="Why messages were skipped")]
    dropped: Annotated[
        Mapping[str, int], Field(description="Findings that were rejected, by reason")
    ]
    withheld: Annotated[
        Mapping[str, int],
        Field(
            description="Parts of messages that were not read because they are no testimony, by "
            "reason, such as `quotation`, `mail`, `play` or `secret`"
        ),
    ]


class JobUsage(TypedDict):
    model_calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None


class ListedJob(TypedDict):
    job_id: str
    kind: TenantJobKind
    state: JobState
    user_id: Annotated[str | None, Field(description="The user on whose data it works")]
    session_id: str | None
    range: SequenceRange | None
    attempt: int
    error: Annotated[str | None, Field(description="Why the job failed, as a code")]
    created_at: Moment


class WorkedJob(ListedJob):
    result: Mapping[str, int]
    ledger: Ledger
    records: Annotated[
        Sequence[str], Field(description="Ids of the memories that it created or confirmed")
    ]
    usage: JobUsage


class ShownJob(WorkedJob):
    receipt: NotRequired[
        Annotated[
            Receipt | RedactionReceipt,
            Field(description="The receipt of an erasure or a redaction"),
        ]
    ]
    files: NotRequired[
        Annotated[
            list[str],
            Field(description="The files of an export, in order: addresses that work for an hour"),
        ]
    ]


class JobPage(TypedDict):
    jobs: list[ListedJob]
    next_cursor: NextCursor


class ShownModelCall(TypedDict):
    at: Annotated[Moment, Field(description="When it ended")]
    model: str | None
    instructions: Annotated[str, Field(description="The system message")]
    text: Annotated[str, Field(description="The user message, which holds the data")]
    answer: Annotated[str | None, Field(description="null if the call failed")]
    error: Annotated[str | None, Field(description="A code, if the call failed")]
    tokens_in: int
    tokens_out: int


class ModelCallPage(TypedDict):
    kept: Annotated[bool, Field(description="Whether the tenant's model calls are kept")]
    calls: list[ShownModelCall]
    next_cursor: NextCursor


class Beside(TypedDict):
    """Additional fields of a job that was started by a withdrawal, an extraction or an ingest."""

    window: NotRequired[Window]
    armed: NotRequired[Annotated[bool, Field(description="Whether this call began the extraction")]]
    created: NotRequired[Annotated[bool, Field(description="Whether an ingest began the session")]]
    appended: NotRequired[Annotated[int, Field(description="How many messages an ingest stored")]]
    last_seq: NotRequired[
        Annotated[int, Field(description="The number of the last message of an ingest")]
    ]


class JobDone(ShownJob, Beside):
    """A job that ended within `wait` seconds."""


class UserErased(WorkedJob, Beside):
    """An erasure that ended within `wait` seconds."""

    receipt: Receipt


class JobPending(Beside):
    """A job that has not ended. The header Location has its address."""

    job_id: str
    state: Literal["pending", "running"]
    session_id: NotRequired[str]


class NothingExtracted(Beside):
    """There is nothing to extract, and no extraction was ever started."""

    session_id: str
    job_id: None
    state: Literal["done"]


@operation("GET /v1/jobs", answers={200: "JobPage"})
def list_jobs(
    service: Service,
    call: Call,
    *,
    user_id: Annotated[
        str | None,
        Query(
            description="Only jobs of this user. Without a user and a session, only failed jobs "
            "can be listed",
            json_schema_extra=LIKE_AN_ID,
        ),
    ] = None,
    session_id: Annotated[
        str | None, Query(description="Only jobs of this session", json_schema_extra=LIKE_AN_ID)
    ] = None,
    state: Annotated[JobState | None, Query(description="Only jobs in this state")] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    order: Order = "desc",
) -> Json:
    """List jobs.

    List the jobs of a user or of a session, ordered by creation. With `state=failed`, a user and a
    session may be left out, to list all failed jobs of the tenant. Jobs are kept for 30 days. A
    page may be short or empty although more follow; only a `next_cursor` of null is the end.
    """
    check_ids(user_id=user_id, session_id=session_id)
    tenant = call.caller.tenant
    newest_first = order == "desc"
    find = partial(
        service.list_jobs,
        tenant,
        user=user_id,
        session=session_id,
        state=state,
        newest_first=newest_first,
    )
    listed = (tenant.tenant, "jobs", user_id, session_id, state, order)
    return listing("jobs", find, _listed, listed=listed, limit=limit, cursor=cursor)


@operation("GET /v1/jobs/{job_id}", answers={200: "Job"})
def read_job(service: Service, call: Call, *, job_id: JobId, wait: Wait = 0) -> ShownJob:
    """Read a job.

    Return the job once it has ended or `wait` seconds have passed. A job can be read for 30 days.
    """
    return shown_job(
        service, service.read_job(call.caller.tenant, job_id, wait=call.patience(wait))
    )


@operation("GET /v1/jobs/{job_id}/calls", answers={200: "ModelCallPage"})
def list_calls(
    service: Service,
    call: Call,
    *,
    job_id: JobId,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Json:
    """List a job's model calls.

    Return what a model was sent and what it answered, oldest first, also for calls that failed.
    Calls are kept for 7 days if the tenant's settings have `keep_model_calls`; otherwise the list
    is empty. Secrets are masked, and long texts lack their middle. A call that removes something of
    a user also removes that user's kept model calls. For the next 5 minutes no calls are kept.
    """
    tenant = call.caller.tenant
    job = service.read_job(tenant, job_id)
    listed = (tenant.tenant, "calls", job.root)
    find = partial(service.list_calls, job)
    page = listing("calls", find, _shown_call, listed=listed, limit=limit, cursor=cursor)
    return {"kept": service.list_calls.are_kept(tenant), **page}


@operation("POST /v1/jobs/{job_id}/retry", answers={202: "JobPending"})
def retry_job(service: Service, call: Call, *, job_id: JobId) -> Response[str]:
    """Try a failed job again.

    A new job does the work of the failed one; the answer names the new job. Without this call,
    failed work is retried automatically later.
    """
    retry, tenant = service.retry_job, call.caller.tenant
    return accepted(call, call.made(lambda _: retry(tenant, job_id)), "pending")


def awaited(
    service: Service,
    call: Call,
    job_id: str,
    *,
    wait: float,
    beside: Mapping[str, Any] | None = None,
) -> Response[str]:
    """Return 200 with the job if it ends within `wait` seconds. Otherwise return 202 with the
    address of the job.
    """
    job = ended(service, call, job_id, wait)
    if job is not None:
        return answered({**shown_job(service, job), **(beside or {})}, shows=call.shows)
    return accepted(call, job_id, "pending", beside=beside)


def shown_job(service: Service, job: Job) -> ShownJob:
    """Return a job as answers have it. An extraction also has its ledger and its memories."""
    return _job(service, job, service.report(job) if job.kind == "extract" else None)


def awaited_or_ended(
    service: Service, call: Call, job_id: str | None, *, wait: float, beside: Mapping[str, Any]
) -> Response[str]:
    """Return the same answer as `awaited`, for a job that may have ended before this call. If
    `job_id` is None, there was nothing to do, and the answer is 200.
    """
    if job_id is None:
        return answered({"job_id": None, "state": "done", **beside}, shows=call.shows)
    job = service.read_job(call.caller.tenant, job_id, wait=call.patience(wait))
    if job.has_ended:
        return answered({**shown_job(service, job), **beside}, shows=call.shows)
    return accepted(call, job_id, job.state, beside=beside)


def accepted(
    call: Call, job_id: str, state: str, *, beside: Mapping[str, Any] | None = None
) -> Response[str]:
    headers = {"Location": f"/v1/jobs/{job_id}"}
    return answered(
        {"job_id": job_id, "state": state, **(beside or {})},
        status=HTTPStatus.ACCEPTED,
        headers=headers,
        shows=call.shows,
    )


def ended(service: Service, call: Call, job_id: str, wait: float) -> Job | None:
    """Return the job if it ended within `wait` seconds, else None. If the job can't be read now,
    return None too, because the requested job exists anyway.
    """
    if not wait:
        return None
    try:
        job = service.read_job(call.caller.tenant, job_id, wait=call.patience(wait))
    except Unavailable:
        return None
    return job if job.has_ended else None


def _shown_call(call: KeptCall) -> ShownModelCall:
    return {
        "at": rfc3339(call.at),
        "model": call.model,
        "instructions": call.instructions,
        "text": call.text,
        "answer": call.answer,
        "error": call.error,
        "tokens_in": call.tokens_in,
        "tokens_out": call.tokens_out,
    }


def _listed(job: Job) -> ListedJob:
    """Return a job as lists have it. A job on all of a user's memory has no session and no
    range.
    """
    return {
        "job_id": job.id,
        # jobs of the operator belong to a tenant that has no keys
        "kind": cast("TenantJobKind", job.kind),
        "state": job.state,
        "user_id": job.user,
        "session_id": job.session or None,
        "range": {"from": job.first, "to": job.last} if job.session else None,
        "attempt": job.attempt,
        "error": job.error,
        "created_at": rfc3339(job.created_at * 1000),
    }


def _job(service: Service, job: Job, report: ExtractionReport | None) -> ShownJob:
    """Return a job with its ledger. The ledger counts what an extraction did with messages. For a
    job without a report, all counts are 0.
    """
    if report is None:
        spent = spent_of([job.usage, job.spent])
        report = ExtractionReport(job.state, ExtractionLedger(0, 0, 0, 0, {}, {}), (), spent)
    answer: ShownJob = {
        **_listed(job),  # type: ignore[typeddict-item] # mypy wants optional ones too
        "result": job.result,
        "state": report.state,
        "ledger": cast(Ledger, asdict(report.ledger)),
        "records": report.records,
        "usage": cast(JobUsage, asdict(report.spent)),
    }
    if job.kind == "export":
        answer["files"] = service.export.files(job)
    if job.kind in ("erase", "redact"):
        answer["receipt"] = receipt_of(job, log_days=service.log_days)
    return answer

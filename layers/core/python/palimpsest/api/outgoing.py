"""Answers on the wire: JSON written once, pages that stay under the limit, and jobs that are waited for a little."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any

from aws_lambda_powertools.event_handler import Response, content_types

from palimpsest.api import answers
from palimpsest.api.call import call
from palimpsest.errors import TooLarge, Unavailable
from palimpsest.jobs.job import Job

MAX_BYTES = 5_000_000
_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, default=dict)
dumps = _ENCODER.encode


def answered(value: Mapping[str, Any], *, status: int = 200, headers: dict[str, str] | None = None) -> Response[str]:
    """Raises `TooLarge` (`answer_too_large`) for what no answer can carry."""
    body = dumps(value)
    if _size(body) > MAX_BYTES:
        raise TooLarge("The answer is larger than an answer may be: ask for less.", code="answer_too_large")
    return _json(body, status=status, headers=headers)


def _json(body: str, *, status: int = 200, headers: Mapping[str, str | list[str]] | None = None) -> Response[str]:
    return Response(status_code=status, content_type=content_types.APPLICATION_JSON, body=body, headers=headers)


def _size(text: str) -> int:
    """Bytes within the function's own answer, which is JSON around this text: quotes are escaped again."""
    return len(text.encode()) + text.count('"') + text.count("\\")


def paged(
    name: str, rows: Iterable[tuple[Mapping[str, Any], int]], *, after: int | None, cursor: Callable[[int], str]
) -> Response[str]:
    """A page of `rows`, each with its place, as far as an answer can carry them (the first always).

    `after` is where the next page goes on if all of them fit, None = nowhere.
    """
    texts: list[str] = []
    size, last = 0, 0
    for row, place in rows:
        text = dumps(row)
        size += _size(text) + 1
        if texts and size > MAX_BYTES - 1_000:
            after = last
            break
        texts.append(text)
        last = place
    next_cursor = dumps(None if after is None else cursor(after))
    return _json(f'{{"{name}":[{",".join(texts)}],"next_cursor":{next_cursor}}}')


def fitting(page: Callable[[int], Mapping[str, Any]], *, limit: int) -> Response[str]:
    """The page of at most `limit` rows, or of fewer where their rows are too large for one answer."""
    while True:
        try:
            return answered(page(limit))
        except TooLarge:
            if limit == 1:
                raise
            limit //= 2


def awaited(job_id: str, *, wait: float, beside: Mapping[str, Any] | None = None) -> Response[str]:
    """200 and the job if it ends within `wait` seconds, else 202 and where to ask for it."""
    job = _ended(job_id, wait)
    if job is not None:
        return answered({"job_id": job_id, **shown_job(job), **(beside or {})})
    return accepted(job_id, "pending", beside=beside)


def shown_job(job: Job) -> dict[str, Any]:
    """The job, an extraction with what it came to."""
    report = call().use.report
    return answers.job(job, report(job) if report is not None and job.kind == "extract" else None)


def told_of(job_id: str, *, wait: float, beside: Mapping[str, Any]) -> Response[str]:
    """As `awaited`, for a job that may have ended long ago."""
    now = call()
    job = now.use.read_job(now.caller.tenant, job_id, wait=now.patience(wait))
    if job.has_ended:
        return answered({"job_id": job_id, **shown_job(job), **beside})
    return accepted(job_id, job.state, beside=beside)


def accepted(job_id: str, state: str, *, beside: Mapping[str, Any] | None = None) -> Response[str]:
    headers = {"Location": f"/v1/jobs/{job_id}"}
    return answered({"job_id": job_id, "state": state, **(beside or {})}, status=HTTPStatus.ACCEPTED, headers=headers)


def _ended(job_id: str, wait: float) -> Job | None:
    """What was asked for is done: a store that can't be read now only means that the job is to be looked at later."""
    if not wait:
        return None
    now = call()
    try:
        job = now.use.read_job(now.caller.tenant, job_id, wait=now.patience(wait))
    except Unavailable:
        return None
    return job if job.has_ended else None

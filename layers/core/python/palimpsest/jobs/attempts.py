"""Makes the jobs that follow a job: its next step, and another attempt after a failure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from palimpsest.jobs.job import UNHEARD_SECONDS, Job, job_id
from palimpsest.jobs.payloads import Payload

MAX_TRIES = 4
"""The number of failed tries after which a job has failed."""

FIRST_DELAY, LONGEST_DELAY = 60, 300  # seconds until a failed job is started again
FIRST_ATTEMPTS = 20
"""The number of attempts that follow each other soon. With all their tries, they take about an
hour.
"""


def next_step(
    job: Job, *, first: int | None = None, payload: Payload | None = None, now: int
) -> Job:
    """Return the job for the next step. It begins with message `first`, or continues a list at the
    place in `payload`.

    Its id depends on the place where it begins, so that a step that is done twice is followed by a
    single step.
    """
    first = job.first if first is None else first
    step = job.step if payload is None else job.step + 1
    new = _anew(job, job_id("step", job.root, job.attempt, first, step), now=now)
    return replace(new, parent=job.root, first=first, step=step, payload=payload or job.payload)


def another_attempt(
    job: Job, *, parent: str | None = None, first: int | None = None, now: int
) -> Job:
    """Return a new job that does the same work from message `first` on, because the job failed or
    its queue message was lost. With `parent`, the new job is a step of that job. Without it, it is
    a job by itself.
    """
    attempt = job.attempt + 1
    again = (
        _attempt_id(job.id, attempt)
        if job.parent is None
        else job_id("again", job.root, attempt, job.step)
    )
    new = _anew(job, again, now=now)
    return replace(new, parent=parent, first=job.first if first is None else first, attempt=attempt)


def newest_attempt(job: Job, read: Callable[[str], Job | None]) -> Job:
    """Return the newest attempt at the work of `job`, which is the first attempt. `read` returns a
    stored job by its id. Attempts are numbered without gaps, so only a few of many attempts are
    read.
    """
    newest, missing = job, 1
    while (later := read(_attempt_id(job.id, missing))) is not None:
        newest, missing = later, 2 * missing
    while missing - newest.attempt > 1:
        middle = (newest.attempt + missing) // 2
        later = read(_attempt_id(job.id, middle))
        newest, missing = (newest, middle) if later is None else (later, missing)
    return newest


def retry_delay(attempts: int) -> int:
    """Return how many seconds to wait before failed work is done again: a minute in the first hour,
    then five minutes. Once a short failure of a model or store has ended, work is done within three
    minutes, and after a long failure within ten minutes.
    """
    return FIRST_DELAY if attempts < FIRST_ATTEMPTS else LONGEST_DELAY


def _attempt_id(of: str, attempt: int) -> str:
    return f"{of.partition('.')[0]}.{attempt}"


def _anew(job: Job, new_id: str, *, now: int) -> Job:
    new = replace(job, id=new_id, state="pending", created_at=now, due_at=now + UNHEARD_SECONDS)
    return replace(new, error=None, result={}, usage={}, spent={}, lost=0, tries=0)

"""Jobs, which are work that outlasts a call. This module reads a job, waits for its end, and starts
it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any, cast

from palimpsest_client.calls import Pause, Steps, call
from palimpsest_client.errors import JobFailed, JobNotEnded, NotTheService
from palimpsest_client.types import Job as JobAnswer
from palimpsest_client.types import Ledger

LONGEST_WAIT = 20.0  # seconds that the service waits within one call
BETWEEN = 0.2  # seconds from one look to the next, where the service did not wait
ENDED = ("done", "failed")


class JobState:
    """A job as it was when it was last read. `shown` is the service's whole answer."""

    def __init__(self, shown: Mapping[str, Any]) -> None:
        # a session in which there was nothing to do
        is_nothing = shown.get("job_id") is None and "session_id" in shown
        if "state" not in shown and not is_nothing:
            raise NotTheService("/v1/jobs", "its answer names no job")
        self.shown = dict(shown)

    def __repr__(self) -> str:
        return f"<Job {self.id} {self.state}>"

    @property
    def id(self) -> str | None:
        """Return the job's id, or None if there was nothing to do."""
        return self.shown.get("job_id")

    @property
    def state(self) -> str:
        """Return `pending`, `running`, `done` or `failed`. If there was nothing to do, the state is
        `done`.
        """
        return "done" if self.id is None else str(self.shown["state"])

    @property
    def is_done(self) -> bool:
        return self.state == "done"

    @property
    def error(self) -> str | None:
        return self.shown.get("error")

    @property
    def ledger(self) -> Ledger | None:
        """Return the counts of the messages: received = extracted + skipped + parked. Return None
        before the job was read.
        """
        return cast("Ledger | None", self.shown.get("ledger"))

    @property
    def receipt(self) -> Mapping[str, Any] | None:
        """Return the receipt of an erasure, which says for each store what was removed so far.
        Return None for other jobs.
        """
        return self.shown.get("receipt")

    @property
    def files(self) -> list[str]:
        """Return the addresses of an export's files. Each works for an hour."""
        return [str(file) for file in self.shown.get("files") or ()]

    @property
    def records(self) -> list[str]:
        """Return the ids of the memories that an extraction made."""
        return list(self.shown.get("records") or ())


def look(job: JobState, *, wait: float = 0) -> Steps[None]:
    """Read the present state of the job. With `wait`, wait up to 20 s for its end."""
    if job.id is not None:
        answer: JobAnswer = yield from call("GET", "jobs", job.id, query={"wait": wait or None})
        job.shown = {**job.shown, **answer}


def wait(job: JobState, *, timeout: float = 300) -> Steps[None]:
    """Wait until the job is done. Raises `JobFailed`, or `JobNotEnded` after `timeout` seconds."""
    deadline = monotonic() + timeout
    if job.id is not None and "ledger" not in job.shown:
        yield from look(job, wait=min(LONGEST_WAIT, timeout))
    while job.state not in ENDED:
        left = deadline - monotonic()
        if left <= 0:
            raise JobNotEnded(f"The job {job.id} is {job.state} after {timeout:g} s.")
        yield Pause(min(BETWEEN, left))
        yield from look(job, wait=max(0, min(LONGEST_WAIT, left)))
    if job.state == "failed":
        raise JobFailed(job.shown)


def retry(job: JobState) -> Steps[dict[str, Any]]:
    """Start a failed job again. The answer names the new job. Raises `JobNotFailed` and
    `NothingToRetry`.
    """
    answer: dict[str, Any] = yield from call("POST", "jobs", str(job.id), "retry")
    return answer

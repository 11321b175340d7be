"""Work that outlasts a call: what a job shows, waiting for its end, and trying it again."""

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
    """A job as it was when it was last looked at. `shown` is all that the service said of it."""

    def __init__(self, shown: Mapping[str, Any]) -> None:
        is_nothing = (
            shown.get("job_id") is None and "session_id" in shown
        )  # a session in which there was nothing to do
        if "state" not in shown and not is_nothing:
            raise NotTheService("/v1/jobs", "its answer names no job")
        self.shown = dict(shown)

    def __repr__(self) -> str:
        return f"<Job {self.id} {self.state}>"

    @property
    def id(self) -> str | None:
        """None if there was nothing to do."""
        return self.shown.get("job_id")

    @property
    def state(self) -> str:
        """pending, running, done or failed; done as well if there was nothing to do."""
        return "done" if self.id is None else str(self.shown["state"])

    @property
    def is_done(self) -> bool:
        return self.state == "done"

    @property
    def error(self) -> str | None:
        return self.shown.get("error")

    @property
    def ledger(self) -> Ledger | None:
        """The counts of the messages: received = extracted + skipped + parked. None before the job
        was looked at.
        """
        return cast("Ledger | None", self.shown.get("ledger"))

    @property
    def receipt(self) -> Mapping[str, Any] | None:
        """Of an erasure: what is reached in each store."""
        return self.shown.get("receipt")

    @property
    def files(self) -> list[str]:
        """Addresses of an export's files; each works for an hour."""
        return [str(file) for file in self.shown.get("files") or ()]

    @property
    def records(self) -> list[str]:
        """The ids of the memories that an extraction made."""
        return list(self.shown.get("records") or ())


def look(job: JobState, *, wait: float = 0) -> Steps[None]:
    """Ask what became of the job; `wait` up to 20 s for its end."""
    if job.id is not None:
        found: JobAnswer = yield from call("GET", "jobs", job.id, query={"wait": wait or None})
        job.shown = {**job.shown, **found}


def wait(job: JobState, *, timeout: float = 300) -> Steps[None]:
    """Return once the job is done. Raises `JobFailed`, or `JobNotEnded` after `timeout` seconds."""
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
    """Have a failed job done again: the answer names the new one. Raises `JobNotFailed`,
    `NothingToRetry`.
    """
    answer: dict[str, Any] = yield from call("POST", "jobs", str(job.id), "retry")
    return answer

"""Extraction as a chain of jobs: decides which range of a session is next, which step follows, and
how a job ends.

A session is extracted in order. A job covers a range of messages. Its step extracts the first chunk
of the range, and stores a job for the rest, whose parent is the first job. Every job therefore
names the message with which its only step begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from palimpsest.conversations.session import Head
from palimpsest.jobs.attempts import retry_delay
from palimpsest.jobs.job import Job
from palimpsest.scope import Scope, UserScope

Range = tuple[int, int]

GONE, PARKED = "session_gone", "parked"
MOST_ATTEMPTS = 290
"""How often the sweep tries parked messages again. That takes a day, because a model may be down
for hours.
"""
MOST_LOST = 7
"""How often a job that no worker finished in time is begun again before its messages are parked."""


Standing = Literal["erased", "gone", "waiting", "overtaken", "now"]


@dataclass(frozen=True, slots=True)
class Turn:
    """Whether it is a job's turn (`now`). If so, its step reads the messages `first` through
    `last`. `is_parked` is true if they were parked before, and must be extracted as one chunk
    again.
    """

    standing: Standing
    first: int = 0
    last: int = 0
    is_parked: bool = False


def turn_of(
    job: Job, *, head: Head | None, epoch: int, through: int, parked: Sequence[Range], now: int
) -> Turn:
    """Return whether it is the job's turn. `epoch` is the user's epoch; `through` and `parked` are
    the session's progress.
    """
    if epoch != job.epoch:
        return Turn("erased")
    if head is None or head.is_gone(now) or job.last <= head.base:
        return Turn("gone")
    done = max(through, head.base)
    if job.first == done + 1:
        return Turn("now", job.first, job.last)
    if job.first > done:
        return Turn("waiting")
    for first, last in parked:
        # A late delivery of the first attempt must not extract parked messages.
        if job.attempt and first == job.first and last <= job.last:
            return Turn("now", first, last, is_parked=True)
    return Turn("overtaken")


def next_start(job: Job, *, done: int, through: int, parked: Sequence[Range]) -> int | None:
    """Return the first message of the next step, after a step that went through message `done`;
    None if the range is covered.
    """
    if job.attempt:
        waiting = [first for first, last in parked if first > done and last <= job.last]
        if waiting:
            return min(waiting)
    return through + 1 if through < job.last else None


def parked_within(parked: Sequence[Range], first: int, last: int) -> tuple[Range, ...]:
    return tuple(sorted(place for place in parked if first <= place[0] and place[1] <= last))


def ended(root: Job, *, parked: Sequence[Range], error: str | None, now: int) -> Job:
    """Return the first job of a chain, after its range is covered. It has failed if a part is
    parked, which is tried again later.
    """
    if not parked_within(parked, root.first, root.last):
        return replace(root, state="done", due_at=None, error=None)
    due_at = now + retry_delay(root.attempt) if root.attempt + 1 < MOST_ATTEMPTS else None
    return replace(root, state="failed", due_at=due_at, error=error or PARKED)


def cancelled(job: Job, why: str) -> Job:
    """Return the job, ended before its work was done. `why` is its error code."""
    return replace(job, state="done", due_at=None, error=why)


def user_of(job: Job) -> UserScope:
    """Return the user whose messages the job extracts."""
    return Scope(job.tenant).user(job.user or "")

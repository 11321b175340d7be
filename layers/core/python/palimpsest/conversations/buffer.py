"""The messages of a session that wait for their extraction, and the job that takes them up."""

from __future__ import annotations

from dataclasses import replace

from palimpsest.conversations.session import Head
from palimpsest.jobs.job import Job, armed


def extraction(head: Head, *, tenant: str, session: str, first: int, last: int, now: int) -> Job:
    """The job that extracts messages `first` through `last`."""
    job = armed(tenant=tenant, user=head.user, kind="extract", session=session, first=first, last=last, now=now)
    return replace(job, epoch=head.epoch)


def armed_extraction(head: Head, *, tenant: str, session: str, now: int) -> tuple[Head, Job] | None:
    """The head with everything that nobody extracts yet given to a job; None if there is nothing."""
    first = max(head.armed_seq, head.base) + 1
    if first > head.seq:
        return None
    job = extraction(head, tenant=tenant, session=session, first=first, last=head.seq, now=now)
    return replace(head, armed_seq=head.seq, extract_turn=head.turn, extract_job=job.id), job


def buffered_turns(head: Head) -> int:
    """Whole turns since the last arming: one that waits for its answer does not count."""
    is_open = head.last_user_seq == head.seq or bool(head.open_calls)
    return max(0, head.turn - head.extract_turn - is_open)

"""The messages of a session that wait for their extraction, and the job that takes them up."""

from __future__ import annotations

from dataclasses import replace

from palimpsest.conversations.session import Head
from palimpsest.jobs.job import Job, armed

OUTAGES = frozenset({"model_unavailable", "unavailable", "contention"})
"""Errors of an extraction that the next messages would meet as well; any other may be the fault of these messages."""


def extraction(head: Head, *, tenant: str, session: str, first: int, last: int, now: int) -> Job:
    """The job that extracts messages `first` through `last`; `now` is epoch seconds."""
    return armed(
        tenant=tenant,
        user=head.user,
        epoch=head.epoch,
        kind="extract",
        session=session,
        first=first,
        last=last,
        now=now,
    )


def armed_extraction(head: Head, *, tenant: str, session: str, now: int) -> tuple[Head, Job] | None:
    """The head with everything that nobody extracts yet given to a job; None if there is nothing."""
    first = max(head.armed_seq, head.base) + 1
    if first > head.seq:
        return None
    job = extraction(head, tenant=tenant, session=session, first=first, last=head.seq, now=now)
    return replace(head, armed_seq=head.seq, extract_turn=head.turn, extract_job=job.id), job


def buffered_turns(head: Head) -> int:
    """Whole turns since the last extraction was armed: a turn that waits for its answer does not count."""
    is_open = head.last_user_seq == head.seq or bool(head.open_calls)
    return max(0, head.turn - head.extract_turn - is_open)


def completes_buffer(before: Head, after: Head) -> bool:
    """Whether what was appended completes as many whole turns as are extracted at once, or a multiple of them."""
    enough = after.extract_turns
    return bool(enough) and buffered_turns(after) // enough > buffered_turns(before) // enough

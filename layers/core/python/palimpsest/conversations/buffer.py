"""Which messages of a session no extraction job covers yet, and the job that covers them next."""

from __future__ import annotations

from dataclasses import replace

from palimpsest.conversations.session import Head
from palimpsest.jobs.job import Job, armed

OUTAGES = frozenset({"model_unavailable", "unavailable", "contention"})
"""Errors that the next extraction would meet as well; any other error may be caused by the messages themselves."""


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
    """The job that extracts all messages that no job covers yet, and the head that records it; None if there are none.

    `now` is epoch seconds.
    """
    first = max(head.armed_seq, head.base) + 1
    if first > head.seq:
        return None
    job = extraction(head, tenant=tenant, session=session, first=first, last=head.seq, now=now)
    return replace(head, armed_seq=head.seq, extract_turn=head.turn, extract_job=job.id), job


def buffered_turns(head: Head) -> int:
    """How many complete turns no extraction job covers yet; a turn that still lacks its answer does not count."""
    is_open = head.last_user_seq == head.seq or bool(head.open_calls)
    return max(0, head.turn - head.extract_turn - is_open)


def completes_buffer(before: Head, after: Head) -> bool:
    """Whether the append from `before` to `after` reached the session's `extract_turns`, or a multiple of it."""
    enough = after.extract_turns
    return bool(enough) and buffered_turns(after) // enough > buffered_turns(before) // enough

"""What an overflow does to a session: room is made at once, a job is armed, or the trigger rises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from palimpsest.domain.extraction_jobs import armed_extraction
from palimpsest.domain.jobs import Job, armed
from palimpsest.domain.lifecycle import evicted
from palimpsest.domain.messages import Message
from palimpsest.domain.overflow import Eviction, plan, raised
from palimpsest.domain.scope import SessionScope
from palimpsest.domain.session import Compaction, Head
from palimpsest.domain.strategy import Flush, Strategy, Summarize


@dataclass(frozen=True, slots=True)
class Overflow:
    """What an overflow came to: `done` at once, or `pending` until the job has run."""

    strategy: str
    state: Literal["done", "pending"]
    job_id: str | None = None


@dataclass(frozen=True, slots=True)
class Armed:
    """The head after the decision, and what goes into the same transaction."""

    head: Head
    overflow: Overflow | None = None
    jobs: tuple[Job, ...] = ()
    compaction: Compaction | None = None


def overflows(head: Head, *, now: int) -> bool:
    """The window passes its trigger, nothing is pending, and no failure asks to wait."""
    over = 0 < head.trigger + head.raised <= head.tokens and head.trigger > 0
    return over and head.job is None and head.not_before <= now


def arm(
    head: Head, config: Strategy, window: Sequence[Message], *, scope: SessionScope, now: int, created_at: str
) -> Armed:
    """Decide what the overflow of this window does. Where nothing can be evicted, the trigger rises."""
    eviction = plan(config, head=head, window=window)
    if eviction is None:
        return Armed(replace(head, raised=raised(head, config)))
    if not isinstance(config, Summarize | Flush):
        return evict(head, eviction, method=config.strategy, created_at=created_at)
    job = armed(
        tenant=scope.tenant,
        user=head.user,
        kind=config.strategy,
        session=scope.session,
        first=eviction.first,
        last=eviction.last,
        attempt=head.attempts,
        version=head.version,
        now=now,
    )
    head = replace(head, job=job.id, compaction="pending")
    overflow = Overflow(config.strategy, "pending", job.id)
    if isinstance(config, Summarize):
        return Armed(head, overflow=overflow, jobs=(job,))
    job = replace(job, epoch=head.epoch, parts=config.parts, told=_weight(eviction))
    head, extraction = _extracting(head, config, scope=scope, now=now)
    return Armed(head, overflow=overflow, jobs=(job, *extraction))


def _weight(eviction: Eviction) -> dict[str, int]:
    return {"messages": eviction.messages, "tokens": eviction.tokens}


def _extracting(head: Head, config: Flush, *, scope: SessionScope, now: int) -> tuple[Head, tuple[Job, ...]]:
    """The head and the job that extracts what nobody extracts yet, where a flush waits for that."""
    if "extractive" not in config.parts:
        return head, ()
    extracting = armed_extraction(head, tenant=scope.tenant, session=scope.session, now=now)
    return (head, ()) if extracting is None else (extracting[0], (extracting[1],))


def evict(head: Head, eviction: Eviction, *, method: str, created_at: str) -> Armed:
    """Move the window start behind what is evicted, and keep a record of it; the summary that stood still stands."""
    after = evicted(head, through=eviction.last, tokens=eviction.tokens, messages=eviction.messages)
    compaction = Compaction(
        first=eviction.first,
        last=eviction.last,
        method=method,
        created_at=created_at,
        tokens_before=head.tokens,
        tokens_after=after.tokens,
        previous=head.summary,
        newest=head.seq,
        summary_tokens=head.summary_tokens,
    )
    return Armed(after, overflow=Overflow(method, "done"), compaction=compaction)

"""What an extraction came to: the ledger of its messages, what is remembered of them, and what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from palimpsest.extraction.commit import user_of
from palimpsest.extraction.jobs import parked_within
from palimpsest.jobs.job import Job, JobState
from palimpsest.memory.ports import ChunkLine, Memories, Progress
from palimpsest.models.catalogue import NANO_USD


@dataclass(frozen=True, slots=True)
class Ledger:
    """What became of the messages that have been dealt with: received = extracted + skipped + parked.

    `reasons` says why messages were skipped, `dropped` how many findings did not hold, by reason.
    """

    received: int
    extracted: int
    skipped: int
    parked: int
    reasons: Mapping[str, int]
    dropped: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Spent:
    """What model calls cost, at the prices of the day; None where a model's price is not known."""

    model_calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """`records` are the memories that the messages gave, or said again."""

    state: JobState
    ledger: Ledger
    records: tuple[str, ...]
    spent: Spent


@dataclass(frozen=True, slots=True)
class ReportExtraction:
    memories: Memories

    def __call__(self, job: Job) -> Report:
        """The report of an extract job, summed up from what is written of its range. Raises `Unavailable`."""
        scope = user_of(job)
        lines = self.memories.lines(scope, job.session, first=job.first, last=job.last)
        progress = self.memories.progress(scope, job.session)
        return Report(
            state=_state(job, progress),
            ledger=_ledger(lines),
            records=tuple(dict.fromkeys(record for line in lines for record in line.records)),
            spent=_spent(lines),
        )


def _state(job: Job, progress: Progress) -> JobState:
    """A job that failed is done once another has extracted what it had parked."""
    is_covered = progress.through >= job.last and not parked_within(progress.parked, job.first, job.last)
    return "done" if job.state == "failed" and is_covered else job.state


def _ledger(lines: Sequence[ChunkLine]) -> Ledger:
    reasons: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    for line in lines:
        reasons.update(line.skipped)
        dropped.update(line.dropped)
    extracted, parked = sum(line.extracted for line in lines), sum(line.parked for line in lines)
    return Ledger(
        received=extracted + parked + reasons.total(),
        extracted=extracted,
        skipped=reasons.total(),
        parked=parked,
        reasons=dict(reasons),
        dropped=dict(dropped),
    )


def _spent(lines: Sequence[ChunkLine]) -> Spent:
    total: Counter[str] = Counter()
    for line in lines:
        total.update(line.usage)
    is_priced = all("cost_nano_usd" in line.usage for line in lines if line.usage.get("model_calls"))
    return Spent(
        model_calls=total["model_calls"],
        tokens_in=total["tokens_in"],
        tokens_out=total["tokens_out"],
        cost_usd=total["cost_nano_usd"] / NANO_USD if is_priced else None,
    )

"""Reports an extraction: the result for its messages, their memories, and the cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from palimpsest.extraction.jobs import parked_within, user_of
from palimpsest.jobs.job import Job, JobState
from palimpsest.memory.ports import WITHHELD, ChunkLine, Memories, Progress
from palimpsest.models.catalogue import NANO_USD
from palimpsest.scope import UserScope


@dataclass(frozen=True, slots=True)
class ExtractionLedger:
    """How many messages were processed, by result: received = extracted + skipped + parked.

    `reasons` counts the skipped messages by reason, `dropped` the findings that failed their check,
    by reason, and `withheld` the parts of messages that were not read, by reason.
    """

    received: int
    extracted: int
    skipped: int
    parked: int
    reasons: Mapping[str, int]
    dropped: Mapping[str, int]
    withheld: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and cost of model calls. The cost is in US dollars, at the prices of the day; None if
    a model's price isn't known.
    """

    model_calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class ExtractionReport:
    """The state of a job, its ledger, the ids of the memories that its messages gave or repeated,
    and its cost.
    """

    state: JobState
    ledger: ExtractionLedger
    records: tuple[str, ...]
    spent: Spent


@dataclass(frozen=True, slots=True)
class ReportExtraction:
    memories: Memories

    def __call__(self, job: Job) -> ExtractionReport:
        """Return the report of an extract job: the sum of the ledger's lines in its range. Raises
        `Unavailable`.
        """
        scope = user_of(job)
        lines = self.memories.lines(scope, job.session, first=job.first, last=job.last)
        progress = self.memories.progress(scope, job.session)
        return ExtractionReport(
            state=_state(job, progress),
            ledger=_ledger(lines),
            records=tuple(dict.fromkeys(record for line in lines for record in line.records)),
            spent=spent_of([*(line.usage for line in lines), job.spent]),
        )

    def through(self, scope: UserScope, session: str) -> int:
        """Return the number of the last message of a session that was extracted; 0 if none was.
        Raises `Unavailable`.
        """
        return self.memories.progress(scope, session).through

    def shown(self, job: Job) -> Job:
        """Return the job in the state to show. Raises `Unavailable`."""
        if (job.kind, job.state) != ("extract", "failed"):
            return job
        return replace(job, state=_state(job, self.memories.progress(user_of(job), job.session)))


def _state(job: Job, progress: Progress) -> JobState:
    """Return the state to show. A failed job is done once another job has extracted the messages
    that it had parked.
    """
    is_covered = progress.through >= job.last and not parked_within(
        progress.parked, job.first, job.last
    )
    return "done" if job.state == "failed" and is_covered else job.state


def _ledger(lines: Sequence[ChunkLine]) -> ExtractionLedger:
    reasons: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    for line in lines:
        reasons.update(line.skipped)
        dropped.update(line.dropped)
    extracted, parked = sum(line.extracted for line in lines), sum(line.parked for line in lines)
    return ExtractionLedger(
        received=extracted + parked + reasons.total(),
        extracted=extracted,
        skipped=reasons.total(),
        parked=parked,
        reasons=dict(reasons),
        dropped={why: times for why, times in dropped.items() if not why.startswith(WITHHELD)},
        withheld={
            why.removeprefix(WITHHELD): times
            for why, times in dropped.items()
            if why.startswith(WITHHELD)
        },
    )


def spent_of(usages: Iterable[Mapping[str, int]]) -> Spent:
    """Return the sum of the usage of model calls. It has no cost if a price is not known."""
    total: Counter[str] = Counter()
    is_priced = True
    for usage in usages:
        total.update(usage)
        is_priced &= "cost_nano_usd" in usage or not usage.get("model_calls")
    is_priced &= not total["unpriced"]
    return Spent(
        model_calls=total["model_calls"],
        tokens_in=total["tokens_in"],
        tokens_out=total["tokens_out"],
        cost_usd=total["cost_nano_usd"] / NANO_USD if is_priced else None,
    )

"""Handles failed extractions: parks the messages of a step after its last try, and tries parked
messages again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial

from palimpsest.clock import seconds
from palimpsest.conversations.schedule import OUTAGES
from palimpsest.extraction.commit import Looked, Steps, extraction_prompt
from palimpsest.extraction.jobs import MOST_LOST, ended, next_start, parked_within, user_of
from palimpsest.extraction.ports import Extractor
from palimpsest.jobs.attempts import another_attempt, next_step
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import OVERDUE_SECONDS, STUCK, Job
from palimpsest.memory.ports import ChunkLine, MemoryCommit
from palimpsest.retry import until_committed
from palimpsest.scope import Scope


@dataclass(frozen=True, slots=True)
class GiveUpExtraction:
    """Parks the messages of a step that failed at its last try, and lets the job continue with the
    messages after them.
    """

    steps: Steps
    extractor: Extractor

    def __call__(self, notice: JobNotice, *, error: str) -> None:
        """Park the step's chunk; if a model or a store is down, park all chunks that are left of
        the job.
        """
        job = self.steps.jobs.get(Scope(notice.tenant), notice.job_id)
        if job is not None and not job.has_ended:
            self.park(job, error=error, first=job.first)

    def park(self, job: Job, *, error: str, first: int) -> None:
        """Park the chunk that begins at message `first`. After an outage, also park all later
        chunks of the job. `error` is the code of the failure.
        """
        start: int | None = first
        while start is not None:
            start = until_committed(partial(self._park, job, start, error), clock=self.steps.clock)

    def _park(self, job: Job, first: int, error: str) -> int | None:
        """Park the chunk that begins with message `first`. Return the first message of the next
        chunk if that one must be parked too, else None.
        """
        # `look` and `chunk` begin at the first message of the job that they are given.
        place = replace(job, first=first)
        at = self.steps.look(place)
        is_outage = error in OUTAGES
        if at.turn.standing != "now":
            self.steps.skip_job(place, at)
            return None
        if at.turn.is_parked:
            # The range stays parked, and its line in the ledger stays as it is.
            self._end(job, at, None, error, gives_up=is_outage)
            return None
        line = self._line(place, at)
        # While the model is down, further steps would only fail too (docs/adr/0011).
        if is_outage and line.last < job.last:
            self.steps.skip_chunk(job, at, line)
            return line.last + 1
        self._end(job, at, line, error)
        return None

    def _end(
        self, job: Job, at: Looked, line: ChunkLine | None, error: str, *, gives_up: bool = False
    ) -> None:
        nothing = MemoryCommit(epoch=job.epoch)
        commit = self.steps.advanced(nothing, job, at, line=line, error=error, gives_up=gives_up)
        self.steps.commit(job, commit, error=error)

    def _line(self, place: Job, at: Looked) -> ChunkLine:
        room = self.extractor.capacity(prompt=extraction_prompt(at.settings))
        chunk = self.steps.chunk(place, at, room=room)
        skipped = Counter(chunk.skipped.values())
        return ChunkLine(
            session=place.session,
            first=chunk.first,
            last=chunk.last,
            extracted=0,
            skipped=dict(skipped),
            parked=len(chunk.messages),
        )


@dataclass(frozen=True, slots=True)
class RetryExtraction:
    """Starts a new job for the parked messages of a job. A redrive, a caller or the sweep asks for
    it.
    """

    steps: Steps

    def __call__(self, job: Job) -> str | None:
        """Return the id of the new job; None if the first job has not ended, or no message of it is
        parked.
        """
        return until_committed(lambda: self._retry(job), clock=self.steps.clock)

    def _retry(self, job: Job) -> str | None:
        root = self.steps.root(job)
        if not root.has_ended:
            return None
        scope = user_of(root)
        parked = parked_within(
            self.steps.memories.progress(scope, root.session).parked, root.first, root.last
        )
        if not parked or self.steps.memories.user(scope).epoch != root.epoch:
            self.steps.jobs.settle(root, due_at=None)
            return None
        new = another_attempt(root, first=parked[0][0], now=seconds(self.steps.clock.now()))
        # An attempt's id follows from its number, so a repeated call finds the existing ones.
        while (
            attempt := self.steps.jobs.get(scope.owner, new.id)
        ) is not None and attempt.has_ended:
            self.steps.jobs.settle(attempt, due_at=None)
            new = another_attempt(attempt, first=new.first, now=new.created_at)
        if attempt is None:
            self.steps.memories.commit(scope, MemoryCommit(epoch=root.epoch, job=new))
        self.steps.jobs.settle(root, due_at=None)
        return new.id


@dataclass(frozen=True, slots=True)
class RestartExtraction:
    """Restarts an extraction for the sweep. A failed extraction tries its parked messages again. A
    stuck extraction begins again at the first message that it has not extracted.
    """

    steps: Steps
    retry: RetryExtraction
    give_up: GiveUpExtraction

    def __call__(self, job: Job) -> None:
        """Restart the job, or end it. Raises `CommitLost` if another writer changed it at the same
        time.
        """
        if job.has_ended:
            self.retry(job)
            self.steps.jobs.settle(job, due_at=None)
            return
        at = self.steps.look(job)
        if at.turn.standing == "waiting":
            self.steps.skip_job(job, at)
            # The job before it wakes it. The sweep looks again, in case that job was lost.
            self.steps.jobs.settle(job, due_at=seconds(self.steps.clock.now()) + OVERDUE_SECONDS)
        elif at.turn.standing in ("erased", "gone"):
            self.steps.skip_job(job, at)
        else:
            self._begin_again(job, at)

    def _begin_again(self, job: Job, at: Looked) -> None:
        now = seconds(self.steps.clock.now())
        root = self.steps.root(job)
        progress = at.progress
        start = next_start(
            job, done=job.first - 1, through=progress.through, parked=progress.parked
        )
        if root.has_ended or start is None:
            over = ended(root, parked=progress.parked, error=None, now=now)
            self._finish_step(job, root if root.has_ended else over)
        elif self._goes_on(job, start):
            self._finish_step(job, root)
        elif root.attempt + 1 >= MOST_LOST:
            self.give_up.park(job, error=STUCK, first=start)
        else:
            new = another_attempt(root, first=start, now=now)
            # The new attempt begins at `start`, so the sweep must try earlier parked ranges.
            later = (
                now + OVERDUE_SECONDS if parked_within(progress.parked, root.first, start) else None
            )
            failed = replace(root, state="failed", error=STUCK, due_at=later)
            self.steps.commit(
                job, MemoryCommit(epoch=job.epoch, job=new, finished=failed), error=STUCK
            )

    def _goes_on(self, job: Job, start: int) -> bool:
        """Return whether a later step of the job exists and has not ended."""
        step = next_step(job, first=start, now=0)
        later = self.steps.jobs.get(Scope(job.tenant), step.id)
        return later is not None and later.id != job.id and not later.has_ended

    def _finish_step(self, job: Job, root: Job) -> None:
        """End the step, and the first job of its chain if `root` has ended."""
        if root.id != job.id:
            self.steps.finish(replace(job, state="done", due_at=None))
        if root.has_ended:
            self.steps.finish(root)
        else:
            self.steps.jobs.settle(root, due_at=None)

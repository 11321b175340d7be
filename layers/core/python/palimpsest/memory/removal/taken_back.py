"""Removes the memories and summaries that were made from messages that stay, but whose words may no
longer be used. The messages were redacted, words in them were hidden, or they were put off the
record.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from palimpsest.clock import Clock
from palimpsest.conversations.contents import Contents
from palimpsest.conversations.lifecycle import without_overflow
from palimpsest.conversations.overflow.arm import Arm
from palimpsest.conversations.overflow.reopen import reopened
from palimpsest.conversations.payloads import RemovalPayload
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Commit
from palimpsest.errors import NotFound
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import Job
from palimpsest.jobs.ports import Jobs
from palimpsest.jobs.steps import UserSteps
from palimpsest.memory.removal.memories_of_session import ForgetMemoriesOfSession
from palimpsest.memory.removal.transactions import RemovesExports, no_exports
from palimpsest.memory.removal.users import BACKUP_DAYS, DAY
from palimpsest.retry import until_committed
from palimpsest.scope import Scope, SessionScope


def redaction_receipt(job: Job) -> dict[str, dict[str, Any]]:
    """Return, for each store, whether the old text is removed from it, and from how many items.
    `until` is in epoch seconds.

    The search index comes last. Until it is done, it may hold the old text, but no answer contains
    text that the tables lack.
    """
    indexed = "done" if job.state == "done" else "pending"
    state = "done" if "memories" in job.result else indexed
    return {
        "messages": {"state": "done", "count": 1},
        "summaries": {"state": state, "count": job.result.get("summaries", 0)},
        "memories": {"state": state, "count": job.result.get("memories", 0)},
        "exports": {"state": state, "count": job.result.get("exports", 0)},
        "index": {"state": indexed},
        "streams": {"state": "expires", "until": job.created_at + DAY},
        "backups": {"state": "expires", "until": job.created_at + BACKUP_DAYS * DAY},
    }


@dataclass(frozen=True, slots=True)
class TakeBackSummaries:
    """Removes the summaries that may repeat what the messages of a job said before."""

    sessions: Sessions
    jobs: Jobs
    clock: Clock

    def reopen(self, job: Job) -> bool:
        """If the window's summary covers a message of the job, let the summary before it replace
        it. The messages after that earlier summary return to the window. A pending overflow is
        dropped, because it may have read the messages before they changed. Return whether the
        overflow may have to start again. Raises `Unavailable`.
        """
        return until_committed(lambda: self._reopen(job), clock=self.clock)

    def remove(self, job: Job) -> int:
        """Remove the text of all summaries that cover a message of the job and that the window no
        longer has. Return how many there were. Safe to repeat, but then the count may be lower.
        Raises `Unavailable`.
        """
        return until_committed(lambda: self._void(job), clock=self.clock)

    def arm(self, job: Job) -> None:
        """Start the overflow of the job's session if it is due. Raises `Unavailable`."""
        with suppress(NotFound):  # deleted meanwhile
            Arm(self.sessions, self.clock)(_session(job), at_once=True)

    def _reopen(self, job: Job) -> bool:
        scope = _session(job)
        head = self.sessions.open(scope).head
        if head is None or head.status == "deleted" or job.first <= head.base:
            return False
        first = max(job.first, head.cleared + 1)
        after = reopened(self.sessions, scope, head, seq=first) if first <= job.last else head
        if after is head and head.job is None:
            return False
        after = replace(
            without_overflow(after), version=head.version + 1, redactions=head.redactions + 1
        )
        self.sessions.commit(scope, Commit(before=head, after=after))
        return True

    def _void(self, job: Job) -> int:
        """Remove the text of every summary that may hold the old text, and return how many there
        were. A compaction that followed such a summary then follows the summary before it. Raises
        `CommitLost`.

        Summaries on which the window's present summary rests need no check, because an affected
        summary has already left the window. Each commit is lost if another summary is stored before
        it.
        """
        scope = _session(job)
        head = self.sessions.open(scope).head
        if head is None or job.first <= head.base:
            return 0
        newer, _ = self._made_of(scope, head.summary, job.first)
        compactions = self.sessions.compactions(scope, first=job.first, last=head.seq)
        named = range(job.first, head.seq + 1)
        stale = [
            compaction
            for compaction in compactions
            if compaction.last not in newer
            and (
                compaction.summary is not None
                or (compaction.previous in named and compaction.previous not in newer)
            )
        ]
        for compaction in stale:
            _, previous = self._made_of(scope, compaction.previous, job.first)
            before = self.sessions.compaction(scope, previous) if previous else None
            weight = before.summary_tokens if before else 0
            void = replace(compaction, summary=None, summary_tokens=weight, previous=previous)
            after = replace(head, version=head.version + 1)
            self.sessions.commit(scope, Commit(before=head, after=after, compaction=void))
            head = after
        return sum(compaction.summary is not None for compaction in stale)

    def _made_of(self, scope: SessionScope, number: int, first: int) -> tuple[set[int], int]:
        """Return the compactions from message `first` on that summary `number` was made from, and
        the newest compaction before them.
        """
        numbers: set[int] = set()
        while number >= first:
            numbers.add(number)
            compaction = self.sessions.compaction(scope, number)
            number = compaction.previous if compaction else 0
        return numbers, number


def _session(job: Job) -> SessionScope:
    return Scope(job.tenant).session(job.session)


@dataclass(frozen=True, slots=True)
class TakeBackRedacted:
    """Does the job of a redaction. `forget` lets the job name each memory that it removes."""

    jobs: Jobs
    steps: UserSteps
    forget: ForgetMemoriesOfSession
    summaries: TakeBackSummaries
    contents: Contents
    exports: RemovesExports = no_exports

    def __call__(self, notice: JobNotice) -> None:
        """Do the job of a redaction. The worker that updates the search index ends the job. Safe to
        repeat, but then the counts of summaries and exports may be lower. Raises `Unavailable`.
        """
        job = self.steps.take_up(notice)
        if job is None:
            return
        self.contents.remove(_session(job), first=job.first, last=job.last)
        self.forget(job)
        # The redaction itself has reopened the window.
        summaries = self.summaries.remove(job)
        self.summaries.arm(job)
        _end(self, job, summaries=summaries)


@dataclass(frozen=True, slots=True)
class TakeBack:
    """Removes the memories and summaries that were made from messages whose marks have changed.
    Such a message was put off the record, or words in it were hidden.
    """

    jobs: Jobs
    steps: UserSteps
    forget: ForgetMemoriesOfSession
    summaries: TakeBackSummaries
    exports: RemovesExports = no_exports

    def __call__(self, notice: JobNotice) -> None:
        """Do the job. The worker that updates the search index ends it. Safe to repeat, but then
        the count of summaries may be lower. Raises `Unavailable`.
        """
        job = self.steps.take_up(notice)
        if job is None:
            return
        if job.payload_as(RemovalPayload).forgets:
            self.forget(job)
        has_moved = self.summaries.reopen(job)
        summaries = self.summaries.remove(job)
        if has_moved:
            self.summaries.arm(job)
        _end(self, job, summaries=summaries)


def _end(of: TakeBackRedacted | TakeBack, job: Job, *, summaries: int) -> None:
    """Remove the user's exports, and let the worker that updates the search index end the job."""
    exports = 0 if job.user is None else of.exports(Scope(job.tenant).user(job.user))
    done = of.jobs.get(Scope(job.tenant), job.id) or job
    of.steps.end_with_index(
        done, {"memories": len(done.stored), "summaries": summaries, "exports": exports}
    )

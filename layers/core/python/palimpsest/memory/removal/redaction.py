"""Take back what was made of a message that was redacted since: summaries, and memories with their quotes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from palimpsest.clock import Clock
from palimpsest.conversations.contents import Contents
from palimpsest.conversations.overflow.arm import Arm
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Commit
from palimpsest.errors import NotFound
from palimpsest.jobs import Job
from palimpsest.jobs.ports import JobNotice, Jobs
from palimpsest.jobs.steps import UserSteps
from palimpsest.memory.removal.erase import BACKUP_DAYS, DAY
from palimpsest.memory.removal.one_session import ForgetMemoriesOfSession
from palimpsest.retry import until_committed
from palimpsest.scope import Scope, SessionScope


def receipt(job: Job) -> dict[str, dict[str, Any]]:
    """For each store whether the old text is gone from it, and of how many items. `until` is in epoch seconds.

    The search index is the last: until it is done, it may hold the old text, but no answer contains text that the
    tables lack.
    """
    indexed = "done" if job.state == "done" else "pending"
    state = "done" if "memories" in job.result else indexed
    return {
        "messages": {"state": "done", "count": 1},
        "summaries": {"state": state, "count": job.result.get("summaries", 0)},
        "memories": {"state": state, "count": job.result.get("memories", 0)},
        "index": {"state": indexed},
        "streams": {"state": "expires", "until": job.created_at + DAY},
        "backups": {"state": "expires", "until": job.created_at + BACKUP_DAYS * DAY},
    }


@dataclass(frozen=True, slots=True)
class TakeBackRedacted:
    """`forget` has each memory that it removes named by the job."""

    sessions: Sessions
    jobs: Jobs
    steps: UserSteps
    clock: Clock
    forget: ForgetMemoriesOfSession
    contents: Contents

    def __call__(self, notice: JobNotice) -> None:
        """Do the job of a redaction; the worker that updates the search index ends it. Safe to repeat: the count of
        summaries may then be lower. Raises `Unavailable`.
        """
        job = self.steps.taken_up(notice)
        if job is None:
            return
        scope = Scope(job.tenant).session(job.session)
        self.contents.remove(scope, first=job.first, last=job.last)
        self.forget(job)
        summaries = until_committed(lambda: self._void(scope, job), clock=self.clock)
        with suppress(NotFound):  # deleted meanwhile
            Arm(self.sessions, self.clock)(scope, at_once=True)
        done = self.jobs.get(Scope(job.tenant), job.id) or job
        self.steps.end_with_index(done, {"memories": len(done.stored), "summaries": summaries})

    def _void(self, scope: SessionScope, job: Job) -> int:
        """Take the text from every summary that may hold the old text; return how many. Raises `CommitLost`.

        The redaction took such a summary from the window: those that the window's present summary was made of are
        newer. Each commit is lost if another summary comes in between.
        """
        head = self.sessions.open(scope).head
        if head is None or job.first <= head.base:
            return 0
        newer, _ = self._made_of(scope, head.summary, job.first)
        found = self.sessions.compactions(scope, first=job.first, last=head.seq)
        stale = [one for one in found if one.summary is not None and one.last not in newer]
        for one in stale:
            _, previous = self._made_of(scope, one.previous, job.first)
            void = replace(one, summary=None, summary_tokens=0, previous=previous)
            after = replace(head, version=head.version + 1)
            self.sessions.commit(scope, Commit(before=head, after=after, compaction=void))
            head = after
        return len(stale)

    def _made_of(self, scope: SessionScope, number: int, first: int) -> tuple[set[int], int]:
        """The compactions from message `first` on that summary `number` was made of, and the newest before them."""
        numbers: set[int] = set()
        while number >= first:
            numbers.add(number)
            found = self.sessions.compaction(scope, number)
            number = found.previous if found else 0
        return numbers, number

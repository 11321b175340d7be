"""Erases a user. It starts a new epoch, removes all older data by a job, and reports the job's
progress.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from palimpsest.clock import Clock, milliseconds, seconds
from palimpsest.conversations.contents import Contents
from palimpsest.conversations.manage import tombstone_session
from palimpsest.conversations.ports import Sessions
from palimpsest.idempotency import KEY_SECONDS
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import RETENTION_SECONDS, Job, on_user
from palimpsest.jobs.ports import Jobs
from palimpsest.jobs.steps import UserSteps
from palimpsest.memory.ports import Memories
from palimpsest.memory.removal.payloads import ErasePayload, EraseStage
from palimpsest.memory.removal.transactions import RemovesExports, counted, no_exports
from palimpsest.retry import until_committed
from palimpsest.scope import Scope, SessionScope, UserScope
from palimpsest.usage import Usages

DAY = 24 * 3600
QUEUE_DAYS = 14  # for how long dead letters are kept
BACKUP_DAYS = 35
"""How many days back a table can be restored (DynamoDB's point-in-time recovery). Backups hold no
older data.
"""

TABLES = "tables"  # the progress of a job that waits only for the index
_NEXT: dict[EraseStage, EraseStage] = {
    "sessions": "memories",
    # The list of sessions follows the table a moment later, so it is read once more
    # (docs/adr/0008).
    "memories": "late_sessions",
    "late_sessions": "over",
}


def receipt(job: Job, *, log_days: int) -> dict[str, dict[str, Any]]:
    """Return, for each store, whether the user's data is removed from it, and how much was removed.
    `until` is in epoch seconds. Logs are kept for `log_days`.

    The search index comes last. Until it is done, it may hold documents of the user, but no answer
    contains data that the tables lack. Jobs hold only ids and counts.
    """
    is_done = job.state == "done"
    has_sessions, has_all = "memories" in job.result or is_done, TABLES in job.stored or is_done
    return {
        "sessions": {"state": _state(is_done=has_sessions), "count": job.result.get("sessions", 0)},
        "memories": {"state": _state(is_done=has_all), "count": job.result.get("memories", 0)},
        "exports": {
            "state": _state(is_done=bool(job.result) or is_done),
            "count": job.result.get("exports", 0),
        },
        "index": {"state": _state(is_done=is_done)},
        "usage": {"state": "nameless" if has_all else "pending"},
        "jobs": _expires(job, RETENTION_SECONDS),
        "tombstones": _expires(job, RETENTION_SECONDS + DAY),
        "keys": _expires(job, KEY_SECONDS),
        "queues": _expires(job, QUEUE_DAYS * DAY),
        "streams": _expires(job, DAY),
        "logs": _expires(job, log_days * DAY),
        "backups": _expires(job, BACKUP_DAYS * DAY),
        "epoch": {"state": "stays"},
    }


def _expires(job: Job, seconds_after: int) -> dict[str, Any]:
    return {"state": "expires", "until": job.created_at + seconds_after}


def _state(*, is_done: bool) -> str:
    return "done" if is_done else "pending"


SESSIONS_AT_ONCE = 10
ITEMS_AT_ONCE = 500  # of long-term memory


@dataclass(frozen=True, slots=True)
class Erase:
    memories: Memories
    clock: Clock

    def __call__(self, scope: UserScope) -> str:
        """Start the user's next epoch, which hides all older data at once. Return the id of the job
        that removes that data.

        Raises `Unavailable`.
        """
        return until_committed(lambda: self._attempt(scope), clock=self.clock)

    def _attempt(self, scope: UserScope) -> str:
        epoch, now = self.memories.user(scope).epoch, self.clock.now()
        payload = ErasePayload(at=milliseconds(now))
        job = on_user(scope, kind="erase", epoch=epoch + 1, payload=payload, now=seconds(now))
        self.memories.erase(scope, epoch=epoch, job=job)
        return job.id


def erased_at(jobs: Jobs, scope: UserScope, *, epoch: int) -> int | None:
    """Return when the user's epoch began with an erasure (epoch milliseconds), or None if there was
    no erasure in the last 30 days. Raises `Unavailable`.
    """
    wanted = on_user(scope, kind="erase", epoch=epoch, payload=ErasePayload(), now=0)
    job = jobs.get(scope.owner, wanted.id) if epoch else None
    return None if job is None else job.payload_as(ErasePayload).at or job.created_at * 1000


@dataclass(frozen=True, slots=True)
class ErasePages:
    """Does the job of an erasure. It removes all data of the user from epochs before the
    job's own.
    """

    sessions: Sessions
    memories: Memories
    usages: Usages
    steps: UserSteps
    clock: Clock
    contents: Contents | None = None
    forget_sent: Callable[[UserScope, int], None] | None = None
    exports: RemovesExports = no_exports

    def __call__(self, notice: JobNotice) -> None:
        """Do one step of the job. Safe to repeat, but then the count may be lower. Raises
        `Unavailable`.
        """
        job = self.steps.take_up(notice)
        if job is None:
            return
        scope, erased = Scope(job.tenant).user(job.user or ""), job.payload_as(ErasePayload)
        until = self.steps.deadline
        if self.forget_sent is not None:
            self.forget_sent(scope, job.epoch)
        exports = self._exports(scope, job)
        while self.clock.now() < until:
            erased = self._page(scope, job, erased)
            if erased.stage == "over":
                self.usages.forget(scope)
                root = self.steps.jobs.get(scope.owner, job.root) or job
                self.steps.jobs.mark(root, TABLES)
                self.steps.end_with_index(job, {**_result(erased), **counted(exports)})
                return
        self.steps.go_on(job, erased, result={**_result(erased), **counted(exports)})

    def _exports(self, scope: UserScope, job: Job) -> int:
        """Remove exports, and return how many were removed. Only the first step removes exports,
        because later exports hold no erased data.
        """
        if job.step == 0:
            return self.exports(scope)
        root = self.steps.jobs.get(scope.owner, job.root)
        return root.result.get("exports", 0) if root else 0

    def _page(self, scope: UserScope, job: Job, erased: ErasePayload) -> ErasePayload:
        if erased.stage != "memories":
            return self._some_sessions(scope, job, erased)
        gone = self.memories.wipe(scope, below_epoch=job.epoch, limit=ITEMS_AT_ONCE)
        return replace(erased, memories=erased.memories + gone) if gone else _moved_on(erased)

    def _some_sessions(self, scope: UserScope, job: Job, erased: ErasePayload) -> ErasePayload:
        page = self.sessions.listed(
            scope.owner,
            user=scope.user,
            limit=SESSIONS_AT_ONCE,
            after=erased.after,
            newest_first=False,
        )
        gone = sum(self._remove(scope.owner.session(name), job) for name in page.sessions)
        erased = replace(erased, sessions=erased.sessions + gone, after=page.after)
        return erased if page.after is not None else _moved_on(erased)

    def _remove(self, scope: SessionScope, job: Job) -> bool:
        """Delete a session of an earlier epoch with all its data. Return whether there was anything
        to delete.
        """
        was_there = until_committed(lambda: self._tombstone(scope, job), clock=self.clock)
        head = self.sessions.open(scope).head
        if head is None:
            return False
        last = head.seq if head.status == "deleted" else head.base
        removed = self.sessions.remove(scope, first=0, last=last, whole=True)
        if self.contents is not None:
            self.contents.remove(scope, first=0, last=last)
        return was_there or removed > 0

    def _tombstone(self, scope: SessionScope, job: Job) -> bool:
        head = self.sessions.open(scope).head
        if (
            head is None
            or head.status == "deleted"
            or head.user != job.user
            or head.epoch >= job.epoch
        ):
            return False
        tombstone_session(self.sessions, scope, head, now=self.clock.now())
        return True


def _moved_on(erased: ErasePayload) -> ErasePayload:
    """Return the payload with which the job begins its next stage."""
    return replace(erased, stage=_NEXT[erased.stage], after=None)


def _result(erased: ErasePayload) -> dict[str, int]:
    """Return how many items were removed from each store so far."""
    reached = {"sessions": erased.sessions}
    return reached if erased.stage == "sessions" else {**reached, "memories": erased.memories}

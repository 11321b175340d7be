"""Changes how long a tenant's data, or the memories of one session, are kept. The expiry of
existing data is updated page by page.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from palimpsest import parallel
from palimpsest.clock import Clock, seconds
from palimpsest.conversations import lifecycle
from palimpsest.conversations.configuration import own_retention
from palimpsest.conversations.payloads import RetainPayload
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Commit, Head
from palimpsest.jobs.attempts import newest_attempt
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import Job, on_tenant
from palimpsest.jobs.ports import Jobs
from palimpsest.jobs.steps import UserSteps
from palimpsest.memory.expiry import is_expired
from palimpsest.memory.ports import Expiries, Memories, MemoryCommit
from palimpsest.memory.record import Record
from palimpsest.memory.statements import kept_for
from palimpsest.retry import until_committed
from palimpsest.scope import Scope, SessionScope, UserScope
from palimpsest.tenants.ports import Tenants
from palimpsest.tenants.settings import TenantSettings

PAGE = 50  # sessions, users or records; a page of records fits one transaction
Kept = Callable[[Record], Record]
"""Returns a record with its new expiry."""
SETTLING = 5.0
"""Seconds until the job begins. By then, writes that read the settings before the change have
ended, and the lists have caught up with the tables.
"""


@dataclass(frozen=True, slots=True)
class ManageSettings:
    tenants: Tenants
    jobs: Jobs
    clock: Clock

    def read(self, scope: Scope) -> tuple[TenantSettings, Job | None]:
        """Return the tenant's settings, and the job that applies the last change of retention to
        existing data. The job is None if there was no change, or if the change was so long ago that
        its job is deleted. Raises `Unavailable`.
        """
        settings = self.tenants.settings(scope)
        job = (
            None
            if settings.change is None
            else self.jobs.get(scope, self._job(scope, settings.change).id)
        )
        if job is None:
            return settings, None
        newest = newest_attempt(job, lambda job_id: self.jobs.get(scope, job_id))
        return settings, job if newest.parent is not None else newest

    def replace(self, scope: Scope, settings: TenantSettings) -> tuple[TenantSettings, Job | None]:
        """Replace the settings, and return what `read` returns. If their retention differs from the
        stored one, the same transaction starts the job that applies it. Raises `Unavailable`.
        """
        until_committed(lambda: self._replace(scope, settings), clock=self.clock)
        return self.read(scope)

    def _replace(self, scope: Scope, settings: TenantSettings) -> None:
        before, job = self.tenants.settings(scope), None
        settings = replace(settings, change=before.change)
        if settings.days != before.days:
            change = secrets.token_hex(16)
            settings, job = replace(settings, change=change), self._job(scope, change)
        self.tenants.replace_settings(scope, settings, before=before, job=job)

    def _job(self, scope: Scope, change: str) -> Job:
        payload, now = RetainPayload(change=change), seconds(self.clock.now())
        return on_tenant(scope, kind="retain", user=None, key=change, payload=payload, now=now)


@dataclass(frozen=True, slots=True)
class RetainPages:
    """Does the job that applies a changed retention to existing data. A tenant's retention is
    applied to its sessions and memories, and a session's own retention to the memories extracted
    from it.

    Expired data stays expired. A later change of the tenant's settings ends the job, because the
    job of that change begins again from the first page. A session's own retention is read again for
    each page.
    """

    tenants: Tenants
    sessions: Sessions
    memories: Memories
    expiries: Expiries
    steps: UserSteps
    clock: Clock
    settling: float = SETTLING

    def __call__(self, notice: JobNotice) -> None:
        """Do one step of the job. Safe to repeat, but then the counts may be lower. Raises
        `Unavailable`.
        """
        job = self.steps.take_up(notice)
        if job is None:
            return
        scope, until, place = Scope(job.tenant), self.steps.deadline, job.payload_as(RetainPayload)
        if job.parent is None:
            self.clock.sleep(self.settling)
        pages = self._of_session(job, place) if job.session else self._of_tenant(scope, place)
        for place in pages:
            if self.clock.now() >= until:
                self.steps.go_on(job, place, result=_counts(place))
                return
        self.steps.end(job, _counts(place))

    def _wanted(self, scope: Scope, place: RetainPayload) -> TenantSettings | None:
        """Return the tenant's settings, or None if a later change has replaced this job's."""
        settings = self.tenants.settings(scope)
        return settings if settings.change == place.change else None

    def _of_tenant(self, scope: Scope, begun: RetainPayload) -> Iterator[RetainPayload]:
        """Do page after page until the retention changes again. Each result says where the next
        page begins.
        """
        for place in self._pages(scope, begun):
            yield place
            if self._wanted(scope, place) is None:
                return

    def _pages(self, scope: Scope, begun: RetainPayload) -> Iterator[RetainPayload]:
        place = begun
        while place.stage == "sessions":
            place = self._some_sessions(scope, place)
            yield place
        while place.stage == "memories":
            users, after = self.memories.users(scope.tenant, limit=PAGE, after=place.after)
            for user in users:
                if place.user is None or user >= place.user:
                    for place in self._of_user(scope.user(user), place):  # noqa: B020 - it goes on from there
                        yield place
            place = replace(
                place,
                stage="over" if after is None else "memories",
                after=after,
                user=None,
                page=None,
            )
            yield place

    def _some_sessions(self, scope: Scope, place: RetainPayload) -> RetainPayload:
        page = self.sessions.listed(
            scope, user=None, limit=PAGE, after=place.after, newest_first=False
        )

        def keep(name: str) -> bool:
            return until_committed(
                lambda: self._keep_session(scope.session(name), place), clock=self.clock
            )

        count = place.sessions + sum(parallel.run_each(keep, page.sessions))
        return replace(
            place, stage="sessions" if page.after else "memories", sessions=count, after=page.after
        )

    def _keep_session(self, scope: SessionScope, place: RetainPayload) -> bool:
        """Return whether the session's retention must change. That is so if the session exists, has
        no retention of its own, and was kept for another number of days.
        """
        opened, wanted = self.sessions.open(scope, settings=True), self._wanted(scope.owner, place)
        head, settings = opened.head, opened.settings
        # Settings with another base belong to an earlier session with this id.
        if wanted is None or head is None or settings is None or settings.base != head.base:
            return False
        if settings.retention is not None:
            return False
        after = lifecycle.kept_for(head, wanted.retention_days)
        if after == head or head.is_gone(seconds(self.clock.now())):
            return False
        settings = replace(settings, due_at=after.next_visit)
        after = replace(after, version=head.version + 1)
        self.sessions.commit(scope, Commit(before=head, after=after, settings=settings))
        return True

    def _of_user(self, scope: UserScope, begun: RetainPayload) -> Iterator[RetainPayload]:
        place = replace(
            begun, user=scope.user, page=begun.page if begun.user == scope.user else None
        )

        def kept() -> Kept | None:
            wanted = self._wanted(scope.owner, place)
            return (
                None
                if wanted is None
                else (lambda record: kept_for(record, wanted.lifetime(record.type)))
            )

        return self._records(scope, place, kept)

    def _of_session(self, job: Job, begun: RetainPayload) -> Iterator[RetainPayload]:
        """Do page after page of the records of the session's user, as long as the session
        exists.
        """
        scope = Scope(job.tenant)

        def kept() -> Kept | None:
            opened = self.sessions.open(scope.session(job.session), settings=True)
            head, settings = opened.head, opened.settings
            if head is None or settings is None or head.is_gone(seconds(self.clock.now())):
                return None
            own, tenant = own_retention(settings.memory), self.tenants.settings(scope)
            return partial(_kept_as_its_session, head, job.session, own, tenant)

        return self._records(scope.user(job.user or ""), begun, kept)

    def _records(
        self, scope: UserScope, place: RetainPayload, kept: Callable[[], Kept | None]
    ) -> Iterator[RetainPayload]:
        """Give the user's records the expiry that `kept` returns, page by page. Stop if `kept` is
        None.
        """
        while True:
            place = until_committed(
                partial(self._keep_records, scope, place, kept), clock=self.clock
            )
            yield place
            if place.page is None:
                return

    def _keep_records(
        self, scope: UserScope, place: RetainPayload, kept: Callable[[], Kept | None]
    ) -> RetainPayload:
        epoch, keep = self.memories.user(scope).epoch, kept()
        if keep is None:
            return replace(place, page=None)
        page, now = (
            self.expiries.records(scope, limit=PAGE, after=place.page),
            seconds(self.clock.now()),
        )
        alive = [record for record in page.records if not is_expired(record, now=now)]
        changed = [after for record in alive if (after := keep(record)) != record]
        if changed:
            self.memories.commit(scope, MemoryCommit(epoch, changed=changed))
        return replace(place, page=page.after, memories=place.memories + len(changed))


def _kept_as_its_session(
    head: Head, session: str, own: Mapping[str, int], tenant: TenantSettings, record: Record
) -> Record:
    """Return the record with the retention of the session, if it was extracted from that session.
    Records of other sessions and records that callers saved are returned unchanged. If another
    session said the same, the record does not expire earlier.
    """
    source = record.source
    is_extracted = (
        record.method != "given"
        and source.session == session
        and min(source.seqs, default=0) > head.base
    )
    if not is_extracted:
        return record
    after = kept_for(replace(record, retention=own.get(record.type)), tenant.lifetime(record.type))
    ends_earlier = after.expires_at is not None and (
        record.expires_at is None or after.expires_at < record.expires_at
    )
    return record if record.also and ends_earlier else after


def _counts(place: RetainPayload) -> dict[str, int]:
    return {"sessions": place.sessions, "memories": place.memories}

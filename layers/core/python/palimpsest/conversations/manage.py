"""The use cases that create, configure, read, end and delete a session."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from palimpsest.clock import Clock, seconds
from palimpsest.conversations.allowed import asked_of_memories, check_allowed, check_room
from palimpsest.conversations.configuration import (
    Strategy,
    merged,
    names_days,
    own_retention,
    stored,
)
from palimpsest.conversations.history import live
from palimpsest.conversations.lifecycle import (
    Configuration,
    begun,
    check_owner,
    configured,
    deleted,
    deletion,
    ended,
    job_on,
    touched,
)
from palimpsest.conversations.listing import SessionLimit
from palimpsest.conversations.message import Chat
from palimpsest.conversations.payloads import RetainPayload
from palimpsest.conversations.ports import Opened, Sessions
from palimpsest.conversations.schedule import ExtractionSchedule
from palimpsest.conversations.session import Commit, Head, LiveSession, Settings
from palimpsest.conversations.weight import weigh
from palimpsest.errors import Conflict, FieldError, NotFound, Unprocessable
from palimpsest.idempotency import KeyedCall, Once
from palimpsest.jobs.job import Job
from palimpsest.models.ports import TokenCounter
from palimpsest.retry import until_committed
from palimpsest.scope import SessionScope
from palimpsest.tenants.ports import Tenants
from palimpsest.tenants.settings import TenantSettings


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """The configuration that a caller wants for a session: a system message, memory fields that
    override the tenant's defaults, and metadata. `own_days` are the days for which the session is
    kept after its last activity (0 = for ever).
    """

    system: Chat | None = None
    memory: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None
    retention: int | None = None


@dataclass(frozen=True, slots=True)
class ManageSessions:
    """Creates, configures, reads, ends and deletes sessions. `models` are the models that callers
    may name. None allows any model, because users of the library pay for their own models.
    """

    sessions: Sessions
    tenants: Tenants
    tokens: TokenCounter
    clock: Clock
    limit: SessionLimit
    schedule: ExtractionSchedule | None = None  # None: there is no long-term memory
    models: tuple[str, ...] | None = None

    def create(
        self,
        scope: SessionScope,
        *,
        user: str,
        agent: str | None,
        wanted: SessionRequest,
        once: Once | None = None,
    ) -> tuple[LiveSession, bool]:
        """Create a session; return it and True. If the same session exists and has no messages yet,
        return that session and False. For a repeated call (`once`), return the session of the first
        call in its present state. Raises `Conflict` (`session_exists`, `owner_mismatch`),
        `LimitReached` (`session_limit`).
        """
        return until_committed(
            lambda: self._create(scope, user, agent, wanted, once), clock=self.clock
        )

    def _create(
        self,
        scope: SessionScope,
        user: str,
        agent: str | None,
        wanted: SessionRequest,
        once: Once | None,
    ) -> tuple[LiveSession, bool]:
        call = once.stored() if once else None
        if call is not None and call.made:
            return self.read(scope), True
        now = self.clock.now()
        opened = self.sessions.open(scope, settings=True, user=user)
        if opened.head is None or opened.head.is_gone(seconds(now)):
            call = call and replace(call, made=scope.session)
            return self._begin(
                scope, opened, user=user, agent=agent, wanted=wanted, now=now, call=call
            ), True
        setup = self._setup(wanted, self.tenants.settings(scope.owner))
        return self._same(scope, *live(opened, now=now), user=user, agent=agent, setup=setup), False

    def _begin(
        self,
        scope: SessionScope,
        opened: Opened,
        *,
        user: str,
        agent: str | None,
        wanted: SessionRequest,
        now: datetime,
        call: KeyedCall | None = None,
    ) -> LiveSession:
        defaults = self.tenants.settings(scope.owner)
        self.limit.check(scope.owner, most=defaults.limits.sessions)
        beginning = begun(
            opened.head,
            scope=scope,
            user=user,
            agent=agent,
            setup=self._setup(wanted, defaults),
            epoch=opened.epoch,
            now=now,
        )
        after = touched(beginning.head, now=now)
        settings, jobs = beginning.settings, beginning.jobs
        commit = Commit(
            before=opened.head, after=after, begins=True, settings=settings, jobs=jobs, call=call
        )
        self.sessions.commit(scope, commit)
        return LiveSession(scope.session, after, settings)

    def _same(
        self,
        scope: SessionScope,
        head: Head,
        settings: Settings,
        *,
        user: str,
        agent: str | None,
        setup: Configuration,
    ) -> LiveSession:
        check_owner(head, user=user, agent=agent)
        _, wanted = configured(head, settings, setup)
        if head.total_messages or agent != head.agent or wanted != settings:
            raise Conflict("A session with this id exists already.", code="session_exists")
        return LiveSession(scope.session, head, settings)

    def replace(
        self,
        scope: SessionScope,
        *,
        user: str | None = None,
        agent: str | None = None,
        wanted: SessionRequest,
    ) -> tuple[LiveSession, bool]:
        """Replace the session's configuration. Returns the session, and whether it is new. Missing
        fields return to the tenant's defaults. An unknown session is created for `user`. Raises
        `NotFound` if the session is unknown and no user is named, `Conflict` (`owner_mismatch`).
        """
        complete = replace(wanted, metadata=wanted.metadata or {})

        def attempt() -> tuple[LiveSession, bool]:
            now = self.clock.now()
            opened = self.sessions.open(scope, settings=True, user=user)
            is_new = opened.head is None or opened.head.is_gone(seconds(now))
            if is_new and user is None:
                raise NotFound(
                    "There is no such session. Give a user_id to begin it.",
                    code="session_not_found",
                )
            if is_new and user is not None:
                return self._begin(
                    scope, opened, user=user, agent=agent, wanted=complete, now=now
                ), True
            setup = self._setup(complete, self.tenants.settings(scope.owner))
            return self._configured(
                scope, opened, lambda _: setup, user=user, agent=agent, now=now
            ), False

        return until_committed(attempt, clock=self.clock)

    def patch(
        self,
        scope: SessionScope,
        *,
        user: str | None = None,
        agent: str | None = None,
        wanted: SessionRequest,
        clear_system: bool = False,
    ) -> LiveSession:
        """Change only the given fields, and return the session. `memory` is merged field by field,
        metadata key by key; a null removes a key. Raises `NotFound`, `Conflict` (`owner_mismatch`),
        `Unprocessable`, `TooLarge`, `Unavailable`.
        """

        def setup(settings: Settings) -> Configuration:
            system = None if clear_system else wanted.system or settings.system
            metadata = {**settings.metadata, **(wanted.metadata or {})}
            present = {key: value for key, value in metadata.items() if value is not None}
            is_kept = wanted.retention is None and not names_days(wanted.memory)
            kept = settings.retention if is_kept else wanted.retention
            tenant = self.tenants.settings(scope.owner)
            return self._setup(
                SessionRequest(system, wanted.memory, present, kept), tenant, base=settings.memory
            )

        def attempt() -> LiveSession:
            opened = self.sessions.open(scope, settings=True, user=user)
            return self._configured(
                scope, opened, setup, user=user, agent=agent, now=self.clock.now()
            )

        return until_committed(attempt, clock=self.clock)

    def _configured(
        self,
        scope: SessionScope,
        opened: Opened,
        setup: Callable[[Settings], Configuration],
        *,
        user: str | None,
        agent: str | None,
        now: datetime,
    ) -> LiveSession:
        before, settings = live(opened, now=now)
        check_owner(before, user=user, agent=agent)
        head, changed = configured(before, settings, setup(settings))
        after = touched(head, now=now)
        changed = replace(changed, due_at=after.next_visit)
        jobs = self._retaining(scope, after, settings, changed, now=now)
        self.sessions.commit(scope, Commit(before=before, after=after, settings=changed, jobs=jobs))
        return LiveSession(scope.session, after, changed)

    def _retaining(
        self, scope: SessionScope, head: Head, before: Settings, after: Settings, *, now: datetime
    ) -> tuple[Job, ...]:
        """Return the job that applies a changed retention to the memories extracted from the
        session; no job if the retention did not change.
        """
        if self.schedule is None or own_retention(before.memory) == own_retention(after.memory):
            return ()
        payload = RetainPayload(change=secrets.token_hex(16), stage="memories")
        return (
            job_on(
                head,
                scope,
                kind="retain",
                first=0,
                last=head.seq,
                payload=payload,
                now=seconds(now),
            ),
        )

    def _setup(
        self,
        wanted: SessionRequest,
        tenant: TenantSettings,
        *,
        base: Mapping[str, Any] | None = None,
    ) -> Configuration:
        """Return the configuration `base`, or the tenant's defaults if it is None, changed by the
        fields of `wanted`. Only a model that `wanted` names is checked, so that a session whose
        model is no longer allowed can still be changed.
        """
        fields = {**(wanted.memory or {})}
        memory = merged({**(tenant.memory if base is None else base)}, fields)
        self.check_model(fields, tenant)
        encoding = self.tokens.encoding_for(memory.model)
        tokens = (
            weigh(wanted.system, partial(self.tokens.count, encoding=encoding))
            if wanted.system
            else 0
        )
        self.check(memory)
        check_room(system=wanted.system, memory=[stored(memory), wanted.metadata])
        return Configuration(
            memory=memory,
            encoding=encoding,
            tenant_days=tenant.retention_days,
            own_days=wanted.retention,
            system=wanted.system,
            system_tokens=tokens,
            metadata=wanted.metadata,
        )

    def setup(self, memory: Mapping[str, Any], tenant: TenantSettings) -> Configuration:
        """Return the configuration of a new session. Its memory fields override the tenant's
        defaults. Raises pydantic's `ValidationError`, `Unprocessable`, `TooLarge`.
        """
        return self._setup(SessionRequest(memory=memory), tenant)

    def check_model(self, memory: Mapping[str, Any], tenant: TenantSettings) -> None:
        """Raise `Unprocessable` (`model_not_allowed`) if these fields name a model that the
        operator or the tenant does not allow.
        """
        lists = (self.models, tenant.models)
        check_allowed(memory.get("summary_model"), field="memory.summary_model", lists=lists)

    def check(self, memory: Strategy) -> None:
        """Raise `Unprocessable` (`no_long_term_memory`) if the configuration needs long-term memory
        and the service has none.
        """
        lacking = asked_of_memories(memory) if self.schedule is None else None
        if lacking is not None:
            error = FieldError(f"memory.{lacking}", "needs long-term memory")
            raise Unprocessable(
                "This service has no long-term memory.", code="no_long_term_memory", errors=(error,)
            )

    def read(self, scope: SessionScope) -> LiveSession:
        """Return the session. Raises `NotFound` (`session_not_found`), `Unavailable`."""
        return LiveSession(
            scope.session, *live(self.sessions.open(scope, settings=True), now=self.clock.now())
        )

    def end(self, scope: SessionScope) -> tuple[LiveSession, str | None]:
        """Mark the session as ended; the next append makes it active again. If the session extracts
        memories automatically, a job extracts them from the remaining messages. Returns the session
        and the id of its newest extraction job (None if it never had one). Raises `NotFound`,
        `Unavailable`.
        """

        def attempt() -> tuple[LiveSession, str | None]:
            now = self.clock.now()
            before, settings = live(self.sessions.open(scope, settings=True), now=now)
            if before.status == "ended":
                return LiveSession(scope.session, before, settings), before.extract_job
            after, jobs = self._extracting(scope, touched(ended(before), now=now), now=now)
            self.sessions.commit(scope, Commit(before=before, after=after, jobs=jobs))
            return LiveSession(scope.session, after, settings), after.extract_job

        return until_committed(attempt, clock=self.clock)

    def _extracting(
        self, scope: SessionScope, head: Head, *, now: datetime
    ) -> tuple[Head, tuple[Job, ...]]:
        if self.schedule is None or not head.extract_turns:
            return head, ()
        return self.schedule.armed(head, scope, now=seconds(now), always=True)

    def delete(self, scope: SessionScope, *, keep_memories: bool = False) -> str:
        """Delete the session and return the id of the job that removes its data. From now on no
        call finds the session. Unless `keep_memories` is set, the job also removes memories that
        have no other source. Raises `NotFound`, `Unavailable`.
        """

        def attempt() -> str:
            now = self.clock.now()
            before, _ = live(self.sessions.open(scope, settings=True), now=now)
            forgets = self.schedule is not None and not keep_memories
            return tombstone_session(self.sessions, scope, before, now=now, forgets=forgets)

        return until_committed(attempt, clock=self.clock)


def tombstone_session(
    sessions: Sessions, scope: SessionScope, head: Head, *, now: datetime, forgets: bool = False
) -> str:
    """Mark the session as deleted, create the job that removes its data, and return the job's id.

    With `forgets` the job also removes memories that have no other source. Raises `CommitLost`.
    """
    tombstone = deleted(head, now=now)
    job = deletion(tombstone, scope=scope, now=seconds(now), forgets=forgets)
    sessions.commit(scope, Commit(before=head, after=tombstone, jobs=(job,)))
    return job.id

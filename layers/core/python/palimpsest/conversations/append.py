"""The use case that appends messages to a session. Each message is stored once, however often the
call is retried. If the window is full, its oldest messages leave it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from palimpsest.clock import Clock, seconds, stamp
from palimpsest.conversations.begin import BeginSession
from palimpsest.conversations.configuration import parsed
from palimpsest.conversations.contents import Contents
from palimpsest.conversations.drafts import Batch, Draft, batch_of, numbered, open_calls_after
from palimpsest.conversations.history import check_last, live, moved_on, window
from palimpsest.conversations.lifecycle import check_owner, completes_buffer, touched, with_messages
from palimpsest.conversations.message import MAX_MESSAGE_BYTES, SYSTEM_ROLES, Message
from palimpsest.conversations.off_record import marked
from palimpsest.conversations.overflow.eviction import Armed, OverflowResult, decide
from palimpsest.conversations.ports import HeadMoved, HidesOld, Opened, Sessions
from palimpsest.conversations.schedule import ExtractionSchedule
from palimpsest.conversations.secrets import admitted, holding_secrets
from palimpsest.conversations.session import Commit, Head, IdempotencyKey, Settings
from palimpsest.conversations.spoken import may_be_old
from palimpsest.conversations.take_back import take_back, turn_before
from palimpsest.errors import Conflict, NotFound
from palimpsest.idempotency import KEY_SECONDS
from palimpsest.jobs.job import Job
from palimpsest.models.ports import TokenCounter
from palimpsest.retry import Turns, until_committed
from palimpsest.scope import Scope, SessionScope
from palimpsest.tenants.ports import Tenants

Extract = Literal["auto", "now", "never"]
RESEND_SECONDS = 60  # a caller without keys sends a lost append again within this time


@dataclass(frozen=True, slots=True)
class AppendResult:
    """The result of an append. `replayed` is true if the same append was done before; the result is
    then that of the first call. `extraction` is the id of the extraction job that the append
    created.
    """

    messages: tuple[Message, ...]
    head: Head
    created: bool = False
    overflow: OverflowResult | None = None
    replayed: bool = False
    extraction: str | None = None


@dataclass(frozen=True, slots=True)
class _Request:
    scope: SessionScope
    batch: Batch
    user: str | None
    agent: str | None
    allow_repeat: bool
    after: str | None
    if_last: int | None
    extract: Extract
    memory: Mapping[str, Any] | None
    opens: Callable[[Opened], None] | None


@dataclass(frozen=True, slots=True)
class _Target:
    """The session that the messages go into, and the other data that the commit must write.
    `before` is the head that was read. If this append creates the session, `before` is None or the
    head of a deleted or expired session. `head` is the head to which the messages are added.
    `speaks_system` is true if one of the messages sets the session's system message.
    """

    before: Head | None
    head: Head
    settings: Settings | None
    jobs: tuple[Job, ...] = ()
    created: bool = False
    speaks_system: bool = False


@dataclass(frozen=True, slots=True)
class Append:
    sessions: Sessions
    tenants: Tenants
    tokens: TokenCounter
    clock: Clock
    begin_session: BeginSession
    schedule: ExtractionSchedule | None = None  # None: nothing is extracted
    contents: Contents | None = None  # None: a message that is too large for an item is refused
    hides_old: HidesOld | None = None  # None: words of deleted memories are not marked
    turns: Turns = field(default_factory=Turns)

    def __call__(
        self,
        scope: SessionScope,
        drafts: Sequence[Draft],
        *,
        user: str | None = None,
        agent: str | None = None,
        key: str | None = None,
        allow_repeat: bool = False,
        after: str | None = None,
        if_last: int | None = None,
        extract: Extract = "auto",
        memory: Mapping[str, Any] | None = None,
        is_transcript: bool = False,
        opens: Callable[[Opened], None] | None = None,
    ) -> AppendResult:
        """Store 1 to 50 messages at the end of the session, all of them or none.

        A call that repeats an earlier call with the same `key` (or with the same id on every
        message) returns the result of the earlier call. With `after`, the messages are stored only
        if the newest message has this id; "" means that the session has no message. With `if_last`,
        they are stored only if the newest message has this sequence number; 0 means that the
        session has no message. With `is_transcript`, messages without timestamps may be old.

        `extract` decides whether a job extracts memories from the messages that no job covers yet:
        by the session's own rule ("auto"), always ("now"), or not ("never"). An unknown session is
        created for `user`; the fields of `memory` override the tenant's defaults. A session that
        exists keeps its configuration.
        `opens` is called with the session and its settings as they were read, before anything is
        stored. It is not called if a message is the system's.

        Raises pydantic's `ValidationError` for a wrong `memory`, `NotFound` for an unknown session
        when no user is named, `Conflict` (`owner_mismatch`, `idempotency_key_reused`,
        `history_moved_on`), `LimitReached` (`session_limit`), `TooLarge`, `Unprocessable`
        (`secret_refused` by the tenant's rule), `Unavailable`.
        """
        drafts = self._without_deleted(
            scope, self.admitted(scope.owner, drafts), user, is_transcript=is_transcript
        )
        request = _Request(
            scope=scope,
            batch=batch_of(
                drafts, key=key, count=self.tokens.count, has_contents=self.contents is not None
            ),
            user=user,
            agent=agent,
            allow_repeat=allow_repeat,
            after=after,
            if_last=if_last,
            extract=extract,
            memory=memory,
            opens=opens,
        )
        # Writers of one process take turns, so that they lose no commits to each other.
        with self.turns.at(scope):
            return until_committed(lambda: self._attempt(request), clock=self.clock)

    def admitted(self, scope: Scope, drafts: Sequence[Draft]) -> Sequence[Draft]:
        """Mask or refuse secrets in the messages, as the tenant's rule says, and return the
        messages to store. The rule is read only if a message holds a secret. Safe to repeat. Raises
        `Unprocessable` (`secret_refused`).
        """
        masked = holding_secrets(drafts)
        rule = self.tenants.settings(scope).secrets if masked else "keep_in_message"
        return admitted(drafts, masked, rule=rule)

    def _without_deleted(
        self, scope: SessionScope, drafts: Sequence[Draft], user: str | None, *, is_transcript: bool
    ) -> Sequence[Draft]:
        """Return the messages. In messages that may be old, the words that deleted memories came
        from are marked.
        """
        timestamps = [draft.timestamp for draft in drafts]
        is_old = may_be_old(timestamps, now=self.clock.now(), is_transcript=is_transcript)
        # A statement that is made now is new, even in the words of a deleted memory
        # (docs/adr/0087).
        if self.hides_old is None or not is_old:
            return drafts
        if user is None:
            head = self.sessions.open(scope).head
            user = None if head is None else head.user
        return (
            drafts
            if user is None
            else self.hides_old(scope.owner.user(user), drafts, is_transcript=is_transcript)
        )

    def _attempt(self, request: _Request) -> AppendResult:
        now = self.clock.now()
        speaks_system = any(draft.chat["role"] in SYSTEM_ROLES for draft in request.batch.drafts)
        # A system message changes the settings with which the blocks would be read ahead.
        opens = None if speaks_system else request.opens
        opened = self.sessions.open(
            request.scope,
            settings=speaks_system or opens is not None,
            key=request.batch.key,
            user=request.user,
        )
        if opens is not None:
            opens(opened)
        try:
            return self._decide(request, opened, now, speaks_system=speaks_system)
        except HeadMoved as moved:
            # If another append came first, only the head has changed, and the error holds the new
            # head. After any other change the session is read again.
            if speaks_system or opened.head is None or not moved.head.is_next_of(opened.head):
                raise
            opened = replace(opened, head=moved.head, settings=None)
            return self._decide(request, opened, now, speaks_system=False)

    def _decide(
        self, request: _Request, opened: Opened, now: datetime, *, speaks_system: bool
    ) -> AppendResult:
        """Append to the session that was read, or begin it, and commit. Raises `CommitLost` if
        another writer was faster.
        """
        if opened.head is None or opened.head.is_gone(seconds(now)):
            return self._begin(request, opened, now)
        if speaks_system:
            # A system message changes the settings, so these must be of this session.
            live(opened, now=now)
        check_owner(opened.head, user=request.user, agent=request.agent)
        resent = self._resent(request, opened.head, opened.key, now)
        if resent is not None:
            return resent
        self._check_place(request, opened.head)
        return self._commit(
            request, _Target(before=opened.head, head=opened.head, settings=opened.settings), now
        )

    def _resent(
        self, request: _Request, head: Head, key: IdempotencyKey | None, now: datetime
    ) -> AppendResult | None:
        """Return the result of the first call if this append repeats it, else None."""
        # A key at or below `base` was used in an earlier session with this id.
        if key is not None and key.expires_at > seconds(now) and key.first > head.base:
            if key.request != request.batch.hash:
                raise Conflict(
                    "The idempotency key was used with another body.", code="idempotency_key_reused"
                )
            return self._replayed(request, head, first=key.first, last=key.last)
        # A caller without keys is recognized by sending its last batch again, soon (docs/adr/0001).
        is_last_again = (
            head.batch == request.batch.hash
            and head.updated_second >= seconds(now) - RESEND_SECONDS
        )
        goes_behind = request.if_last is not None and request.if_last >= head.batch_first
        if (
            request.batch.key is None
            and is_last_again
            and not (request.allow_repeat or goes_behind)
        ):
            return self._replayed(request, head, first=head.batch_first, last=head.seq)
        return None

    def _replayed(self, request: _Request, head: Head, *, first: int, last: int) -> AppendResult:
        messages = tuple(self.sessions.messages(request.scope, first=first, last=last))
        return AppendResult(messages=messages, head=head, replayed=True)

    def _check_place(self, request: _Request, head: Head | None) -> None:
        """Raise `Conflict` unless the session's newest message is the message that the request
        names. `head` is the session's present head; None if there is no session yet.
        """
        if request.after not in (None, head.last_id if head else ""):
            raise moved_on()
        if request.if_last is not None:
            check_last(self.sessions, request.scope, head, request.if_last)

    def _begin(self, request: _Request, opened: Opened, now: datetime) -> AppendResult:
        """Create the session together with its first messages."""
        if request.user is None:
            raise NotFound(
                "There is no such session. Give a user_id to begin it.", code="session_not_found"
            )
        self._check_place(request, None)
        beginning = self.begin_session(
            request.scope,
            opened,
            user=request.user,
            agent=request.agent,
            now=now,
            wanted=request.memory,
        )
        session = _Target(
            before=opened.head,
            head=beginning.head,
            settings=beginning.settings,
            jobs=beginning.jobs,
            created=True,
        )
        return self._commit(request, session, now)

    def _commit(self, request: _Request, target: _Target, now: datetime) -> AppendResult:
        begins_with = target.head
        messages, target, back = self._grown(request, target, now)
        armed = self._room(request.scope, target, messages, now)
        head, extraction = self._extraction(request, armed.head, now, before=begins_with)
        first, last = messages[0].seq, messages[-1].seq
        idempotency_key = None
        if key := request.batch.key:
            expires_at = seconds(now) + KEY_SECONDS
            idempotency_key = IdempotencyKey(key, request.batch.hash, first, last, expires_at)
        held, uploaded = self._held(request, messages)
        removal = (take_back(head, request.scope, back, now=seconds(now)),) if back else ()
        commit = Commit(
            before=target.before,
            after=head,
            begins=target.created,
            messages=held,
            finished=uploaded,
            key=idempotency_key,
            settings=_new_settings(target, head),
            jobs=target.jobs + armed.jobs + extraction + removal,
            marked=back,
            compaction=armed.compaction,
            visit_at=self._visit_at(begins_with, head),
        )
        self.sessions.commit(request.scope, commit)
        return AppendResult(
            messages=messages,
            head=head,
            created=target.created,
            overflow=armed.overflow,
            extraction=head.extract_job if extraction else None,
        )

    def _visit_at(self, before: Head, after: Head) -> int | None:
        """Return when the sweep must visit the session, if this append is the first since the last
        extraction. Later appends need not set this time, because the sweep postpones its own visit.
        """
        is_first = after.waits_for_extraction and not before.waits_for_extraction
        return after.next_visit if is_first and self.schedule is not None else None

    def _held(
        self, request: _Request, messages: tuple[Message, ...]
    ) -> tuple[tuple[Message, ...], Job | None]:
        """Return the messages in the form that their items store, and the job of the upload.
        Nothing is uploaded if one item could hold all messages.
        """
        if self.contents is None or request.batch.size <= MAX_MESSAGE_BYTES:
            return messages, None
        return self.contents.set_aside(request.scope, messages)

    def _grown(
        self, request: _Request, target: _Target, now: datetime
    ) -> tuple[tuple[Message, ...], _Target, tuple[Message, ...]]:
        """Number the messages. Returns the messages, the head and settings that include them, and
        the earlier messages that they put off the record. Raises `Unprocessable`.
        """
        head = target.head
        open_calls = open_calls_after(request.batch.drafts, head.open_calls)
        messages = numbered(
            request.batch.drafts,
            request.batch.weights(head.encoding),
            session=request.scope.session,
            seq=head.seq,
            turn=head.turn,
            before=head.last_id,
            encoding=head.encoding,
            now=stamp(now),
        )
        wishes = marked(messages, reach=head.off_record, base=head.base)
        messages = wishes.messages
        back = (
            turn_before(self.sessions, request.scope, target.before, by=wishes.takes_back)
            if wishes.takes_back is not None and not target.created and target.before is not None
            else ()
        )
        system = next(
            (message for message in reversed(messages) if message.role in SYSTEM_ROLES), None
        )
        head = with_messages(
            replace(
                touched(head, now=now),
                batch=request.batch.hash,
                batch_first=messages[0].seq,
                off_record=wishes.reach,
                # Readers that have read these messages must read them again.
                redactions=head.redactions + bool(back),
            ),
            messages,
            open_calls=open_calls,
            system_tokens=system.tokens if system else None,
        )
        settings = target.settings
        if settings is not None and system is not None:
            settings = replace(settings, system=system.chat, system_seq=system.seq)
        target = replace(target, head=head, settings=settings, speaks_system=system is not None)
        return messages, target, back

    def _room(
        self, scope: SessionScope, target: _Target, new: tuple[Message, ...], now: datetime
    ) -> Armed:
        """If the window exceeds its trigger, decide which messages leave it. This reads the whole
        window, but happens rarely.
        """
        if not target.head.overflows(seconds(now)):
            return Armed(target.head)
        settings = target.settings
        if settings is None:
            _, settings = live(self.sessions.open(scope, settings=True), now=now)
        stored = (
            ()
            if target.created or target.before is None
            else window(self.sessions, scope, target.before)
        )
        config = parsed(dict(settings.memory))
        return decide(
            target.head,
            config,
            (*stored, *new),
            scope=scope,
            now=seconds(now),
            created_at=stamp(now),
        )

    def _extraction(
        self, request: _Request, head: Head, now: datetime, *, before: Head
    ) -> tuple[Head, tuple[Job, ...]]:
        """Create the next extraction job if it is due. Once every few turns, this reads the last
        job. While an earlier extraction is running, no job is created here; the running one creates
        the next when it ends.
        """
        is_asked = request.extract == "now"
        if (
            self.schedule is None
            or request.extract == "never"
            or not (is_asked or completes_buffer(before, head))
        ):
            return head, ()
        return self.schedule.armed(head, request.scope, now=seconds(now), always=is_asked)


def _new_settings(target: _Target, head: Head) -> Settings | None:
    """Return the settings to store, if the append creates the session or sets its system
    message.
    """
    if target.settings is None or not (target.created or target.speaks_system):
        return None
    return replace(target.settings, due_at=head.next_visit)

"""The state of a session as plain data: head, settings, compaction, idempotency key, and the
commits that change them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from palimpsest.conversations.message import Chat, Message
from palimpsest.conversations.weight import REPLY_PRIMING
from palimpsest.idempotency import KeyedCall
from palimpsest.jobs.job import Job
from palimpsest.scope import SessionScope
from palimpsest.usage import Tally

LEAST_CACHED = 1_024
"""The fewest tokens for which providers cache the beginning of a prompt (OpenAI; Anthropic for most
models).
"""

Status = Literal["active", "ended", "deleted"]
CompactionState = Literal["none", "pending", "failed"]


@dataclass(frozen=True, slots=True)
class Head:
    """The small item (under 1 KB) that every append reads and writes. Times are in epoch seconds,
    except `updated_at`. Weights are in tokens.

    If a session with this id was deleted before, the new session continues its sequence numbers.
    `base` is the last number of the old session; everything at or below `base` belongs to the old
    one.
    """

    user: str
    agent: str | None = None
    version: int = 0
    status: Status = "active"
    base: int = 0
    seq: int = 0  # of the newest message
    last_id: str = ""  # running digest of the newest message
    turn: int = 0
    last_user_seq: int = 0
    open_calls: bytes = b""

    window_start: int = 1  # the first sequence number the window may hold
    cleared: int = (
        0  # the window was emptied through this sequence number; no message up to it returns
    )
    window_tokens: int = 0  # of the window's messages, without system message and summary
    window_messages: int = 0
    system_tokens: int = 0
    summary: int = 0  # the compaction whose summary comes before the window, 0 = none
    summary_tokens: int = 0
    # older messages that a pruning kept before the window: sequence number and tokens of each
    pins: tuple[tuple[int, int], ...] = ()

    encoding: str = "o200k_base"  # the encoding in which new messages are counted
    max_tokens: int = 0
    trigger: int = 0  # 0 = the window never overflows
    raised: int = 0  # added to the trigger while nothing can be evicted
    job: str | None = None  # id of the pending overflow job
    compaction: CompactionState = "none"
    attempts: int = 0  # failed overflows in a row
    not_before: int = 0  # epoch seconds before which no overflow may be started

    total_messages: int = 0
    total_tokens: int = 0
    batch: str = ""  # hash of the last append, to recognise its resend
    batch_first: int = 0
    updated_at: int = 0  # epoch milliseconds
    retention: int | None = None  # seconds from the last activity to `expires_at`, None = for ever
    expires_at: int | None = None
    withdrawn: tuple[tuple[int, int], ...] = ()  # ranges (first, last) that a job is deleting
    off_record: int = 0  # how far the newest turn is off the record (`conversations.off_record`)
    outside: int = 0  # the newest message whose history the caller keeps, 0 = none

    epoch: int = 0  # of the user, when the session began
    armed_seq: int = 0  # the last message that an extraction job covers
    extract_job: str | None = None  # id of the newest extraction job
    extract_turn: int = 0  # the turn at which it was created
    # changes of messages that were stored; a reader who finds another number must read again
    redactions: int = 0
    day: str = ""  # the day (UTC) of the newest message; the next three fields count only that day
    day_messages: int = 0
    day_tokens: int = 0
    day_bytes: int = 0
    extract_turns: int = 0  # a job is created after so many complete turns; 0 = only on request
    frozen_at: int = 0  # contexts begin with the knowledge of this time (epoch ms; 0 = of now)

    extract_idle: int = 0  # a job is created after so many seconds without a message; 0 = never

    @property
    def tokens(self) -> int:
        """The tokens of a context that has the whole window."""
        return (
            REPLY_PRIMING
            + self.system_tokens
            + self.summary_tokens
            + self.pin_tokens
            + self.window_tokens
        )

    @property
    def pin_tokens(self) -> int:
        return sum(tokens for _, tokens in self.pins)

    @property
    def is_cacheable(self) -> bool:
        """Whether a prompt cache may serve the beginning of the session's contexts. That is so if
        the window is long enough, or if messages have left it.
        """
        return self.tokens >= LEAST_CACHED or self.window_start > self.base + 1

    @property
    def is_full(self) -> bool:
        return 0 < self.trigger <= self.tokens

    def overflows(self, now: int) -> bool:
        """Return whether an overflow is due: the window exceeds its trigger, no overflow is
        pending, and no pause after a failure is left. `now` is in epoch seconds.
        """
        is_over = self.trigger > 0 and self.trigger + self.raised <= self.tokens
        return is_over and self.job is None and self.not_before <= now

    @property
    def updated_second(self) -> int:
        """The time of the last update in epoch seconds."""
        return self.updated_at // 1000

    @property
    def waits_for_extraction(self) -> bool:
        """Whether the session has messages that are to be extracted once it is idle."""
        has_new = self.seq > max(self.armed_seq, self.base)
        return self.extract_idle > 0 and self.status == "active" and has_new

    @property
    def idle_at(self) -> int | None:
        """When the waiting messages are extracted if no other message comes (epoch seconds); None
        if no message waits.
        """
        return self.updated_second + self.extract_idle if self.waits_for_extraction else None

    @property
    def next_visit(self) -> int | None:
        """When the sweep must visit the session: once it is idle, or has expired (epoch seconds).
        None = never.
        """
        times = [at for at in (self.idle_at, self.expires_at) if at is not None]
        return min(times, default=None)

    def is_withdrawn(self, seq: int) -> bool:
        """Return whether the message with this sequence number was withdrawn. Its data may still
        exist until a job has removed it.
        """
        return any(first <= seq <= last for first, last in self.withdrawn)

    def tally(self, scope: SessionScope) -> Tally | None:
        """Return the counts of messages on the day of the newest message; None if the session has
        no messages yet.
        """
        if not self.day:
            return None
        return Tally(
            tenant=scope.tenant,
            user=self.user,
            session=scope.session,
            base=self.base,
            day=self.day,
            messages=self.day_messages,
            message_tokens=self.day_tokens,
            bytes=self.day_bytes,
        )

    def is_next_of(self, read: Head) -> bool:
        """Return whether exactly one commit was made to the same session since the head `read` was
        read.
        """
        life = (read.user, read.epoch, read.base, read.version + 1)
        return life == (self.user, self.epoch, self.base, self.version)

    def is_gone(self, now: int) -> bool:
        """Return whether the session is deleted or expired, so that callers see no session. `now`
        is in epoch seconds.
        """
        return self.status == "deleted" or self.is_over(now)

    def is_over(self, now: int) -> bool:
        """Return whether the time for which the session is kept is over. `now` is in epoch
        seconds.
        """
        return self.expires_at is not None and self.expires_at <= now


@dataclass(frozen=True, slots=True)
class Settings:
    """A session's owner, its system message, and its memory configuration in the form that
    `configuration.stored` returns.

    `retention` is the session's own number of days after its last activity. 0 = for ever; None: the
    tenant's number applies. `due_at` is when the sweep next visits the session (epoch seconds),
    None = never.
    """

    user: str
    agent: str | None
    created_at: str
    base: int = 0
    system: Chat | None = None
    system_seq: int = 0
    memory: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    retention: int | None = None
    due_at: int | None = None


@dataclass(frozen=True, slots=True)
class LiveSession:
    """A session that exists for callers: neither deleted nor expired."""

    id: str
    head: Head
    settings: Settings


@dataclass(frozen=True, slots=True)
class Compaction:
    """A record that the messages `first` through `last` left the window. `last` is also its number.
    A compaction is never edited.

    `summary` covers these messages and everything that compaction `previous` covered. It is None if
    the messages were dropped without a summary, or if no summary may repeat any of them. The window
    then still begins with the summary of `previous`. `summary_tokens` is the weight of the summary
    with which the window begins. `method` is `model`, `extractive`, `trim`, `delete`, `flush`,
    `fifo`, `semantic` or `empty`. `newest` is the number of the newest message at the time when the
    compaction was decided.
    """

    first: int
    last: int
    method: str
    created_at: str
    tokens_before: int
    tokens_after: int
    summary: str | None = None
    summary_tokens: int = 0
    previous: int = 0
    newest: int = 0
    model: str | None = None
    prompt_hash: str | None = None

    @property
    def summary_number(self) -> int:
        """The number of the compaction whose summary the window begins with after this one; 0 =
        none.
        """
        return self.last if self.summary is not None else self.previous


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A record of one append. `request` is the hash of its body, and `first` through `last` are its
    messages. The record is ignored after `expires_at` (epoch seconds).
    """

    key: str
    request: str
    first: int
    last: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class Commit:
    """One transaction on a session, of which all is written or nothing.

    `before` is the head that was read (None if there was none), and `after` is the new head. With
    guard `version`, the commit is lost if anybody wrote the head in between. With guard `window`,
    it is lost only if `before.job` is no longer pending or the window begins elsewhere; counters
    then change by their difference, so that appends in between stay. `begins` marks a new session.
    With long-term memory, `after.epoch` must then be the user's present epoch.

    The commit is lost if an unexpired `key` of the same session is already stored. `redacted` and
    each of `marked` replace the stored message of their number; the commit is lost if that message
    does not exist. `compaction` may replace a stored one of the same number, which a withdrawal or
    a redaction has made void. Each of `jobs` is new; the commit is lost if its id exists.
    `finished` updates the job of its id; the commit is lost if that job has ended, or lacks a part
    that is `needed`. `call` is stored as by `KeyedCalls.put`. `visit_at` is when the sweep next
    visits the session (epoch seconds); None keeps the stored time.
    """

    before: Head | None
    after: Head
    guard: Literal["version", "window"] = "version"
    begins: bool = False
    settings: Settings | None = None
    messages: tuple[Message, ...] = ()
    redacted: Message | None = None
    marked: tuple[Message, ...] = ()
    compaction: Compaction | None = None
    key: IdempotencyKey | None = None
    jobs: tuple[Job, ...] = ()
    finished: Job | None = None
    call: KeyedCall | None = None
    visit_at: int | None = None

"""A session's state as plain data: head, settings, compaction, idempotency key, and the commits that change them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from palimpsest.conversations.messages import REPLY_PRIMING, Chat, Message
from palimpsest.jobs.job import Job

Status = Literal["active", "ended", "deleted"]
CompactionState = Literal["none", "pending", "failed"]


@dataclass(frozen=True, slots=True)
class Head:
    """What every append reads and writes: under 1 KB. Times are epoch seconds (but `updated_at`), weights are tokens.

    A session made again after its deletion goes on from the tombstone: `base` is its last sequence number before
    that, and everything at or below `base` belongs to the earlier one.
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
    window_tokens: int = 0  # of the window's messages, without system message and summary
    window_messages: int = 0
    system_tokens: int = 0
    summary: int = 0  # the compaction whose summary stands before the window, 0 = none
    summary_tokens: int = 0

    encoding: str = "o200k_base"  # what new messages are counted with
    max_tokens: int = 0
    trigger: int = 0  # 0 = the window never overflows
    raised: int = 0  # added to the trigger while nothing can be evicted
    job: str | None = None  # the overflow that is pending
    compaction: CompactionState = "none"
    attempts: int = 0  # failed overflows in a row
    not_before: int = 0  # when the next overflow may be armed

    total_messages: int = 0
    total_tokens: int = 0
    batch: str = ""  # hash of the last append, to recognise its resend
    batch_first: int = 0
    updated_at: int = 0  # epoch milliseconds
    retention: int | None = None  # seconds from the last activity to `expires_at`, None = for ever
    expires_at: int | None = None
    withdrawn: tuple[tuple[int, int], ...] = ()  # ranges (first, last) whose deletion is under way

    epoch: int = 0  # of the user, when the session began
    armed_seq: int = 0  # through which message extraction has been asked for
    extract_job: str | None = None  # the job that was armed last for that
    extract_turn: int = 0  # the turn at which it was armed
    extract_turns: int = 0  # after so many whole turns the next is armed; 0 = only when asked for

    @property
    def tokens(self) -> int:
        """The weight of a context that holds the whole window."""
        return REPLY_PRIMING + self.system_tokens + self.summary_tokens + self.window_tokens

    @property
    def is_full(self) -> bool:
        return 0 < self.trigger <= self.tokens

    @property
    def updated_second(self) -> int:
        """The last update in epoch seconds."""
        return self.updated_at // 1000

    def is_withdrawn(self, seq: int) -> bool:
        """Whether the message with this sequence number was deleted; a job may still have to remove it."""
        return any(first <= seq <= last for first, last in self.withdrawn)

    def is_gone(self, now: int) -> bool:
        """Deleted or expired: answers as if it had never been."""
        return self.status == "deleted" or (self.expires_at is not None and self.expires_at <= now)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a session was told: who it belongs to, its system message, its memory configuration (`strategy.stored`).

    `due_at` is when the sweep next looks at it (epoch seconds), None = never.
    """

    user: str
    agent: str | None
    created_at: str
    base: int = 0
    system: Chat | None = None
    system_seq: int = 0
    memory: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    due_at: int | None = None


@dataclass(frozen=True, slots=True)
class Compaction:
    """What left the window, immutable. It reaches from `first` through `last`, and `last` names it.

    `summary` stands for these messages and for everything that compaction `previous` stood for; it is None where the
    strategy drops without a summary: then the summary of `previous` still stands before the window. `summary_tokens`
    weighs the summary that stands. `method` is `model`, `extractive`, `trim`, `delete`, `flush`, `fifo` or `empty`.
    `newest` is the newest message when this was decided: after it the window stood so.
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
        """The compaction whose summary stands before the window after this one; 0 = none."""
        return self.last if self.summary is not None else self.previous


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """The memory of one append: `request` is the hash of its body. Past `expires_at` (epoch seconds) it counts as
    absent.
    """

    key: str
    request: str
    first: int
    last: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class Commit:
    """One transaction: all of it or nothing.

    `before` is the head as it was read (None: there was none), `after` as it shall be. Guard `version` holds if nobody
    else wrote the head since; guard `window` holds if `before.job` is still pending and the window still starts where
    it did: counters then change by their difference, so that appends may come between.
    `compaction` takes the place of one of its number: that one stands no more, a withdrawal opened what it had folded.
    If `begins`, the session does: where there is long-term memory, `after.epoch` must then be its user's still.
    `key` also guards: the commit is lost if the key is there, has not expired and belongs to this life of the session.
    Each of `jobs` is put (and the commit lost if its id exists); `finished` moves on the job of that id, which must not
    have ended, nor lack a part that is `needed`.
    """

    before: Head | None
    after: Head
    guard: Literal["version", "window"] = "version"
    begins: bool = False
    settings: Settings | None = None
    messages: tuple[Message, ...] = ()
    compaction: Compaction | None = None
    key: IdempotencyKey | None = None
    jobs: tuple[Job, ...] = ()
    finished: Job | None = None

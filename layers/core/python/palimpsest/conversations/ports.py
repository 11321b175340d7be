"""The stores of conversations. One store holds a session's head, settings, messages, compactions,
keys and jobs; another one holds large contents outside the tables, by key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from palimpsest.conversations.message import Message
from palimpsest.conversations.session import Commit, Compaction, Head, IdempotencyKey, Settings
from palimpsest.errors import CommitLost
from palimpsest.jobs.job import Job
from palimpsest.models.usage import Usage
from palimpsest.scope import Scope, SessionScope, UserScope


@dataclass(frozen=True, slots=True)
class Opened:
    """The result of one read of a session. `epoch` is how often the user named in the call was
    erased.
    """

    head: Head | None
    settings: Settings | None = None
    key: IdempotencyKey | None = None
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of session ids; `after` is the cursor of the next page (None: this is the last
    one).
    """

    sessions: tuple[str, ...]
    after: str | None


class HeadMoved(CommitLost):
    """The head has changed since it was read. `head` is the newest one, so that the caller need not
    read it again.
    """

    def __init__(self, head: Head) -> None:
        super().__init__("Another writer was first.")
        self.head = head


class Sessions(Protocol):
    """The store of sessions.

    Every read is strongly consistent, except `listed`. Every call raises `Unavailable` if the store
    can't answer after bounded retries; a store error is never reported as an empty answer. Deleted
    sessions are returned as tombstones.
    """

    def open(
        self,
        scope: SessionScope,
        *,
        settings: bool = False,
        key: str | None = None,
        user: str | None = None,
    ) -> Opened:
        """Read the head, and, if requested, the settings, the idempotency `key` and the epoch of
        `user`.

        It is one round trip, but not one snapshot.
        """

    def epoch(self, scope: UserScope) -> int:
        """How often the user was erased; 0 if there is no long-term memory."""

    def commit(self, scope: SessionScope, commit: Commit) -> None:
        """Write all of it, once, or nothing. Raises `CommitLost` if a guard fails or another
        transaction is under way; `HeadMoved` if the head has changed and the store knows the newest
        one.

        After `Unavailable` the commit may or may not have been written; a repeated append with the
        same key finds out.
        """

    def messages(
        self,
        scope: SessionScope,
        *,
        first: int,
        last: int,
        newest_first: bool = False,
        page: int | None = None,
    ) -> Iterator[Message]:
        """Messages with first <= seq <= last, in order of seq. They are read page by page (at most
        `page` at a time) while the caller iterates. Numbers of withdrawn messages are missing.
        """

    def messages_at(self, scope: SessionScope, seqs: Sequence[int]) -> tuple[Message, ...]:
        """The messages with these sequence numbers (at most 100) that exist, in order of seq."""

    def compaction(self, scope: SessionScope, last: int) -> Compaction | None:
        """The compaction whose last message is `last`; None if there is none."""

    def compactions(
        self,
        scope: SessionScope,
        *,
        first: int,
        last: int,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> tuple[Compaction, ...]:
        """Compactions with first <= their `last` <= last."""

    def listed(
        self,
        scope: Scope,
        *,
        user: str | None,
        since: str | None = None,
        until: str | None = None,
        limit: int,
        after: str | None = None,
        newest_first: bool = True,
    ) -> Listed:
        """Session ids of a tenant or of one user, by creation: those that began from `since` to
        `until` (times as `clock.stamp` writes them). Eventually consistent.

        Raises `BadRequest` (`invalid_cursor`) for an `after` that it did not hand out or that
        belongs to another tenant or user.
        """

    def count(self, scope: Scope, *, most: int) -> int:
        """How many sessions `listed` would list for the tenant, but at most `most`. Eventually
        consistent.
        """

    def remove(self, scope: SessionScope, *, first: int, last: int, whole: bool) -> int:
        """Delete messages and compactions with first <= seq <= last, page by page; return how many
        were deleted. Safe to repeat.

        With `whole`, idempotency keys and settings are deleted too, if the session that they belong
        to ended at or before `last`. The head stays.
        """

    def reschedule(self, scope: SessionScope, settings: Settings, *, due_at: int | None) -> None:
        """Set when the sweep next visits the session with these settings (epoch seconds, None:
        never). Also write the session's list entries again, because an earlier release may have
        written fewer of them. Does nothing if the settings are gone or have another base.
        """


PartState = Literal["stored", "pending", "failed"]


Store = Callable[[Job], PartState]
"""Says whether a block has stored messages `first` through `last` of the job's session. Raises
`Unavailable`.
"""


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary. `method` is `model` or `extractive`; `prompt_hash` identifies the prompt that was
    used.
    """

    text: str
    method: str
    model: str | None = None
    prompt_hash: str | None = None
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """A request for a summary of at most `max_tokens` tokens. It may name a prompt and a model."""

    max_tokens: int
    prompt: str | None = None
    model: str | None = None


class Summarizer(Protocol):
    def capacity(self, wanted: SummaryRequest) -> int:
        """How many tokens of conversation (old summary and messages together) one step can read."""

    def summarize(
        self, messages: Sequence[Message], wanted: SummaryRequest, *, previous: str | None
    ) -> Summary:
        """Write one summary of `previous` and the messages together.

        A message too large for the step is cut in the middle. At most two model calls: the second
        repairs the first. Raises what `ChatModel` raises.
        """


class Blobs(Protocol):
    """A store of bytes by key. Each key is written once: its bytes never change until they are
    removed.

    Every read is strongly consistent. Every call raises `Unavailable` if the store can't answer
    after bounded retries.
    """

    def put(self, key: str, data: bytes) -> None:
        """Store the bytes, whole or not at all. Safe to repeat."""

    def get(self, key: str) -> bytes | None:
        """The bytes; None if there are none under this key."""

    def keys(self, prefix: str, *, first: str = "") -> Iterator[str]:
        """The keys that begin with `prefix`, in order, from `prefix + first` on (itself not)."""

    def remove(self, keys: Sequence[str]) -> None:
        """Remove the bytes under these keys. Safe to repeat: missing keys are skipped."""

    def link(self, key: str, *, seconds: int) -> str:
        """An address under which anybody can read the bytes for so many seconds, and nothing
        else.
        """


Compare = Callable[[Sequence[Message]], Mapping[int, float] | None]
"""The similarity (-1..1) of messages to a text, by sequence number. Messages without a vector are
missing. None if no message can be compared.
"""


class Near(Protocol):
    """Compares messages of a user's session with a text by meaning."""

    def __call__(
        self, scope: UserScope, session: SessionScope, text: str, *, stored: int
    ) -> Compare | None:
        """A function that compares messages with the text, which is embedded once; None if it can't
        be embedded. `stored` is the most messages that the session can have.
        """

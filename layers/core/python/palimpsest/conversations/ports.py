"""The ports of the stores of conversations, of the summariser, and of the comparison of messages.
One store holds sessions with their messages and jobs; another holds large contents by key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from palimpsest.conversations.drafts import Draft
from palimpsest.conversations.message import Message
from palimpsest.conversations.session import Commit, Compaction, Head, IdempotencyKey, Settings
from palimpsest.errors import CommitLost
from palimpsest.jobs.job import Job
from palimpsest.models.usage import Usage
from palimpsest.scope import Scope, SessionScope, UserScope


@dataclass(frozen=True, slots=True)
class Opened:
    """The result of one read of a session. `epoch` is the number of times that the user named in
    the call was erased. `user_version` is the version of that user's memory, or None if the store
    did not read it.
    """

    head: Head | None
    settings: Settings | None = None
    key: IdempotencyKey | None = None
    epoch: int = 0
    user_version: int | None = None


@dataclass(frozen=True, slots=True)
class PartOfSession:
    """The head of a session, or None if there is none, and some of its messages by their sequence
    numbers.
    """

    head: Head | None = None
    messages: Mapping[int, Message] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PartsOfSessions:
    """Parts of sessions by session. `epoch` is the number of times that their user was erased."""

    sessions: Mapping[str, PartOfSession] = field(default_factory=dict)
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of session ids. `after` is the cursor of the next page (None for the last page)."""

    sessions: tuple[str, ...]
    after: str | None


class HeadMoved(CommitLost):
    """The head has changed since it was read. `head` is the newest head, so that the caller need
    not read it again.
    """

    def __init__(self, head: Head) -> None:
        super().__init__("Another writer changed this first; nothing was written.")
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
        """Read the head and, if requested, the settings, the idempotency `key` and the epoch of
        `user`. It takes one round trip but is not one snapshot.
        """

    def epoch(self, scope: UserScope) -> int:
        """Return the number of times that the user was erased; 0 if there is no long-term
        memory.
        """

    def commit(self, scope: SessionScope, commit: Commit) -> None:
        """Write the whole commit once, or nothing. Raises `CommitLost` if a guard fails or another
        transaction is in progress. Raises `HeadMoved` if the head has changed and the store knows
        the newest one.

        After `Unavailable`, the commit may or may not have been written. Repeating an append with
        the same key finds out.
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
        """Yield the messages with first <= seq <= last, in order of seq. They are read page by page
        (at most `page` at a time) while the caller iterates. Withdrawn messages may be missing.
        """

    def messages_at(self, scope: SessionScope, seqs: Sequence[int]) -> tuple[Message, ...]:
        """Return the messages with these sequence numbers (at most 100) that exist, in order of
        seq.
        """

    def parts(self, scope: UserScope, seqs: Mapping[str, Collection[int]]) -> PartsOfSessions:
        """Return the head and the messages with these sequence numbers of each of these sessions of
        the user's tenant, and the user's epoch. Messages that do not exist are left out. It takes
        one round trip for 100 items, but is not one snapshot.
        """

    def compaction(self, scope: SessionScope, last: int) -> Compaction | None:
        """Return the compaction whose last message is `last`; None if there is none."""

    def compactions(
        self,
        scope: SessionScope,
        *,
        first: int,
        last: int,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> tuple[Compaction, ...]:
        """Return the compactions whose last message is between `first` and `last`, both
        included.
        """

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
        """Return a page of the ids of a tenant's or one user's sessions, ordered by creation. They
        began from `since` to `until` (times as `clock.stamp` writes them). Eventually consistent.
        Raises `BadRequest` (`invalid_cursor`) for an `after` that this method did not return, or
        returned for another tenant or user.
        """

    def count(self, scope: Scope, *, most: int) -> int:
        """Return how many sessions `listed` would list for the tenant, at most `most`. Eventually
        consistent.
        """

    def remove(self, scope: SessionScope, *, first: int, last: int, whole: bool) -> int:
        """Delete messages and compactions with first <= seq <= last, page by page, and return how
        many were deleted. Safe to repeat.

        Several sessions may have used this id, one after another. With `whole`, also delete the
        idempotency keys and settings of those sessions that ended at or before `last`. The head
        stays.
        """

    def reschedule(self, scope: SessionScope, settings: Settings, *, due_at: int | None) -> None:
        """Set when the sweep next visits the session with these settings (epoch seconds, None:
        never). Also write the session's list entries again, because an earlier release may have
        written fewer of them. Does nothing if the settings are gone, belong to another session with
        the same id, or have another `due_at` by now.
        """


PartState = Literal["stored", "pending", "failed"]


Store = Callable[[Job], PartState]
"""Returns whether a block has stored the messages `first` through `last` of the job's session.
Raises `Unavailable`.
"""


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary. `method` is `model` or `extractive`. `prompt_hash` identifies the prompt that was
    used.
    """

    text: str
    method: str
    model: str | None = None
    prompt_hash: str | None = None
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """A request for a summary of at most `max_tokens` tokens. It may name a prompt and a model.
    `user` is the name with which the user signs letters.
    """

    max_tokens: int
    prompt: str | None = None
    model: str | None = None
    user: str | None = None


class Summarizer(Protocol):
    def capacity(self, wanted: SummaryRequest) -> int:
        """Return how many tokens of old summary and messages together one step can read."""

    def summarize(
        self, messages: Sequence[Message], wanted: SummaryRequest, *, previous: str | None
    ) -> Summary:
        """Write one summary of `previous` and the messages together. A message that is too large
        for the step is cut in the middle. At most two model calls are made; the second repairs the
        answer of the first. Raises the errors of `ChatModel`.
        """


class Blobs(Protocol):
    """A store of bytes by key. Each key is written once; its bytes do not change until they are
    removed.

    Every read is strongly consistent. Every call raises `Unavailable` if the store can't answer
    after bounded retries.
    """

    def put(self, key: str, data: bytes) -> None:
        """Store all of the bytes or nothing. Safe to repeat."""

    def get(self, key: str) -> bytes | None:
        """Return the bytes; None if there are none under this key."""

    def keys(self, prefix: str, *, first: str = "") -> Iterator[str]:
        """Yield the keys that begin with `prefix`, in order. `first` skips all keys up to and
        including `prefix + first`.
        """

    def remove(self, keys: Sequence[str]) -> None:
        """Remove the bytes under these keys. Safe to repeat: missing keys are skipped."""

    def link(self, key: str, *, seconds: int) -> str:
        """Return an address at which anybody can read these bytes, and nothing else, for `seconds`
        seconds.
        """


Compare = Callable[[Sequence[Message]], Mapping[int, float] | None]
"""Returns the similarity (-1..1) of messages to a text, by sequence number. Messages without a
vector are missing. None if no message can be compared.
"""


class Near(Protocol):
    """Compares messages of a user's session with a text by meaning."""

    def __call__(
        self, scope: UserScope, session: SessionScope, text: str, *, stored: int
    ) -> Compare | None:
        """Return a function that compares messages with the text, which is embedded only once. None
        if the text can't be embedded. `stored` is the most messages that the session can have.
        """


class HidesOld(Protocol):
    def __call__(
        self, scope: UserScope, drafts: Sequence[Draft], *, is_transcript: bool
    ) -> Sequence[Draft]:
        """Return the messages with marks on the words that deleted memories came from. Only old
        messages are marked. A message is old if its timestamp says so, or if it is part of a
        transcript without timestamps that repeats the deleted words. Raises `Unavailable`.
        """

"""The conversation store: heads, settings, messages, compactions and keys of one session, and the jobs beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from palimpsest.conversations.messages import Message
from palimpsest.conversations.session import Commit, Compaction, Head, IdempotencyKey, Settings
from palimpsest.errors import CommitLost
from palimpsest.jobs.job import Job
from palimpsest.models.ports import Usage
from palimpsest.scope import Scope, SessionScope, UserScope


@dataclass(frozen=True, slots=True)
class Opened:
    """What one read of a session gave. `epoch` is that of the user who was named: how often they were erased."""

    head: Head | None
    settings: Settings | None = None
    key: IdempotencyKey | None = None
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of session ids; `after` is where the next page goes on, None at the end."""

    sessions: tuple[str, ...]
    after: str | None


class HeadMoved(CommitLost):
    """The head is no longer what the commit was decided on: `head` is the newest. To decide on that needs no read."""

    def __init__(self, head: Head) -> None:
        super().__init__("Another writer was first.")
        self.head = head


class Sessions(Protocol):
    """Every read is strongly consistent, except `listed`. Every call raises `Unavailable` if the store can't answer
    after bounded retries; a store error is never an empty answer. Tombstones are returned as they are: the caller
    decides.
    """

    def open(
        self, scope: SessionScope, *, settings: bool = False, key: str | None = None, user: str | None = None
    ) -> Opened:
        """The head, and what else is asked for, in one round trip (not one snapshot). A `user` asks for their epoch."""

    def epoch(self, scope: UserScope) -> int:
        """How often the user was erased; 0 where there is no long-term memory."""

    def commit(self, scope: SessionScope, commit: Commit) -> None:
        """Write all of it, once, or nothing. Raises `CommitLost` if a guard fails or another transaction is under way;
        `HeadMoved` if it is the head's guard and the store can tell what the head is now.

        `Unavailable` leaves open whether it was written; the same append with its key then tells.
        """

    def messages(
        self, scope: SessionScope, *, first: int, last: int, newest_first: bool = False, page: int | None = None
    ) -> Iterator[Message]:
        """Messages with first <= seq <= last in order of seq, read page by page (at most `page` at a time) as the
        caller goes on: a caller that stops early reads no further. Gaps are where messages were withdrawn.
        """

    def messages_at(self, scope: SessionScope, seqs: Sequence[int]) -> tuple[Message, ...]:
        """The messages with these sequence numbers (at most 100) that exist, in order of seq."""

    def compaction(self, scope: SessionScope, last: int) -> Compaction | None:
        """The compaction that reaches through `last`."""

    def compactions(
        self, scope: SessionScope, *, first: int, last: int, newest_first: bool = False, limit: int | None = None
    ) -> tuple[Compaction, ...]:
        """Compactions with first <= their `last` <= last."""

    def listed(
        self, scope: Scope, *, user: str | None, limit: int, after: str | None = None, newest_first: bool = True
    ) -> Listed:
        """Session ids of a tenant (of one user: by creation; of all: by user, then creation). Eventually consistent.

        Raises `BadRequest` (`invalid_cursor`) for an `after` that it did not hand out or that belongs to another
        tenant or user.
        """

    def remove(self, scope: SessionScope, *, first: int, last: int, whole: bool) -> int:
        """Delete messages and compactions with first <= seq <= last, page by page; safe to repeat; returns how many
        went.

        With `whole` also keys and settings of a life of the session that ended at or before `last`; the head stays.
        """

    def reschedule(self, scope: SessionScope, *, base: int, due_at: int | None) -> None:
        """Set when the sweep next looks at the settings of that life of the session; does nothing if they are gone."""


PartState = Literal["stored", "pending", "failed"]


Store = Callable[[Job], PartState]
"""Tells of the messages `first` through `last` of a job's session. Raises `Unavailable`."""


@dataclass(frozen=True, slots=True)
class Summary:
    """`method` is `model` or `extractive`; `prompt_hash` names the prompt that made it."""

    text: str
    method: str
    model: str | None = None
    prompt_hash: str | None = None
    usage: Usage = field(default_factory=Usage)


class Summarizer(Protocol):
    def capacity(self, *, model: str | None, prompt: str | None, max_tokens: int) -> int:
        """Tokens of conversation (old summary and messages together) that one step can read when it may write
        `max_tokens`.
        """

    def summarize(
        self,
        *,
        previous: str | None,
        messages: Sequence[Message],
        max_tokens: int,
        prompt: str | None,
        model: str | None,
    ) -> Summary:
        """One summary, of at most `max_tokens` tokens, that stands for `previous` and for the messages.

        A message too large for the step is cut in the middle. At most one model call and one repair; errors as for
        `ChatModel`.
        """

"""The use cases that read a session's messages and compactions, empty its window, and withdraw its
newest messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice

from palimpsest.clock import Clock, seconds, stamp
from palimpsest.conversations.contents import Contents
from palimpsest.conversations.lifecycle import emptied, job_on, touched, withdrawn
from palimpsest.conversations.message import Message
from palimpsest.conversations.overflow.reopen import beginning_before
from palimpsest.conversations.payloads import RemovalPayload
from palimpsest.conversations.ports import HeadMoved, Opened, Sessions
from palimpsest.conversations.session import Commit, Compaction, Head, Settings
from palimpsest.errors import CommitLost, Conflict, FieldError, NotFound
from palimpsest.retry import until_committed
from palimpsest.scope import SessionScope, UserScope

LINK_SECONDS = 900
MOST_LARGE = 5_000_000  # bytes of large contents on one page; one message may have more
MOVED_ON = "history_moved_on"
MOST_OVERTAKINGS = (
    50  # how often a withdrawal commits again without new reads if appends came first
)


def live(opened: Opened, *, now: datetime) -> tuple[Head, Settings]:
    """Return the session's head and settings. Raises `NotFound` if the session is unknown, deleted
    or expired.
    """
    head, settings = opened.head, opened.settings
    if head is None or settings is None or head.is_gone(seconds(now)) or settings.base != head.base:
        raise no_session()
    return head, settings


def no_session() -> NotFound:
    return NotFound("There is no such session.", code="session_not_found")


def no_message(field: str) -> NotFound:
    error = FieldError(field, "no message of this session has this sequence number")
    return NotFound("There is no such message.", code="message_not_found", errors=(error,))


def moved_on(*errors: FieldError) -> Conflict:
    return Conflict("Other messages were stored first.", code=MOVED_ON, errors=errors)


def check_last(sessions: Sessions, scope: SessionScope, head: Head | None, if_last: int) -> None:
    """Raise `Conflict` (`history_moved_on`) unless the session's newest message has the sequence
    number `if_last`. 0 means that the session has no message. `head` is None for a session that
    does not exist yet.
    """
    newest = 0
    if head is not None and head.last_id:
        last = head.seq
        # The read begins before the withdrawn messages, because these may be many.
        for first, until in sorted(head.withdrawn, reverse=True):
            last = first - 1 if first <= last <= until else last
        messages = sessions.messages(
            scope, first=head.base + 1, last=last, newest_first=True, page=1
        )
        newest = next(
            (message.seq for message in messages if not head.is_withdrawn(message.seq)), 0
        )
    if newest != if_last:
        raise moved_on(FieldError("if_last", f"the newest message is {newest}"))


def window(sessions: Sessions, scope: SessionScope, head: Head) -> tuple[Message, ...]:
    """Return all messages of the window, oldest first."""
    messages = sessions.messages(scope, first=head.window_start, last=head.seq)
    return tuple(message for message in messages if not head.is_withdrawn(message.seq))


def _fitting(page: Sequence[Message]) -> int:
    """Return how many messages fit on one page. Their large contents have at most `MOST_LARGE`
    bytes together. One message is always allowed.
    """
    size = 0
    for number, message in enumerate(page):
        size += message.large.bytes if message.large else 0
        if number and size > MOST_LARGE:
            return number
    return len(page)


def _place(head: Head) -> tuple[object, ...]:
    """Return the part of the head that a withdrawal relies on. Appends do not change it."""
    place = (head.base, head.window_start, head.summary, head.withdrawn, head.redactions)
    return (head.status, head.user, head.epoch, *place)


@dataclass(frozen=True, slots=True)
class History:
    """The history of sessions. It returns whole messages, including contents that are stored
    outside the table.
    """

    sessions: Sessions
    clock: Clock
    contents: Contents | None = None

    def messages(
        self,
        scope: SessionScope,
        *,
        limit: int,
        after: int | None = None,
        newest_first: bool = False,
    ) -> tuple[tuple[Message, ...], int | None]:
        """Return a page of the whole history, and the sequence number after which the next page
        begins (None for the last page). Raises `NotFound`, `Unavailable`.
        """
        head = self._head(scope)
        first, last = (head.base + 1, head.seq)
        if after is not None:
            first, last = (
                (first, min(last, after - 1)) if newest_first else (max(first, after + 1), last)
            )
        return self._page(
            scope, head, first=first, last=last, limit=limit, newest_first=newest_first
        )

    def user(self, scope: SessionScope) -> UserScope:
        """Return the user of the session. Raises `NotFound`, `Unavailable`."""
        return scope.owner.user(self._head(scope).user)

    def message(self, scope: SessionScope, seq: int) -> Message:
        """Return the message with this sequence number. Raises `NotFound` (`session_not_found`,
        `message_not_found`).
        """
        head = self._head(scope)
        messages = (
            ()
            if head.is_withdrawn(seq) or seq <= head.base
            else self.sessions.messages_at(scope, [seq])
        )
        if not messages:
            raise no_message("seq")
        return self._whole(messages)[0]

    def address(self, message: Message) -> str:
        """Return a temporary address at which anybody can read the whole content of a large
        message, as JSON. Raises `Unavailable`.
        """
        if self.contents is None or message.large is None:
            raise no_message("seq")
        return self.contents.blobs.link(message.large.key, seconds=LINK_SECONDS)

    def _whole(self, page: tuple[Message, ...]) -> tuple[Message, ...]:
        return page if self.contents is None else self.contents.all_whole(page)

    def _page(
        self,
        scope: SessionScope,
        head: Head,
        *,
        first: int,
        last: int,
        limit: int,
        newest_first: bool,
    ) -> tuple[tuple[Message, ...], int | None]:
        shown = self._shown(
            scope, head, first=first, last=last, newest_first=newest_first, page=limit + 1
        )
        page = tuple(islice(shown, limit + 1))
        limit = _fitting(page[:limit])
        return self._whole(page[:limit]), page[limit - 1].seq if len(page) > limit else None

    def _shown(
        self,
        scope: SessionScope,
        head: Head,
        *,
        first: int,
        last: int,
        newest_first: bool = False,
        page: int | None = None,
    ) -> Iterator[Message]:
        if first > last:
            return iter(())
        messages = self.sessions.messages(
            scope, first=first, last=last, newest_first=newest_first, page=page
        )
        return (message for message in messages if not head.is_withdrawn(message.seq))

    def compactions(
        self,
        scope: SessionScope,
        *,
        limit: int,
        after: int | None = None,
        newest_first: bool = False,
    ) -> tuple[tuple[Compaction, ...], int | None]:
        """Return a page of compactions, and the number after which the next page begins (None for
        the last page).
        """
        head = self._head(scope)
        first, last = (head.base + 1, head.seq)
        if after is not None:
            first, last = (first, after - 1) if newest_first else (after + 1, last)
        compactions = self.sessions.compactions(
            scope, first=first, last=last, newest_first=newest_first, limit=limit + 1
        )
        page = tuple(
            compaction for compaction in compactions if not head.is_withdrawn(compaction.last)
        )
        return page[:limit], compactions[limit - 1].last if len(compactions) > limit else None

    def unfold(
        self, scope: SessionScope, n: int, *, limit: int, after: int | None = None
    ) -> tuple[tuple[Message, ...], int | None]:
        """Return a page of the original messages that compaction `n` removed from the window, and
        the sequence number after which the next page begins (None for the last page). Raises
        `NotFound` (`session_not_found`, `compaction_not_found`).
        """
        head = self._head(scope)
        compaction = (
            self.sessions.compaction(scope, n)
            if n > head.base and not head.is_withdrawn(n)
            else None
        )
        if compaction is None:
            raise NotFound("There is no such compaction.", code="compaction_not_found")
        first = compaction.first if after is None else max(compaction.first, after + 1)
        return self._page(
            scope, head, first=first, last=compaction.last, limit=limit, newest_first=False
        )

    def _head(self, scope: SessionScope) -> Head:
        head, _ = live(self.sessions.open(scope, settings=True), now=self.clock.now())
        return head

    def empty(self, scope: SessionScope) -> Head:
        """Remove all messages and the summary from the window, and return the new head. The history
        keeps the messages.
        """

        def attempt() -> Head:
            now = self.clock.now()
            before, _ = live(self.sessions.open(scope, settings=True), now=now)
            after = touched(emptied(before), now=now)
            compaction = None
            if before.window_start <= before.seq:
                compaction = Compaction(
                    first=before.window_start,
                    last=before.seq,
                    method="empty",
                    created_at=stamp(now),
                    tokens_before=before.tokens,
                    tokens_after=after.tokens,
                    newest=before.seq,
                )
            self.sessions.commit(scope, Commit(before=before, after=after, compaction=compaction))
            return after

        return until_committed(attempt, clock=self.clock)

    def withdraw(
        self, scope: SessionScope, *, first: int, if_last: int | None = None
    ) -> tuple[Head, str | None]:
        """Withdraw all messages from sequence number `first` on. Returns the new head and the id of
        the job that deletes the messages (None if the session has no messages).

        A summary that covers a withdrawn message is dropped too. The older messages that this
        summary covers return to the window, except messages from before the window was last
        emptied. With `if_last`, nothing happens unless the newest message has that number. Raises
        `NotFound` (`message_not_found`), `Conflict` (`history_moved_on`).
        """
        return until_committed(lambda: self._withdraw(scope, first, if_last), clock=self.clock)

    def _withdraw(
        self, scope: SessionScope, first: int, if_last: int | None
    ) -> tuple[Head, str | None]:
        before, _ = live(self.sessions.open(scope, settings=True), now=self.clock.now())
        if if_last is not None:
            check_last(self.sessions, scope, before, if_last)
        if not before.last_id:
            return before, None
        if not before.base < first <= before.seq or before.is_withdrawn(first):
            raise no_message("from")
        # The newest turn is always in the window, so no summary may cover it.
        current = self._current(scope, before, last=first - 1)
        summary, start = beginning_before(self.sessions, scope, before, seq=current)
        rest = tuple(self._shown(scope, before, first=start, last=first - 1))
        left = self._shown(
            scope, before, first=before.base + 1, last=first - 1, newest_first=True, page=1
        )
        withdrawing = partial(
            withdrawn,
            first=first,
            rest=rest,
            summary=summary,
            newest=rest[-1] if rest else next(left, None),
        )
        for _ in range(MOST_OVERTAKINGS):
            try:
                return self._withdraw_from(scope, before, withdrawing, first=first)
            except HeadMoved as moved:
                if if_last is not None or _place(moved.head) != _place(before):
                    raise
                # appends came first; the messages that were read are still valid
                before = moved.head
        raise CommitLost("Another writer changed the session meanwhile.")

    def _withdraw_from(
        self, scope: SessionScope, before: Head, withdrawing: Callable[[Head], Head], *, first: int
    ) -> tuple[Head, str]:
        now = self.clock.now()
        after = touched(withdrawing(before), now=now)
        job = job_on(
            after,
            scope,
            kind="withdraw",
            first=first,
            last=before.seq,
            payload=RemovalPayload(),
            now=seconds(now),
        )
        self.sessions.commit(scope, Commit(before=before, after=after, jobs=(job,)))
        return after, job.id

    def _current(self, scope: SessionScope, head: Head, *, last: int) -> int:
        """Return the sequence number of the newest user message up to `last`. If there is no user
        message, return the number of the newest message; 0 if there is no message.
        """
        newest = 0
        for message in self._shown(
            scope, head, first=head.base + 1, last=last, newest_first=True, page=20
        ):
            newest = newest or message.seq
            if message.role == "user":
                return message.seq
        return newest

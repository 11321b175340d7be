"""Ingests messages of a history that the caller keeps. It extracts memories from new messages, and
stores digests of the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from palimpsest.clock import seconds, stamp
from palimpsest.conversations.append import Append
from palimpsest.conversations.contents import Contents
from palimpsest.conversations.drafts import Draft, first_batch, message_sizes, numbered
from palimpsest.conversations.lifecycle import Beginning, check_owner, touched, with_messages
from palimpsest.conversations.message import Message, digest
from palimpsest.conversations.session import Commit, Head
from palimpsest.conversations.weight import weigh
from palimpsest.errors import FieldError, Unprocessable
from palimpsest.extraction.ingest import Ingested, check_length
from palimpsest.extraction.schedule import RequestExtraction
from palimpsest.retry import until_committed
from palimpsest.scope import SessionScope, UserScope

MOST_KNOWN = 5_000
"""How many of a session's newest messages are recognised by their digest. An older message counts
as new if it is sent again.
"""
FIRST_PAGE = 50
SaidOutside = str | Mapping[str, Any]
"""A chat message in OpenAI's form, with or without an `id`, or the user's text."""


Load = Callable[[str], Sequence[SaidOutside]]
"""A history as a function that returns every message of a session, oldest first; none for an
unknown session.
"""


@runtime_checkable
class ChatHistoryProvider(Protocol):
    """The caller's own store of messages, which are read by the id of their session. `load` reads a
    whole session. If the history also implements `RecentHistory` or `CountedHistory`, only its
    newest messages are read, which is faster.
    """

    def load(self, session_id: str) -> Sequence[SaidOutside]:
        """Return every message of the session, oldest first; no message for an unknown session."""


@runtime_checkable
class RecentHistory(ChatHistoryProvider, Protocol):
    def load_recent(self, session_id: str, limit: int) -> Sequence[SaidOutside]:
        """Return the newest `limit` messages, in the order in which they were said. There may be
        fewer only if the session has fewer.
        """


@runtime_checkable
class CountedHistory(ChatHistoryProvider, Protocol):
    def count(self, session_id: str) -> int:
        """Return how many messages the session has. With it `load_recent` also serves messages that
        have no ids.
        """


def outside_id(draft: Draft | Message, *, session: str) -> str:
    """Return the id of a message whose history the caller keeps: a digest of the caller's id and of
    the content.
    """
    return digest(draft.chat, session=session, before=f"outside {draft.client_id or ''}")


@dataclass(frozen=True, slots=True)
class _Taken:
    """How many messages one commit has read, whether it began the session, and whether more
    messages are left.
    """

    messages: int = 0
    created: bool = False
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class IngestOutside:
    """Ingests messages that the caller keeps. `append` begins sessions and stores contents."""

    append: Append
    contents: Contents
    request: RequestExtraction

    def __call__(
        self,
        scope: UserScope,
        drafts: Sequence[Draft],
        *,
        session_id: str,
        agent: str | None = None,
    ) -> Ingested:
        """Extract memories from 1 to 1000 messages in order. Each has an id of the caller's.
        Messages that the session already has are left out; a digest of id and content recognizes
        them. The text of a message waits outside the tables, and is removed after its extraction.

        Nothing is written unless every message is valid. Raises `Conflict` (`owner_mismatch`),
        `TooLarge`, `Unprocessable` and `Unavailable`.
        """
        drafts = self.append.admitted(scope.owner, drafts)
        if self.append.hides_old is not None:
            drafts = self.append.hides_old(scope, drafts, is_transcript=True)
        check_length(drafts)
        _check_ids(drafts)
        message_sizes(drafts, has_contents=True)
        session = scope.owner.session(session_id)
        appended, created = 0, False
        while True:
            done = until_committed(
                lambda: self._attempt(session, scope, agent, drafts), clock=self.append.clock
            )
            appended, created = appended + done.messages, created or done.created
            if not done.has_more:
                break
        return Ingested(session_id, created, appended, self.request(session).job_id)

    def unmet(
        self, scope: UserScope, drafts: Sequence[Draft], *, session_id: str
    ) -> Sequence[Draft]:
        """Return the messages that the session does not have yet. Raises `Unavailable`."""
        session = scope.owner.session(session_id)
        opened = self.append.sessions.open(session, user=scope.user)
        head = opened.head
        if (
            head is None
            or head.is_gone(seconds(self.append.clock.now()))
            or head.user != scope.user
        ):
            return drafts
        return self._new(session, head, drafts)

    def _attempt(
        self, scope: SessionScope, owner: UserScope, agent: str | None, drafts: Sequence[Draft]
    ) -> _Taken:
        """Append the next batch of new messages. Raises `CommitLost` if another writer
        was faster.
        """
        now = self.append.clock.now()
        opened = self.append.sessions.open(scope, user=owner.user)
        begins: Beginning | None = None
        if opened.head is None or opened.head.is_gone(seconds(now)):
            begins = self.append.begin_session(scope, opened, user=owner.user, agent=agent, now=now)
            head = begins.head
        else:
            head = opened.head
            check_owner(head, user=owner.user, agent=agent)
        new = self._new(scope, head, drafts)
        if not new:
            return _Taken()
        batch = first_batch(new)
        held, uploaded = self.contents.hand_over(scope, self._numbered(scope, head, batch, now))
        after = with_messages(
            touched(head, now=now), held, open_calls=head.open_calls, system_tokens=None
        )
        commit = Commit(
            before=opened.head,
            after=replace(after, outside=after.seq),
            begins=begins is not None,
            messages=held,
            finished=uploaded,
        )
        if begins is not None:
            commit = replace(commit, settings=begins.settings, jobs=begins.jobs)
        self.append.sessions.commit(scope, commit)
        return _Taken(len(batch), created=begins is not None, has_more=len(new) > len(batch))

    def _numbered(
        self, scope: SessionScope, head: Head, drafts: Sequence[Draft], now: datetime
    ) -> Sequence[Message]:
        weights = [
            weigh(draft.chat, lambda text: self.append.tokens.count(text, head.encoding))
            for draft in drafts
        ]
        messages = numbered(
            drafts,
            weights,
            session=scope.session,
            seq=head.seq,
            turn=head.turn,
            before=head.last_id,
            encoding=head.encoding,
            now=stamp(now),
        )
        return [
            replace(message, id=outside_id(message, session=scope.session)) for message in messages
        ]

    def _new(self, scope: SessionScope, head: Head, drafts: Sequence[Draft]) -> Sequence[Draft]:
        """Return the messages that the session does not have, each once."""
        new = {outside_id(draft, session=scope.session): draft for draft in drafts}
        first = max(head.base, head.seq - MOST_KNOWN) + 1
        for message in self.append.sessions.messages(scope, first=first, last=head.seq):
            if not head.is_withdrawn(message.seq):
                new.pop(
                    message.id
                    if message.is_outside
                    else outside_id(message, session=scope.session),
                    None,
                )
        return tuple(new.values())


def _check_ids(drafts: Sequence[Draft]) -> None:
    missing = [number for number, draft in enumerate(drafts) if draft.client_id is None]
    if missing:
        error = FieldError(f"messages.{missing[0]}.id", "is missing")
        raise Unprocessable("Messages that are not stored must have an id.", errors=(error,))


def newest(
    history: ChatHistoryProvider | Load,
    session: str,
    *,
    has_met: Callable[[Mapping[str, Any]], bool],
) -> Sequence[Mapping[str, Any]]:
    """Return the messages of the session, oldest first, each with an id: its own, or else its
    place, counted from 1. A `RecentHistory` is read back only to a message that `has_met` knows.
    """
    limit = FIRST_PAGE
    while isinstance(history, RecentHistory):
        count = _count_of(history, session)
        page = history.load_recent(session, limit)
        if len(page) < limit:
            return _identified(page, before=0)
        # A message without an id is known by its place. Without a count, or if messages came while
        # the page was read, the places need the whole history.
        is_counted = count is not None and count == _count_of(history, session)
        if not is_counted and not all(map(_has_id, page)):
            break
        messages = _identified(page, before=(count or len(page)) - len(page))
        # All messages before a known one are known too.
        if has_met(messages[0]):
            return messages
        limit *= 4
    load = history.load if isinstance(history, ChatHistoryProvider) else history
    return _identified(load(session), before=0)


def _count_of(history: RecentHistory, session: str) -> int | None:
    return history.count(session) if isinstance(history, CountedHistory) else None


def _has_id(message: SaidOutside) -> bool:
    return not isinstance(message, str) and bool(message.get("id"))


def _identified(messages: Sequence[SaidOutside], *, before: int) -> list[Mapping[str, Any]]:
    """Return the messages with ids. `before` is the number of messages before them."""
    whole = [
        {"role": "user", "content": message} if isinstance(message, str) else message
        for message in messages
    ]
    return [
        {**message, "id": message.get("id") or str(place)}
        for place, message in enumerate(whole, before + 1)
    ]

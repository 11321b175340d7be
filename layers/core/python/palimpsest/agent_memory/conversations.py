"""The part of `AgentMemory` that is about conversations: messages, contexts, the window, whole
sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from palimpsest.agent_memory.checks import PAGE, Said, checked, message_of, pages, read
from palimpsest.api.problems import naming
from palimpsest.api.resources.compactions import PruneRequest
from palimpsest.api.resources.context import ContextRequest
from palimpsest.api.resources.messages import AppendRequest, Redaction
from palimpsest.api.resources.sessions.shapes import SessionChange
from palimpsest.context.blocks.ports import Conversation
from palimpsest.context.read import SessionContext
from palimpsest.conversations.append import AppendResult, Extract
from palimpsest.conversations.configuration import parsed
from palimpsest.conversations.lifecycle import ANOTHERS, check_owner
from palimpsest.conversations.message import Message
from palimpsest.conversations.overflow.arm import WhyNot
from palimpsest.conversations.session import Compaction, LiveSession
from palimpsest.errors import Conflict
from palimpsest.scope import SessionScope, UserScope, checked_id
from palimpsest.wiring.service import Service


class Conversations:
    """The conversations of one user, over use cases that `AgentMemory` has been given."""

    _service: Service
    _user: UserScope
    _agent: str | None
    _work: Callable[[], None]

    def append(
        self,
        session: str | Conversation,
        *messages: Said,
        key: str | None = None,
        if_last: int | None = None,
    ) -> AppendResult:
        """Store 1 to 50 messages, all or none: chat messages as `openai` has them, or texts, which
        are the user's. With `if_last` only if that is the newest message's sequence number (0:
        there is none), else `Conflict`.

        Begins the session if there is none. A repeated call with the same `key` returns the first
        result again.
        """
        return self._append(self._scope(session), messages, key=key, if_last=if_last)

    def context(
        self,
        session: str | Conversation,
        message: Said | None = None,
        *,
        max_tokens: int | None = None,
        model: str | None = None,
    ) -> SessionContext:
        """Return what a model sees next: `messages` ready to send, never over the budget
        (`max_tokens`); `memory.text` is what the blocks brought, as `<memory>…</memory>`;
        `degraded` names the blocks that could not be read.

        `message` is the user's, about to be sent: its tokens count, similar messages are searched,
        and it is not stored. Raises `BudgetTooSmall`.
        """
        asked = read(ContextRequest, message=message, max_tokens=max_tokens, model=model)
        found = self._service.context(
            self._scope(session),
            given=asked.message,
            max_tokens=asked.max_tokens,
            model=asked.model,
        )
        check_owner(found.head, user=self._user.user, agent=self._agent)
        return found

    def history(self, session: str | Conversation) -> Iterator[Message]:
        """Every message of the session, oldest first, whatever has left the window since."""
        scope, history = self.conversation(session).scope, self._service.history
        return pages(lambda after: history.messages(scope, limit=PAGE, after=after))

    def compactions(self, session: str | Conversation) -> Iterator[Compaction]:
        """What has left the window, each part with its summary, oldest first; its number is
        `last`.
        """
        scope, history = self.conversation(session).scope, self._service.history
        return pages(lambda after: history.compactions(scope, limit=PAGE, after=after))

    def unfold(self, session: str | Conversation, n: int) -> Iterator[Message]:
        """The messages that compaction `n` took out of the window. Raises `NotFound`."""
        scope, history = self.conversation(session).scope, self._service.history
        return pages(lambda after: history.unfold(scope, n, limit=PAGE, after=after))

    def prune(
        self, session: str | Conversation, *, strategy: str, max_tokens: int | None = None
    ) -> WhyNot | None:
        """Make room in the window: `fifo` drops the oldest turns, `summarize` replaces all but the
        recent turns by a summary, `semantic` keeps the recent turns and those that matter most to
        the user's newest message. Return why nothing was done, None if it was. What leaves the
        window stays in the history.
        """
        asked = read(PruneRequest, strategy=strategy, max_tokens=max_tokens)
        scope = self.conversation(session).scope
        requested = self._service.prune(scope, strategy=asked.strategy, max_tokens=asked.max_tokens)
        self._work()
        return requested.why_not

    def configure(self, session: str | Conversation, **fields: Any) -> LiveSession:
        """Change `memory`, `system` or `metadata` of a session, as the API's PATCH does; None
        removes.
        """
        body = checked(SessionChange, fields)
        clears = "system" in fields and fields["system"] is None
        with naming("memory"):
            changed = self._service.manage.patch(
                self.conversation(session).scope, wanted=body.wanted(), clear_system=clears
            )
        self._work()
        return changed

    def sessions(self) -> Iterator[LiveSession]:
        """The user's sessions, the newest first."""
        listed = partial(
            self._service.list_sessions,
            self._user.owner,
            user=self._user.user,
            agent=None,
            status=None,
        )
        return pages(lambda after: listed(limit=PAGE, after=after, newest_first=True))

    def extract(self, session: str | Conversation) -> str | None:
        """Have memories extracted from what came after the last extraction; return the job's id, if
        there was any.
        """
        requested = self._service.ingest.request(self.conversation(session).scope)
        self._work()
        return requested.job_id

    def last_extracted(self, session: str | Conversation) -> int | None:
        """The number of the last message that memories were extracted from; None if none was."""
        shown = self._service.manage.read(self.conversation(session).scope)
        seq = self._service.report.through(self._user, shown.id)
        return seq if seq > shown.head.base else None

    def end(self, session: str | Conversation) -> LiveSession:
        """Mark the session ended and have memories extracted from all of it; the next append opens
        it again.
        """
        ended = self._service.manage.end(self.conversation(session).scope)[0]
        self._work()
        return ended

    def empty_window(self, session: str | Conversation) -> None:
        """Begin the next context without messages; the history stays."""
        self._service.history.empty(self.conversation(session).scope)

    def withdraw(
        self, session: str | Conversation, seq: int, *, if_last: int | None = None
    ) -> None:
        """Remove every message from number `seq` on, with `if_last` only while that is the newest:
        else `Conflict`.
        """
        self._service.history.withdraw(self.conversation(session).scope, first=seq, if_last=if_last)
        self._work()

    def redact(self, session: str | Conversation, seq: int, *, content: str) -> None:
        """Replace what message `seq` says, and take back the summaries and memories that were made
        of it; its place and its id stay. Raises `NotFound`.
        """
        asked = read(Redaction, content=content)
        self._service.redact(self.conversation(session).scope, seq, content=asked.content)
        self._work()

    def delete(self, session: str | Conversation) -> None:
        """Remove the session, everything in it, and the memories that have no other source."""
        self._service.manage.delete(self.conversation(session).scope)
        self._work()

    def conversation(self, session: str | Conversation) -> Conversation:
        """Return an existing session in the form that its blocks take. Raises `NotFound`."""
        scope = self._scope(session)
        shown = self._service.manage.read(scope)
        check_owner(shown.head, user=self._user.user, agent=self._agent)
        return Conversation(
            scope, shown.head.user, parsed(dict(shown.settings.memory)), shown.head.agent
        )

    def _append(
        self,
        scope: SessionScope,
        messages: Sequence[Said],
        *,
        key: str | None = None,
        if_last: int | None = None,
        extract: Extract = "auto",
    ) -> AppendResult:
        asked = read(
            AppendRequest, messages=[message_of(message) for message in messages], if_last=if_last
        )
        done = self._service.append(
            scope,
            asked.messages,
            user=self._user.user,
            agent=self._agent,
            key=None if key is None else checked_id(key, field="key"),
            # no answer is lost on its way within a process: "yes" may be said twice
            allow_repeat=True,
            if_last=asked.if_last,
            extract=extract,
        )
        self._work()
        return done

    def _scope(self, session: str | Conversation) -> SessionScope:
        if isinstance(session, str):
            return self._user.owner.session(session)
        if session.owner != self._user:
            raise Conflict(ANOTHERS, code="owner_mismatch")
        return session.scope

"""The part of `AgentMemory` that is about conversations: messages, contexts, the window, whole
sessions. A session is named by its id.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from palimpsest.conversations.lifecycle import ANOTHERS
from palimpsest_client import Palimpsest, Session, User
from palimpsest_client.errors import problem_of
from palimpsest_client.said import Said
from palimpsest_client.types import Appended, Compaction, Context, HistoryMessage
from palimpsest_client.types import Session as ShownSession


class Conversations:
    """The conversations of one user, over a client."""

    client: Palimpsest
    user: User
    _agent: str | None

    def session(self, session_id: str) -> Session:
        """The session of this id, which need not exist yet, with all methods of the client."""
        return self.client.session(session_id, user=self.user.id, agent=self._agent)

    def append(
        self, session: str, *messages: Said, key: str | None = None, if_last: int | None = None
    ) -> Appended:
        """Store 1 to 50 messages, all or none: chat messages as `openai` has them, or texts, which
        are the user's. With `if_last` only if that is the newest message's sequence number (0:
        there is none). Raises `HistoryMovedOn`.

        Begins the session if there is none. A repeated call with the same `key` returns the first
        result again.
        """
        # no answer is lost on its way within a process: "yes" may be said twice
        return self.session(session).append(*messages, key=key, if_last=if_last, allow_repeat=True)

    def context(self, session: str, message: Said | None = None, **options: Any) -> Context:
        """Return what a model sees next: `messages` ready to send, never over the budget
        (`max_tokens`); `memory_prompt` is what the blocks brought, as `<memory>…</memory>`;
        `degraded` names the blocks that could not be read. `format` is the API that it is written
        for.

        `message` is the user's, about to be sent: its tokens count, similar messages are searched,
        and it is not stored. Raises `BudgetTooSmall`, `SessionNotFound`.
        """
        return self._read(session).context(message, **options)

    def history(self, session: str) -> Iterator[HistoryMessage]:
        """Every message of the session, oldest first, whatever has left the window since."""
        return self._read(session).messages()

    def compactions(self, session: str) -> Iterator[Compaction]:
        """The parts of the conversation that have left the window, oldest first, each with its
        number `n` and its summary.
        """
        return self._read(session).compactions()

    def unfold(self, session: str, n: int) -> Iterator[HistoryMessage]:
        """The messages that compaction `n` took out of the window. Raises `NotFound`."""
        return self._read(session).unfold(n)

    def prune(self, session: str, strategy: str, **options: Any) -> str | None:
        """Make room in the window, as `Session.prune`. Return why nothing was done, None if it was.
        What leaves the window stays in the history.
        """
        why_not: str | None = self._mine(session).prune(strategy, **options).get("why_not")
        return why_not

    def configure(self, session: str, **fields: Any) -> ShownSession:
        """Change `memory`, `system` or `metadata` of a session; None removes."""
        return self._mine(session).configure(**fields)

    def sessions(self, **limits: Any) -> Iterator[ShownSession]:
        """The user's sessions, newest first."""
        return self.user.sessions(**limits)

    def extract(self, session: str) -> str | None:
        """Extract memories from the messages after the last extraction. Return the job's id, if
        there was any.
        """
        return self._mine(session).extract().id

    def last_extracted(self, session: str) -> int | None:
        """The number of the last message that memories were extracted from; None if none was."""
        found = self._mine(session).read().get("last_extracted")
        return found and found["seq"]

    def end(self, session: str) -> ShownSession:
        """Mark the session ended and have memories extracted from all of it; the next append opens
        it again.
        """
        ended = self._mine(session)
        ended.end()
        return ended.read()

    def empty_window(self, session: str) -> None:
        """Begin the next context without messages; the history stays."""
        self._mine(session).empty_window()

    def withdraw(self, session: str, seq: int, *, if_last: int | None = None) -> None:
        """Remove every message from number `seq` on, with `if_last` only while that is the newest.
        Raises `HistoryMovedOn`.
        """
        self._mine(session).withdraw(seq, if_last=if_last)

    def redact(self, session: str, seq: int, *, content: str) -> None:
        """Replace what message `seq` says, and take back the summaries and memories that were made
        of it; its place and its id stay. Raises `MessageNotFound`.
        """
        self._mine(session).redact(seq, content)

    def _read(self, session: str) -> Session:
        """The session, for a call that names its user."""
        return self.session(session) if self._agent is None else self._mine(session)

    def _mine(self, session: str) -> Session:
        """The session, if it exists. Raises `SessionNotFound` for one of another user, and
        `OwnerMismatch` for one of another agent.
        """
        found = self.session(session)
        shown = found.read()
        if self._agent is not None and shown["agent_id"] != self._agent:
            raise problem_of(409, {"code": "owner_mismatch", "detail": ANOTHERS})
        return found

"""The part of `AgentMemory` for conversations: messages, contexts, the window, and whole sessions.
A session is named by its id.
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
    """The conversations of one user, through a client."""

    client: Palimpsest
    user: User
    _agent: str | None

    def session(self, session_id: str) -> Session:
        """Return the session with this id, with all methods of the client. It need not exist
        yet.
        """
        return self.client.session(session_id, user=self.user.id, agent=self._agent)

    def append(
        self, session: str, *messages: Said, key: str | None = None, if_last: int | None = None
    ) -> Appended:
        """Store 1 to 50 messages, all or none. A message is a chat message in the form of `openai`,
        or a text, which is stored as the user's message. Creates the session if it does not exist.

        With `if_last`, the messages are stored only if that is the sequence number of the newest
        message (0: there is no message). Otherwise raises `HistoryMovedOn`. A repeated call with
        the same `key` returns the first result again.
        """
        # within a process no answer is lost on its way, so two equal messages such as "yes" are two
        # messages
        return self.session(session).append(*messages, key=key, if_last=if_last, allow_repeat=True)

    def context(self, session: str, message: Said | None = None, **options: Any) -> Context:
        """Return the model's next input. Its `messages` are ready to send and never exceed the
        budget (`max_tokens`). `memory_prompt` is the text of the memory blocks, as
        `<memory>…</memory>`. `degraded` names the blocks that could not be read. `format` is the
        API for which it is written.

        `message` is the user's message about to be sent. It is not stored, but its tokens are
        counted, and similar messages are searched. Raises `BudgetTooSmall` and `SessionNotFound`.
        """
        return self._read(session).context(message, **options)

    def history(self, session: str) -> Iterator[HistoryMessage]:
        """Yield every message of the session, oldest first, including messages that have left the
        window.
        """
        return self._read(session).messages()

    def compactions(self, session: str) -> Iterator[Compaction]:
        """Yield the parts of the conversation that have left the window, oldest first. Each has its
        number `n` and its summary.
        """
        return self._read(session).compactions()

    def unfold(self, session: str, n: int) -> Iterator[HistoryMessage]:
        """Yield the messages that compaction `n` removed from the window. Raises `NotFound`."""
        return self._read(session).unfold(n)

    def prune(self, session: str, strategy: str, **options: Any) -> str | None:
        """Make room in the window, as `Session.prune` does. Return the reason if nothing was done,
        otherwise None. Messages that leave the window stay in the history.
        """
        why_not: str | None = self._mine(session).prune(strategy, **options).get("why_not")
        return why_not

    def configure(self, session: str, **fields: Any) -> ShownSession:
        """Change `memory`, `system` or `metadata` of a session. A value of None removes the
        field.
        """
        return self._mine(session).configure(**fields)

    def sessions(self, **limits: Any) -> Iterator[ShownSession]:
        """Yield the user's sessions, newest first."""
        return self.user.sessions(**limits)

    def extract(self, session: str) -> str | None:
        """Extract memories from the messages after the last extraction. Return the job's id, or
        None if there was nothing to extract.
        """
        return self._mine(session).extract().id

    def last_extracted(self, session: str) -> int | None:
        """Return the number of the last message from which memories were extracted, or None if
        there is none.
        """
        seq = self._mine(session).read().get("last_extracted")
        return seq and seq["seq"]

    def end(self, session: str) -> ShownSession:
        """Mark the session as ended, and extract memories from all of it. The next append opens the
        session again.
        """
        ended = self._mine(session)
        ended.end()
        return ended.read()

    def empty_window(self, session: str) -> None:
        """Begin the next context without messages. The history stays."""
        self._mine(session).empty_window()

    def withdraw(self, session: str, seq: int, *, if_last: int | None = None) -> None:
        """Remove every message from number `seq` on, and the memories that were made from them
        alone. With `if_last`, remove them only if that is the number of the newest message.
        Otherwise raises `HistoryMovedOn`.
        """
        self._mine(session).withdraw(seq, if_last=if_last)

    def redact(self, session: str, seq: int, *, content: str) -> None:
        """Replace the content of message `seq`, and remove the summaries and memories that were
        made from it. The message keeps its place and its id. Raises `MessageNotFound`.
        """
        self._mine(session).redact(seq, content)

    def _read(self, session: str) -> Session:
        """Return the session for a call that reads it. The call names the user. If this memory has
        an agent, check the session's agent first.
        """
        return self.session(session) if self._agent is None else self._mine(session)

    def _mine(self, session: str) -> Session:
        """Return the session, if it exists. Raises `SessionNotFound` for a session of another user,
        and `OwnerMismatch` for a session of another agent.
        """
        opened = self.session(session)
        shown = opened.read()
        if self._agent is not None and shown["agent_id"] != self._agent:
            raise problem_of(409, {"code": "owner_mismatch", "detail": ANOTHERS})
        return opened

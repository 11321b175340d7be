"""Conversations alone: what tests of windows, overflow and sessions say to the service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from palimpsest.clock import Clock
from palimpsest.conversations.append import AppendResult
from palimpsest.conversations.drafts import Draft
from palimpsest_local.stores.state import Faults

from tests.service import Service


class ConversationService(Service):
    """The service without long-term memory."""

    def __init__(
        self,
        *,
        faults: Faults | None = None,
        clock: Clock | None = None,
        folder: Path | None = None,
        long_term: bool = False,
        models: tuple[str, ...] | None = None,
        **memory: Any,
    ) -> None:
        super().__init__(
            faults=faults,
            clock=clock,
            folder=folder,
            long_term=long_term,
            memory=memory,
            models=models,
        )
        self.give_up, self.remove, self.sweep = (
            self.give_up_overflow,
            self.removal.handlings["delete"].step,
            self.sweep_all,
        )

    def append(
        self,
        *texts: str,
        role: str = "user",
        session: str = "s",
        key: str | None = None,
        user: str | None = "sarah",
    ) -> AppendResult:
        drafts = [Draft({"role": role, "content": text}) for text in texts]
        return self.app.append(
            self.session(session), drafts, user=user, key=key, allow_repeat=key is None
        )

    def say(self, turns: int, *, letters: int = 40, session: str = "s") -> None:
        """Whole turns: a question and its answer, of so many letters each."""
        for _ in range(turns):
            self.append("q" * letters, session=session)
            self.append("a" * letters, role="assistant", session=session)

    def shown(self, session: str = "s", *, max_tokens: int | None = None) -> list[str]:
        """The texts of the context."""
        context = self.app.context(self.session(session), max_tokens=max_tokens)
        return [str(message["content"]) for message in context.fitted.messages]

    def history(self, session: str = "s") -> list[int]:
        """Every sequence number that can be read."""
        seqs: list[int] = []
        after = None
        while True:
            page, after = self.app.history.messages(self.session(session), limit=7, after=after)
            seqs += [message.seq for message in page]
            if after is None:
                return seqs

"""Any order of appends, deliveries, crashes, withdrawals and deletions: no flush drops what is not
stored.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hypothesis.stateful import initialize, invariant, precondition, rule
from palimpsest.conversations.append import AppendResult
from palimpsest.conversations.drafts import Draft
from palimpsest.conversations.message import text_of
from palimpsest.errors import ModelUnavailable
from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.finding import Finding
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import Job

from tests.unit.context.service import ContextService
from tests.unit.conversations.test_state_machine import BUDGET, Conversation, Killed

SMALL = 160  # tokens: a few messages are a full window
FLUSH = {"strategy": "flush", "keep_recent_turns": 1, "max_tokens": SMALL}
assert SMALL < BUDGET


def everything(chunk: Chunk) -> list[Finding]:
    """Each message's whole text as a fact."""
    texts = [(message.seq, text_of(message.chat)) for message in chunk.messages]
    return [Finding("fact", text, (seq,), text, importance=0.8) for seq, text in texts]


class Flushing(ContextService):
    """The service of blocks, as the machine of conversations knows a service."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.extractor.room = 150
        self.extractor.finds = everything
        self.history = self.numbers  # type: ignore[assignment]
        self.sweep = self.sweep_all  # type: ignore[assignment]
        self.append_messages = self.append
        self.append = self.append_one  # type: ignore[assignment]

    def append_one(
        self, text: str, *, role: str, key: str, session: str = "s", user: str = "sarah"
    ) -> AppendResult:
        draft = Draft({"role": role, "content": text})
        return self.append_messages(self.session(session), [draft], user=user, key=key)

    def numbers(self) -> list[int]:
        page, _ = self.app.history.messages(self.session(), limit=10_000)
        return [message.seq for message in page]

    def handle(self, job: Job) -> None:
        if job.kind in self.removal.handlings:
            self.removal.step(JobNotice(job.tenant, job.id, job.kind))
        else:
            super().handle(job)


class FlushedConversation(Conversation):
    @initialize()
    def begin(self) -> None:
        super().begin({})

    def service_of(self, memory: dict[str, Any]) -> Any:
        return Flushing(faults=self.maybe_die, **FLUSH)

    @precondition(lambda self: hasattr(self, "service"))
    @rule()
    def the_model_goes_down_or_comes_back(self) -> None:
        extractor = self.service.extractor
        extractor.failure = None if extractor.failure else ModelUnavailable("down")

    @precondition(lambda self: self.service.outbox)
    @rule()
    def deliver_everything(self) -> None:
        for job in list(self.service.outbox):
            with suppress(Killed):
                self.service.handle_to_the_end(job)

    def teardown(self) -> None:
        if hasattr(self, "service"):
            self.service.extractor.failure = None
        super().teardown()

    @invariant()
    def what_left_the_window_is_stored(self) -> None:
        if not hasattr(self, "service") or not self.stored():
            return
        head = self.service.head()
        gone = range(head.base + 1, head.window_start)
        progress = self.service.memories.progress(self.service.session().owner.user("sarah"), "s")
        assert not gone or progress.through >= gone[-1]


TestFlushedConversation = FlushedConversation.TestCase

"""Any order of appends, retries, deliveries, crashes, deletions and time: what was acknowledged is
kept in order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from palimpsest.conversations.append import AppendResult
from palimpsest.errors import ModelFailed, NotFound

from tests.unit.conversations.service import ConversationService
from tests.unit.conversations.validity import problems

BUDGET = 400
MEMORY = st.sampled_from(
    [
        {"strategy": "summarize", "keep_recent_turns": 2},
        {"strategy": "summarize", "summary_as": "tool_call"},
        {"strategy": "trim", "max_memory_tokens": 100},
        {"strategy": "delete", "count": 3},
    ]
)


class Killed(Exception):
    """The process died at this write."""


@dataclass
class Expected:
    """What the caller knows: the texts it was told are stored, and the one append whose answer
    never came.
    """

    acknowledged: list[str] = field(default_factory=list)
    unsure: tuple[str, str] | None = None  # key and text


def _without_day(text: str) -> str:
    """Return a message's text without the day that a context writes before it."""
    return re.sub(r"^\[\d{4}-\d\d-\d\d\]\n", "", text)


class Conversation(RuleBasedStateMachine):
    """One session, its caller, its workers, and a clock; a crash may come before or after any
    write.
    """

    @initialize(memory=MEMORY)
    def begin(self, memory: dict[str, Any]) -> None:
        self.service = self.service_of(memory)
        self.expected: Expected | None = None
        self.writes_until_death: int | None = None
        self.said = 0
        self.keys: list[tuple[str, str]] = []

    def service_of(self, memory: dict[str, Any]) -> Any:
        service = ConversationService(faults=self.maybe_die, max_tokens=BUDGET, **memory)
        service.summarizer.room = 150
        return service

    def maybe_die(self, step: str) -> None:
        if self.writes_until_death is None:
            return
        self.writes_until_death -= 1
        if self.writes_until_death < 0:
            self.writes_until_death = None
            raise Killed(step)

    def send(self, key: str, text: str) -> AppendResult | None:
        """One append; None if the process died on the way. What was unsure before is asked again
        first.
        """
        role = "user" if text.startswith("q") else "assistant"
        try:
            sent: AppendResult = self.service.append(text, role=role, key=key)
        except Killed:
            return None
        return sent

    def settle(self) -> None:
        """A caller that heard nothing asks again, with its key, until it hears."""
        expected = self.expected
        if expected is None or expected.unsure is None:
            return
        key, text = expected.unsure
        self.writes_until_death = None
        assert self.send(key, text) is not None
        expected.acknowledged.append(text)
        expected.unsure = None

    @rule(letters=st.integers(1, 300), speaker=st.sampled_from("qa"))
    def append(self, letters: int, speaker: str) -> None:
        self.say(speaker, "x" * letters)

    def say(self, speaker: str, words: str) -> None:
        """A message of a number of its own, or the attempt at it."""
        self.settle()
        self.said += 1
        key, text = f"k{self.said}", f"{speaker}{self.said}{words}"
        self.expected = self.expected or Expected()
        answer = self.send(key, text)
        if answer is None:
            self.expected.unsure = (key, text)
        else:
            assert not answer.replayed
            self.expected.acknowledged.append(text)
        self.keys.append((key, text))

    @precondition(
        lambda self: self.expected and self.expected.acknowledged and not self.expected.unsure
    )
    @rule(back=st.integers(1, 5))
    def retry(self, back: int) -> None:
        """A late copy of an earlier request of this life."""
        assert self.expected is not None
        key, text = self.keys[-min(back, len(self.expected.acknowledged))]
        answer = self.send(key, text)
        assert answer is None or answer.replayed

    @rule(writes=st.integers(0, 4))
    def die_soon(self, writes: int) -> None:
        self.writes_until_death = writes

    @precondition(lambda self: self.service.outbox)
    @rule(which=st.integers(0, 50), times=st.integers(1, 2))
    def deliver(self, which: int, times: int) -> None:
        """A job's message: late, twice, out of order, or after everything it was about is gone."""
        job = self.service.outbox[which % len(self.service.outbox)]
        for _ in range(times):
            try:
                self.service.handle(job)
            except (Killed, ModelFailed):
                continue

    @rule(seconds=st.sampled_from([1, 61, 3600, 3 * 3600]))
    def wait(self, seconds: int) -> None:
        self.service.time.advance(seconds)

    @rule()
    def sweep(self) -> None:
        try:
            self.service.sweep()
        except Killed:
            return

    @precondition(lambda self: self.expected is not None)
    @rule()
    def delete(self) -> None:
        self.settle()
        self.writes_until_death = None
        self.service.app.manage.delete(self.service.session())
        self.expected = None

    @precondition(lambda self: self.expected and self.expected.acknowledged)
    @rule(keep=st.integers(0, 20))
    def withdraw(self, keep: int) -> None:
        self.settle()
        assert self.expected is not None
        self.writes_until_death = None
        self.finish_removals()
        history = self.service.history()
        if keep < len(history):
            self.service.app.history.withdraw(self.service.session(), first=history[keep])
            self.expected.acknowledged = self.expected.acknowledged[:keep]
            self.keys = self.keys[: len(self.keys) - (len(history) - keep)]

    def finish_removals(self) -> None:
        """Withdrawals under way are few at a time."""
        for job in list(self.service.outbox):
            if job.kind == "withdraw":
                self.service.handle(job)

    @invariant()
    def the_history_is_what_was_acknowledged(self) -> None:
        texts = self.stored()
        if self.expected is None:
            assert texts is None
            return
        known = self.expected.acknowledged
        if self.expected.unsure is None:
            assert (texts or []) == known
        else:
            assert (texts or []) in (known, [*known, self.expected.unsure[1]])

    def stored(self) -> list[str] | None:
        """Every text of the history; None for a session that is not there."""
        try:
            page, _ = self.service.app.history.messages(self.service.session(), limit=10_000)
        except NotFound:
            return None
        assert [m.seq for m in page] == sorted({m.seq for m in page})
        return [str(message.chat["content"]) for message in page]

    @invariant()
    def the_context_fits_and_is_valid(self) -> None:
        texts = self.stored()
        if not texts:
            return
        context = self.service.app.context(self.service.session())
        assert 0 < context.fitted.tokens <= BUDGET
        assert context.fitted.messages
        assert problems(context.fitted.messages) == []
        newest = next((text for text in reversed(texts) if text.startswith("q")), None)
        if newest is not None:
            head = newest[:3]
            shown = [_without_day(str(message["content"])) for message in context.fitted.messages]
            assert any(text.startswith(head) for text in shown)

    @invariant()
    def the_window_weighs_what_its_head_says(self) -> None:
        if not self.stored():
            return
        head = self.service.app.manage.read(self.service.session()).head
        found = self.service.sessions.messages(
            self.service.session(), first=head.window_start, last=head.seq
        )
        held = [message for message in found if not head.is_withdrawn(message.seq)]
        assert head.window_tokens == sum(message.tokens for message in held)
        assert head.window_messages == len(held)

    @invariant()
    def no_message_is_outside_both_window_and_summary(self) -> None:
        if not self.stored():
            return
        session = self.service.session()
        head = self.service.app.manage.read(session).head
        covered = [
            (c.first, c.last) for c in self.service.app.history.compactions(session, limit=1000)[0]
        ]
        folded = [seq for seq in self.service.history() if seq < head.window_start]
        assert all(any(first <= seq <= last for first, last in covered) for seq in folded)

    def bring_index_up_to_date(self) -> None:
        """For machines that have an index: some jobs wait for it."""

    def teardown(self) -> None:
        """Whatever happened, pending work comes to an end once the failures stop."""
        if not hasattr(self, "service"):
            return
        self.writes_until_death = None
        self.settle()
        for _ in range(12):
            delivered = 0
            while delivered < len(
                self.service.outbox
            ):  # what a step leaves to the next is under way within seconds
                self.service.handle_to_the_end(self.service.outbox[delivered])
                delivered += 1
            self.bring_index_up_to_date()
            self.service.time.advance(2 * 3600)
            self.service.sweep()
        assert [job for job in self.service.all_jobs() if not job.has_ended] == []


TestConversation = Conversation.TestCase

"""Give the context of a session: what its model shall see next, within the budget, waiting for no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from palimpsest import parallel
from palimpsest.clock import Clock
from palimpsest.context.at import counted, head_after, read_back
from palimpsest.context.blocks.block import Conversation
from palimpsest.context.blocks.reader import Blocks, Reading
from palimpsest.context.prompt import MemoryPrompt
from palimpsest.context.room import Material, fit_with_memory
from palimpsest.conversations.configuration import Strategy, Summarize, parsed
from palimpsest.conversations.history import live, no_session
from palimpsest.conversations.lifecycle import is_withdrawn
from palimpsest.conversations.messages import Chat, Message, text_of, weighed_in
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Compaction, CompactionState, Head, Settings
from palimpsest.conversations.window.fit import Fitted, newest, newest_turn
from palimpsest.errors import Unavailable
from palimpsest.memory.ports import Memories
from palimpsest.models.catalogue import budget_of
from palimpsest.models.ports import TokenCounter
from palimpsest.scope import SessionScope

SNAPSHOT_TRIES = 3


@dataclass(frozen=True, slots=True)
class Context:
    """Chat messages ready to send, and what they weigh. `compaction` tells whether an overflow is pending or has
    failed.

    `memory` is what the session's blocks brought; together with the messages it keeps within the budget. `degraded`
    names what could not be asked, `failures` says why (a code, or an error's name). `summary` is the compaction whose
    text stands before the window, `has_given` whether a message about to be sent was weighed. `tools` are what the
    model may be given besides.
    """

    fitted: Fitted
    head: Head
    config: Strategy
    budget: int
    compaction: CompactionState
    summary: Compaction | None = None
    has_given: bool = False
    memory: MemoryPrompt = field(default_factory=MemoryPrompt)
    degraded: tuple[str, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[Mapping[str, Any], ...] = ()

    @property
    def messages(self) -> Sequence[Chat]:
        """Ready to send."""
        return self.fitted.messages


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a context is made for: `settings` and `head` are the session's, as it stands or stood."""

    scope: SessionScope
    head: Head
    settings: Settings
    config: Strategy
    budget: int
    encoding: str
    given: Chat | None
    at: int | None

    @property
    def system_tokens(self) -> int | None:
        """What the system message weighs, if that was counted in this encoding."""
        return self.head.system_tokens if self.head.encoding == self.encoding else None

    @property
    def conversation(self) -> Conversation:
        return Conversation(self.scope, self.head.user, self.config, self.head.agent)


@dataclass(frozen=True, slots=True)
class ReadContext:
    """`memories` knows whether the session's user was erased: it is asked beside the window, not before it."""

    sessions: Sessions
    tokens: TokenCounter
    clock: Clock
    blocks: Blocks = field(default_factory=Blocks)
    memories: Memories | None = None

    def __call__(
        self,
        scope: SessionScope,
        *,
        given: Chat | None = None,
        max_tokens: int | None = None,
        model: str | None = None,
        at: int | None = None,
    ) -> Context:
        """The context within `max_tokens` (or the window of `model`, or the session's own budget).

        `given` is the message about to be sent: it is weighed, not stored, and what resembles it is looked for. Two
        round trips; what the session's blocks bring is read in the second one. `at` gives the window alone, as it stood
        after that message, when the next one came.

        Raises `NotFound`, `BudgetTooSmall`, `Unprocessable` (`unknown_model`), `Unavailable`.
        """
        for _ in range(SNAPSHOT_TRIES):
            asked = self._asked(scope, given=given, max_tokens=max_tokens, model=model, at=at)
            context, epoch = parallel.both(partial(self._read, asked), partial(self._epoch, asked))
            if asked.head.epoch < epoch:
                raise no_session()
            if context is not None:
                return context
        raise Unavailable("The session is changing too fast to be read.", code="contention")

    def _asked(
        self, scope: SessionScope, *, given: Chat | None, max_tokens: int | None, model: str | None, at: int | None
    ) -> _Asked:
        head, settings = live(self.sessions.open(scope, settings=True), now=self.clock.now())
        config = parsed(dict(settings.memory))
        return _Asked(
            scope=scope,
            head=head if at is None else head_after(self.sessions, scope, head, seq=at),
            settings=settings,
            config=config,
            budget=max_tokens or budget_of(model, reserve=config.reserve_tokens) or config.max_tokens,
            encoding=self.tokens.encoding_for(model or config.model),
            given=given,
            at=at,
        )

    def _read(self, asked: _Asked) -> Context | None:
        """None where the summary that the head names was withdrawn between the two round trips."""
        head, config = asked.head, asked.config
        reading = None
        if config.blocks and asked.at is None:
            given = None if asked.given is None else text_of(asked.given)
            reading = self.blocks.begin(asked.conversation, given=given)
        summary = None
        if head.summary and config.keeps_window:
            summary, (head, stored) = parallel.both(
                lambda: self.sessions.compaction(asked.scope, head.summary), partial(self._window, asked)
            )
            if summary is None:
                return None
        else:
            head, stored = self._window(asked)
        count = partial(self._count, asked.encoding)
        material = Material(
            system=asked.settings.system,
            system_tokens=asked.system_tokens,
            summary=summary.summary if summary else None,
            summary_as=config.summary_as if isinstance(config, Summarize) else "user",
            messages=[weighed_in(message, encoding=asked.encoding, count=count) for message in stored],
            given=asked.given,
            budget=asked.budget,
            count=count,
        )
        made = _Made(material.fitted()) if reading is None else _remembered(material, reading, asked)
        return Context(
            fitted=made.fitted,
            head=head,
            config=config,
            budget=asked.budget,
            compaction=head.compaction,
            summary=summary,
            has_given=asked.given is not None,
            memory=made.memory,
            degraded=made.degraded,
            failures=made.failures,
            tools=_tools() if config.auto_recall else (),
        )

    def _epoch(self, asked: _Asked) -> int:
        """Of the session's user now: a session of an earlier one was erased."""
        if self.memories is None:
            return asked.head.epoch
        return self.memories.user(asked.scope.owner.user(asked.head.user)).epoch

    def _window(self, asked: _Asked) -> tuple[Head, tuple[Message, ...]]:
        """The messages a context may hold, oldest first: no more of them than can fit, and the newest user message."""
        head, keeps = asked.head, asked.config.keeps_window
        first = head.window_start if keeps or asked.at is not None else max(head.window_start, head.last_user_seq)
        if first > head.seq or (asked.given is not None and not keeps):
            return head, ()
        stored = (
            message
            for message in self.sessions.messages(asked.scope, first=first, last=head.seq, newest_first=True)
            if not is_withdrawn(message.seq, head)
        )
        if asked.at is not None:
            kept, last_user_seq = read_back(stored, budget=asked.budget)
            head = counted(head, kept, last_user_seq=last_user_seq)
        else:
            kept = newest(stored, budget=asked.budget, last_user_seq=head.last_user_seq)
        if kept and first <= head.last_user_seq < kept[0].seq:
            kept = (*self.sessions.messages_at(asked.scope, [head.last_user_seq]), *kept)
        return head, kept if keeps else newest_turn(kept)

    def _count(self, encoding: str, text: str) -> int:
        return self.tokens.count(text, encoding)


def _tools() -> tuple[Mapping[str, Any], ...]:
    from palimpsest.recall.tool import definition

    return (definition("openai"),)


@dataclass(frozen=True, slots=True)
class _Made:
    """What came of the material, and of the blocks."""

    fitted: Fitted
    memory: MemoryPrompt = field(default_factory=MemoryPrompt)
    degraded: tuple[str, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)


def _remembered(material: Material, reading: Reading, asked: _Asked) -> _Made:
    """The context with what the blocks bring for the newest that the user said."""
    questions = (text_of(message.chat) for message in reversed(material.messages) if message.role == "user")
    found = reading.finished(next(questions, None))
    inserts = asked.config.insert_into_system_prompt
    fitted, memory = fit_with_memory(material, found, session=asked.scope.session, inserts=inserts)
    return _Made(fitted, memory, tuple(name for each in found for name in each.degraded), reading.failures)

"""Reads the context of a session: the messages for its model's next call, within the budget,
without waiting for a model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from palimpsest import parallel
from palimpsest.clock import Clock, seconds
from palimpsest.context.ahead import Begun, ReadAhead, conversation_of, kept_of, memory_of
from palimpsest.context.at import counted, head_after, read_back
from palimpsest.context.blocks.ports import Conversation
from palimpsest.context.blocks.reader import BlockReader, BlockReads
from palimpsest.context.prompt import MemoryPrompt, fit_with_memory
from palimpsest.context.session_context import SessionContext, search_tools
from palimpsest.context.split import Kept, fit_split
from palimpsest.conversations.configuration import Strategy, Summarize, parsed
from palimpsest.conversations.contents import Contents, loaded
from palimpsest.conversations.history import live
from palimpsest.conversations.message import UNSHOWN_ROLES, Chat, Message, text_of
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Compaction, Head, Settings
from palimpsest.conversations.shortened import within
from palimpsest.conversations.weight import weighed_in
from palimpsest.conversations.window.fit import Fitted, Material, fit, newest, newest_turn
from palimpsest.errors import Unavailable
from palimpsest.memory.record import UserState
from palimpsest.models.catalogue import budget_of
from palimpsest.models.ports import TokenCounter
from palimpsest.scope import SessionScope

SNAPSHOT_TRIES = 3  # a redaction may withdraw the summary while the context is read
# bytes of large contents that are read; other large messages are shown shortened
MOST_LOADED = 8_000_000
# bytes of images and files, so that the whole answer fits 5 MB
MOST_PARTS = 4_000_000


@dataclass(frozen=True, slots=True)
class _Plan:
    """The parameters of reading a context. `settings` and `head` are those of the session now, or
    those after message `at`.
    """

    scope: SessionScope
    head: Head
    settings: Settings
    config: Strategy
    budget: int
    encoding: str
    given: Chat | None
    newest: Chat | None
    at: int | None
    begun: Begun | None = None
    memory: UserState | None = None

    @property
    def system_tokens(self) -> int | None:
        """Return the tokens of the system message, or None if they were counted in another
        encoding.
        """
        return self.head.system_tokens if self.head.encoding == self.encoding else None

    @property
    def conversation(self) -> Conversation:
        return conversation_of(self.scope, self.head, self.config, memory=self.memory)

    @property
    def kept(self) -> Kept:
        return kept_of(self.scope, self.head, self.config)


@dataclass(frozen=True, slots=True)
class _AfterAppend:
    """A session after an append, and the reads that were begun while the append was stored."""

    head: Head
    begun: Begun


@dataclass(frozen=True, slots=True)
class ReadContext:
    sessions: Sessions
    tokens: TokenCounter
    clock: Clock
    blocks: BlockReader = field(default_factory=BlockReader)
    contents: Contents | None = None

    def __call__(
        self,
        scope: SessionScope,
        *,
        given: Chat | None = None,
        newest: Chat | None = None,
        max_tokens: int | None = None,
        model: str | None = None,
        at: int | None = None,
        ahead: ReadAhead | None = None,
        head: Head | None = None,
    ) -> SessionContext:
        """Return the context within `max_tokens`, or else the window of `model`, or else the
        session's own budget.

        `given` is the message about to be sent. It is not stored, but its tokens are counted, and
        similar messages are searched. `newest` is a message that was just stored; similar messages
        are searched for it too. This takes two round trips; the session's blocks are read during
        the second one. With `at`, the result is the window alone, as it was after the message with
        that sequence number.

        `ahead` is what an append has begun to read, and `head` the session after it. If nobody
        else has changed the session, only its messages are left to read: one round trip.

        Raises `NotFound`, `BudgetTooSmall`, `Unprocessable` (`unknown_model`), `Unavailable`.
        """
        begun = None if ahead is None or at is not None else ahead.begun
        for _ in range(SNAPSHOT_TRIES):
            known = None if begun is None or head is None else self._known(begun, head)
            begun = None  # a second try reads the blocks itself
            plan = self._plan(
                scope, known, given=given, newest=newest, max_tokens=max_tokens, model=model, at=at
            )
            context = self._read(plan)
            if context is not None:
                return context
        raise Unavailable("The session is changing too fast to be read.", code="contention")

    def ahead(self, scope: SessionScope, *, newest: Chat | None) -> ReadAhead:
        """Return the function that an append calls with the session that it has read. `newest` is
        the user's message that the append stores.
        """
        return ReadAhead(scope, newest, self.blocks, self.clock)

    def _known(self, begun: Begun, head: Head) -> _AfterAppend | None:
        is_over = head.is_gone(seconds(self.clock.now()))
        return _AfterAppend(head, begun) if begun.is_for(head) and not is_over else None

    def _plan(
        self,
        scope: SessionScope,
        known: _AfterAppend | None,
        *,
        given: Chat | None,
        newest: Chat | None,
        max_tokens: int | None,
        model: str | None,
        at: int | None,
    ) -> _Plan:
        if known is None:
            opened = self.sessions.open(scope, settings=True)
            head, settings = live(opened, now=self.clock.now())
            memory = memory_of(opened)
        else:
            head, settings = known.head, known.begun.settings
            memory = None
        begun = None if known is None else known.begun
        config = parsed(dict(settings.memory))
        return _Plan(
            scope=scope,
            head=head if at is None else head_after(self.sessions, scope, head, seq=at),
            settings=settings,
            config=config,
            budget=max_tokens
            or budget_of(model, reserve=config.reserve_tokens)
            or config.max_tokens,
            encoding=self.tokens.encoding_for(model or config.model),
            given=given,
            newest=given or newest,
            at=at,
            begun=begun,
            memory=memory,
        )

    def _read(self, plan: _Plan) -> SessionContext | None:
        """Return the context, or None if the head's summary was withdrawn while the context was
        being read.
        """
        head, config = plan.head, plan.config
        reading = None if plan.begun is None else plan.begun.of(plan.conversation)
        if reading is None and config.blocks and plan.at is None:
            newest = None if plan.newest is None else text_of(plan.newest)
            reading = self.blocks.begin(
                plan.conversation, newest=newest, asks=plan.given is not None
            )
        summary = None
        if head.summary and config.keeps_window:
            summary, (head, stored) = parallel.run_both(
                lambda: self.sessions.compaction(plan.scope, head.summary),
                partial(self._window, plan),
            )
            if summary is None or (summary.summary is None and self._was_redacted(plan)):
                return None
        else:
            head, stored = self._window(plan)
        stored, is_whole = loaded(self.contents, stored, most=MOST_LOADED)
        stored = within(stored, most=MOST_PARTS)
        tools = search_tools() if self._offers_search(plan) else ()
        material = self._material(plan, stored, summary=summary, tools=tools)
        made = _Fitted(fit(material)) if reading is None else _with_memory(material, reading, plan)
        return SessionContext(
            fitted=made.fitted,
            head=head,
            config=config,
            budget=plan.budget,
            compaction=head.compaction,
            summary=summary,
            has_given=plan.given is not None,
            memory=made.memory,
            degraded=made.degraded if is_whole else (*made.degraded, "contents"),
            failures=made.failures,
            tools=tools,
            tools_tokens=material.taken,
            ids={message.seq: message.id for message in stored},
        )

    def _offers_search(self, plan: _Plan) -> bool:
        """Return whether the context offers the search tool. Without long-term memory, it doesn't,
        and no configuration may ask for the tool.
        """
        has_memory = (
            self.blocks.extractive is not None or "auto_recall" in plan.config.model_fields_set
        )
        return has_memory and plan.config.offers_search(plan.budget)

    def _was_redacted(self, plan: _Plan) -> bool:
        """Return whether a message of the session was redacted since the head was read. Its summary
        may then have been withdrawn.
        """
        head = self.sessions.open(plan.scope).head
        return head is None or head.redactions != plan.head.redactions

    def _material(
        self,
        plan: _Plan,
        stored: Sequence[Message],
        *,
        summary: Compaction | None,
        tools: Sequence[Mapping[str, Any]],
    ) -> Material:
        count = partial(self.tokens.count, encoding=plan.encoding)
        summary_as = plan.config.summary_as if isinstance(plan.config, Summarize) else "user"
        return Material(
            system=plan.settings.system,
            system_tokens=plan.system_tokens,
            summary=summary.summary if summary else None,
            summary_as=summary_as,
            messages=[
                weighed_in(message, encoding=plan.encoding, count=count) for message in stored
            ],
            given=plan.given,
            budget=plan.budget,
            count=count,
            taken=sum(count(json.dumps(tool)) for tool in tools),
        )

    def _window(self, plan: _Plan) -> tuple[Head, tuple[Message, ...]]:
        """Return the messages for a context, oldest first: as many as can fit, and the user's
        newest message.
        """
        head, keeps = plan.head, plan.config.keeps_window
        first = (
            head.window_start
            if keeps or plan.at is not None
            else max(head.window_start, head.last_user_seq)
        )
        if first > head.seq or (plan.given is not None and not keeps):
            return head, ()
        stored = (
            message
            for message in self.sessions.messages(
                plan.scope, first=first, last=head.seq, newest_first=True
            )
            if not head.is_withdrawn(message.seq)
        )
        if plan.at is not None:
            shown, last_user_seq = read_back(stored, budget=plan.budget)
            is_whole = all(message.role in UNSHOWN_ROLES for message in stored)
            head = counted(head, shown, last_user_seq=last_user_seq, is_whole=is_whole)
        else:
            shown = newest(stored, budget=plan.budget, last_user_seq=head.last_user_seq)
        # The newest turn was too long to be read whole, but a context always has its user message.
        if shown and first <= head.last_user_seq < shown[0].seq:
            shown = (*self.sessions.messages_at(plan.scope, [head.last_user_seq]), *shown)
        if head.pins and keeps:
            pinned = self.sessions.messages_at(plan.scope, [seq for seq, _ in head.pins])
            shown = (*(message for message in pinned if not head.is_withdrawn(message.seq)), *shown)
        return head, shown if keeps else newest_turn(shown)


@dataclass(frozen=True, slots=True)
class _Fitted:
    """A context with its window, and the contents of the blocks."""

    fitted: Fitted
    memory: MemoryPrompt = field(default_factory=MemoryPrompt)
    degraded: tuple[str, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)


def _with_memory(material: Material, reading: BlockReads, plan: _Plan) -> _Fitted:
    """Return the context with the blocks' contents for the user's newest message."""
    questions = (
        text_of(message.chat) for message in reversed(material.messages) if message.role == "user"
    )
    results = reading.results(next(questions, None))
    config = plan.config
    if config.memory_as == "split":
        fitted, memory = fit_split(material, results, kept=plan.kept, tags=config.tags)
    else:
        fitted, memory = fit_with_memory(
            material,
            results,
            session=plan.scope.session,
            memory_as=config.memory_as,
            tags=config.tags,
        )
    return _Fitted(
        fitted,
        memory,
        tuple(name for content in results for name in content.degraded),
        reading.failures,
    )

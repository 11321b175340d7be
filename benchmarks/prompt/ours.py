"""The contexts of Palimpsest in this process, for each strategy and each place of the memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from palimpsest.clock import FakeClock
from palimpsest.conversations.drafts import Draft
from palimpsest.memory.statements import Statement
from palimpsest.models.ports import Space, Vector
from palimpsest.scope import Scope
from palimpsest_local.in_process import in_process

from benchmarks.prompt import conversation
from benchmarks.prompt.conversation import Turn
from benchmarks.prompt.embedder import DIMENSION, vector
from benchmarks.prompt.measure import Chats, Measured

TENANT, USER, SESSION = Scope("prompt"), "sarah", "turns"
SECONDS = 40  # between two messages


class Words:
    """Implements `Embedder` with the embedder of the other memories in this benchmark."""

    space = Space("prompt-words", DIMENSION)

    def embed(self, texts: Sequence[str], *, as_questions: bool = False) -> list[Vector]:
        return [vector(text) for text in texts]


class Palimpsest:
    """A conversation with one configuration of its memory."""

    def __init__(self, memory: Mapping[str, Any]) -> None:
        self._clock = FakeClock(datetime(2026, 3, 2, 9, tzinfo=UTC))
        self._owner, self._session = TENANT.user(USER), TENANT.session(SESSION)
        made = in_process(
            TENANT, memory=memory, clock=self._clock, embedder=Words(), user=self._owner
        )
        self._service, self._work = made.service, made.work
        self._learn(conversation.at_first())
        self._append({"role": "system", "content": conversation.SYSTEM})

    def _learn(self, values: Iterable[tuple[str, str]]) -> None:
        for topic, value in values:
            statement = Statement(
                "fact", conversation.statement(topic, value), topic=topic, importance=0.7
            )
            self._service.remember(self._owner, [statement])
        self._work()
        self._clock.advance(SECONDS)

    def _append(self, chat: Mapping[str, Any]) -> None:
        self._service.append(
            self._session, [Draft(dict(chat))], user=USER, extract="never", allow_repeat=True
        )
        self._work()
        self._clock.advance(SECONDS)

    def talk(self, turn: Turn) -> tuple[Chats, int]:
        """Do the turn. Return the context with which its question is asked, and the tokens of its
        tools.
        """
        if turn.changed is not None:
            self._learn([turn.changed])
        question = {"role": "user", "content": turn.question}
        self._append(question)
        context = self._service.context(self._session, newest=question)
        self._append({"role": "assistant", "content": turn.answer})
        return context.messages, context.tools_tokens


def measured(memory: Mapping[str, Any], *, budget: int, turns: int) -> Measured:
    """Return the measurements of the conversation with this configuration."""
    memory = {"max_tokens": budget, **memory}
    ours, sums = Palimpsest(memory), Measured()
    for turn in conversation.conversation(turns):
        chats, tools = ours.talk(turn)
        sums.add(turn, chats, budget=budget - tools)
    return sums

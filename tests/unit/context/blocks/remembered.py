"""One user's memory within the process, and an eye on what is read of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from palimpsest.clock import FakeClock
from palimpsest.context.blocks.ports import Conversation
from palimpsest.conversations.configuration import parsed
from palimpsest.errors import ModelFailed
from palimpsest.memory.record import Source
from palimpsest.memory.statements import Statement
from palimpsest.models.ports import Completion
from palimpsest.models.usage import Usage
from palimpsest.scope import Scope

from tests.service import Service

ACME = Scope("acme")
SARAH = ACME.user("sarah")


def conversation(
    session: str = "s", *, user: str = "sarah", agent: str | None = None, **memory: Any
) -> Conversation:
    return Conversation(ACME.session(session), user, parsed(memory), agent)


class Watched:
    """Whatever it stands before, with every call counted; calls named in `failing` raise."""

    def __init__(self, watched: Any) -> None:
        self._watched = watched
        self.calls: Counter[str] = Counter()
        self.failing: dict[str, Exception] = {}

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            self.calls[name] += 1
            if name in self.failing:
                raise self.failing[name]
            return getattr(self._watched, name)(*args, **more)

        return call


@dataclass
class Remembered:
    """What is known of Sarah."""

    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        service = Service(clock=self.clock)
        self.store, self.remember = service.memories, service.memories_app.remember
        self.memories: Any = Watched(service.memories)
        self.facts: Any = Watched(service.facts)

    def learn(
        self, content: str, *, topic: str | None = None, user: str = "sarah", **more: Any
    ) -> str:
        """The id of what was learned."""
        kind = more.pop("type", "fact")
        source = Source(session=more.pop("session", None), seqs=tuple(more.pop("seqs", ())))
        statement = Statement(kind, content, topic=topic, source=source, **more)
        (made,) = self.remember(ACME.user(user), [statement])
        return made.record.id


@dataclass
class Picks:
    """A chat model that answers what it is told to, and keeps what it was asked."""

    answer: str | Exception = "1"
    asked: list[tuple[str, str]] = field(default_factory=list)

    def complete(
        self, *, instructions: str, text: str, max_tokens: int, model: str | None = None
    ) -> Completion:
        self.asked.append((instructions, text))
        if isinstance(self.answer, Exception):
            raise self.answer
        return Completion(self.answer, "selector", Usage(model_calls=1))

    def capacity(self, model: str | None = None) -> int:
        return 8_000


class SlowPicks(Picks):
    """One that answers when nobody waits any more."""

    def __init__(self) -> None:
        import threading

        super().__init__()
        self.released = threading.Event()

    def complete(
        self, *, instructions: str, text: str, max_tokens: int, model: str | None = None
    ) -> Completion:
        self.released.wait(timeout=30)
        raise ModelFailed("too late")

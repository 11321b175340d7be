"""What every block of memory can do for a session, and what it is told of the session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from palimpsest.conversations.configuration import Strategy
from palimpsest.errors import ReadOnlyBlock
from palimpsest.scope import SessionScope, UserScope

Brought_co = TypeVar("Brought_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session as a block sees it: whose it is, with which agent, and how its memory is configured."""

    scope: SessionScope
    user: str
    config: Strategy
    agent: str | None = None

    @property
    def owner(self) -> UserScope:
        return self.scope.owner.user(self.user)


class Memory(Protocol[Brought_co]):
    """One block, which brings a `Recollection`, or all of them, which make a context.

    Everything raises `Unavailable` if a store can't answer.
    """

    def get(self, session: Conversation, message: str | None = None) -> Brought_co:
        """What it brings for the message about to be sent, if there is one."""

    def update(self, session: Conversation, message: str) -> None:
        """Take in what the session says: `message` is the newest of it. Raises `ReadOnlyBlock`."""

    def delete(self, session: Conversation) -> None:
        """Forget what came from the session. Raises `ReadOnlyBlock`."""


Update = Callable[[Conversation, str], None]
Delete = Callable[[Conversation], None]


def read_only(*_asked: object) -> None:
    """What stands for `Update` and `Delete` where a conversation changes nothing. Raises `ReadOnlyBlock`."""
    raise ReadOnlyBlock("This block can't be changed from a conversation.")

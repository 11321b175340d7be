"""What a block of memory does for a session, and what it brings into the context."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

from palimpsest.conversations.blocks import BlockType
from palimpsest.conversations.configuration import Strategy
from palimpsest.errors import ReadOnlyBlock
from palimpsest.memory.record import RecordType, Source
from palimpsest.scope import SessionScope, UserScope

ItemKind = RecordType | Literal["static", "message"]

Content_co = TypeVar("Content_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Item:
    """One fact, record or past message that a block brings. `said_at` is in epoch milliseconds;
    `speaker` is the role of a past message. `who` is the name of whoever said the text in their own
    words; None if nobody is quoted. What `score` means depends on the block; a higher one fits
    better.
    """

    id: str
    kind: ItemKind
    text: str
    score: float | None = None
    said_at: int | None = None
    source: Source = field(default_factory=Source)
    agent: str | None = None
    speaker: str | None = None
    who: str | None = None

    def is_from(self, source: Source) -> bool:
        """Whether it comes from the messages of a source, of one session, or from some of them."""
        return self.source.session == source.session and set(source.seqs).issuperset(
            self.source.seqs
        )

    def is_held(self, session: str, seqs: frozenset[int]) -> bool:
        """Whether it came from messages of this session that are all among `seqs`."""
        return (
            self.source.session == session
            and bool(self.source.seqs)
            and seqs.issuperset(self.source.seqs)
        )


@dataclass(frozen=True, slots=True)
class BlockContent:
    """What a block brings, the best first, and how much of it may be shown: at most `max_tokens`
    and `max_items` (None: as much as the context has room for). `degraded` names what could not be
    asked.
    """

    block: BlockType
    items: tuple[Item, ...] = ()
    max_tokens: int | None = None
    max_items: int | None = None
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session as a block sees it: its user, its agent, and the configuration of its memory."""

    scope: SessionScope
    user: str
    config: Strategy
    agent: str | None = None

    @property
    def owner(self) -> UserScope:
        return self.scope.owner.user(self.user)


class MemoryBlock(Protocol[Content_co]):
    """One block, whose `get` returns a `BlockContent`, or all blocks together, whose `get` returns
    a whole context.

    Every method raises `Unavailable` if a store can't answer.
    """

    def get(self, session: Conversation, message: str | None = None) -> Content_co:
        """Return what is remembered. `message` is the user's message that is about to be sent, if
        there is one.
        """

    def update(self, session: Conversation, message: str) -> None:
        """Remember the newest message of the session. Raises `ReadOnlyBlock`."""

    def delete(self, session: Conversation) -> None:
        """Forget what came from the session. Raises `ReadOnlyBlock`."""


Update = Callable[[Conversation, str], None]

Delete = Callable[[Conversation], None]


def read_only(*_asked: object) -> None:
    """The `Update` and `Delete` of a block that conversations may not change. Raises
    `ReadOnlyBlock`.
    """
    raise ReadOnlyBlock("This block can't be changed from a conversation.")

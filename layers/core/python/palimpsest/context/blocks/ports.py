"""The interface of a memory block, and the items that it adds to a context."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

from palimpsest.conversations.blocks import BlockType
from palimpsest.conversations.configuration import Strategy
from palimpsest.errors import ReadOnlyBlock
from palimpsest.memory.record import RecordType, Source, UserState
from palimpsest.profile.kinds import SectionKind
from palimpsest.scope import SessionScope, UserScope

ItemKind = RecordType | Literal["static", "message"]

Shows = Callable[[str, int], bool]
"""Returns whether a context shows a message, by its session and sequence number."""

Content_co = TypeVar("Content_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Item:
    """One fact, record or past message of a block.

    `score` says how well it fits. A higher score is better, and scores of different blocks can't be
    compared. `said_at` is in epoch milliseconds. `speaker` is the role of a past message. `said_by`
    is `user`, `assistant`, `tool`, or the name of another person whose words the item has. `who`
    names the speaker if the text quotes one, else it is None.

    `when` says when the content of a record happens, happened or was due. `rests_on_changed` is
    true if the record rests on another record that has changed. `ended_at` is when the record
    ended, in epoch milliseconds, or None if it is valid. `is_asked_for` is false for a record that
    shares no word with the user's newest message. `section` is the section of the user's profile,
    for a line of the profile. `is_material` is true for a past message that is no testimony of its
    speaker.
    """

    id: str
    kind: ItemKind
    text: str
    score: float | None = None
    said_at: int | None = None
    source: Source = field(default_factory=Source)
    agent: str | None = None
    speaker: str | None = None
    said_by: str = "user"
    when: str | None = None
    rests_on_changed: bool = False
    who: str | None = None
    is_asked_for: bool = True
    ended_at: int | None = None
    section: SectionKind | None = None
    is_material: bool = False

    def is_from(self, source: Source) -> bool:
        """Return whether the item comes from some or all messages of this source. These messages
        are all in one session.
        """
        return self.source.session == source.session and set(source.seqs).issuperset(
            self.source.seqs
        )

    def is_held(self, session: str, seqs: frozenset[int]) -> bool:
        """Return whether all messages of the item are in this session and among `seqs`."""
        return (
            self.source.session == session
            and bool(self.source.seqs)
            and seqs.issuperset(self.source.seqs)
        )


@dataclass(frozen=True, slots=True)
class StableItems:
    """The items of a block in an order that no question changes. They are the items that were known
    when the stable part of the session's contexts was frozen.

    `replaced` maps the id of each item that is not true any more to the item that is true now.
    `added` has the items that were stored since.
    """

    items: tuple[Item, ...] = ()
    replaced: Mapping[str, Item] = field(default_factory=dict)
    added: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class BlockContent:
    """The items of a block, the best first. A context shows at most `max_items` of them, with
    `max_tokens` tokens (None: as many as fit). `stable` are the items that every context shows in
    the same place. `degraded` names the parts that failed.
    """

    block: BlockType
    items: tuple[Item, ...] = ()
    max_tokens: int | None = None
    max_items: int | None = None
    degraded: tuple[str, ...] = ()
    stable: StableItems = field(default_factory=StableItems)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session as a block sees it: its user, its agent, and the configuration of its memory. The
    stable part of its contexts shows what was known at `frozen_at` (epoch milliseconds; None: now).
    `memory` is the state of the user's memory as it was read together with the session, or None if
    it was not read. `shows` says whether its contexts show a message, by its session and sequence
    number. It is None if that is known only once a context is put together.
    """

    scope: SessionScope
    user: str
    config: Strategy
    agent: str | None = None
    frozen_at: int | None = None
    memory: UserState | None = None
    shows: Shows | None = None

    @property
    def owner(self) -> UserScope:
        return self.scope.owner.user(self.user)


class MemoryBlock(Protocol[Content_co]):
    """A block of a session's memory. `get` of one block returns a `BlockContent`. An object that
    combines all blocks also has these methods, and its `get` returns a whole context.

    Every method raises `Unavailable` if a store can't answer.
    """

    def get(self, session: Conversation, message: str | None = None) -> Content_co:
        """Return the remembered items. `message` is the user's message that is about to be sent, if
        there is one.
        """

    def update(self, session: Conversation, message: str) -> None:
        """Remember the newest message of the session. Raises `ReadOnlyBlock`."""

    def delete(self, session: Conversation) -> None:
        """Forget everything that came from the session. Raises `ReadOnlyBlock`."""


Update = Callable[[Conversation, str], None]

Delete = Callable[[Conversation], None]


def read_only(*_asked: object) -> None:
    """Raise `ReadOnlyBlock`. This is the `Update` and `Delete` of a block that conversations may
    not change.
    """
    raise ReadOnlyBlock("This block can't be changed from a conversation.")


class SimilarMessages(Protocol):
    def __call__(
        self, owner: UserScope, text: str, *, k: int, least: float | None, shows: Shows | None
    ) -> Sequence[Item]:
        """Return the k past messages that are most similar to the text, the most similar first.
        `score` is the similarity (-1..1). Messages below `least` do not count (None: the embedding
        model's own limit). Messages of deleted and expired sessions are left out, and so are
        messages for which `shows` returns true. Raises `Unavailable` and `ModelFailed`.
        """

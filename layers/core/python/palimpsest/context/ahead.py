"""Reads the parts of a context other than its messages, while the append that asks for the context
is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from palimpsest.clock import Clock, seconds
from palimpsest.context.blocks.ports import Conversation
from palimpsest.context.blocks.reader import BlockReader, BlockReads
from palimpsest.context.split import Kept
from palimpsest.conversations.configuration import Strategy, parsed
from palimpsest.conversations.message import Chat, text_of
from palimpsest.conversations.ports import Opened
from palimpsest.conversations.session import Head, Settings
from palimpsest.memory.record import UserState
from palimpsest.scope import SessionScope


@dataclass(frozen=True, slots=True)
class Begun:
    """The session as the append read it, and its blocks, which are being read."""

    head: Head
    settings: Settings
    reading: BlockReads | None

    def is_for(self, head: Head) -> bool:
        """Return whether at most this append has changed the session since it was read. The result
        is False if the window's start has moved or a message was redacted.
        """
        read = self.head
        is_same = (head.user, head.epoch, head.base, head.version) == (
            read.user,
            read.epoch,
            read.base,
            read.version,
        )
        has_moved = (head.window_start, head.redactions) != (read.window_start, read.redactions)
        return (is_same or head.is_next_of(read)) and not has_moved

    def of(self, session: Conversation) -> BlockReads | None:
        """Return the blocks for the session as it is after the append."""
        return None if self.reading is None else replace(self.reading, session=session)


@dataclass(slots=True)
class ReadAhead:
    """Reads ahead for one append, which calls it with the session that it has read. For a session
    that does not exist yet, nothing is read. `newest` is the user's message that is being stored.
    """

    scope: SessionScope
    newest: Chat | None
    blocks: BlockReader
    clock: Clock
    begun: Begun | None = None

    def __call__(self, opened: Opened) -> None:
        head, settings = opened.head, opened.settings
        if head is None or settings is None or head.is_gone(seconds(self.clock.now())):
            self.begun = None
            return
        config = parsed(dict(settings.memory))
        reading = None
        if config.blocks:
            newest = None if self.newest is None else text_of(self.newest)
            session = conversation_of(self.scope, head, config, memory=memory_of(opened))
            reading = self.blocks.begin(session, newest=newest, asks=False)
        self.begun = Begun(head, settings, reading)


def memory_of(opened: Opened) -> UserState | None:
    """Return the state of the user's memory, or None if it was not read with the session."""
    version = opened.user_version
    return None if version is None else UserState(opened.epoch, version)


def conversation_of(
    scope: SessionScope, head: Head, config: Strategy, *, memory: UserState | None = None
) -> Conversation:
    """Return the session in the form that its blocks read. `memory` is the state of the user's
    memory if it is known.
    """
    # No provider caches a short context, so short contexts need not begin the same.
    is_frozen = head.is_cacheable and config.keeps_window
    frozen_at = (head.frozen_at or None) if is_frozen else None
    shows = kept_of(scope, head, config).has if config.memory_as == "split" else None
    return Conversation(
        scope, head.user, config, head.agent, frozen_at=frozen_at, memory=memory, shows=shows
    )


def kept_of(scope: SessionScope, head: Head, config: Strategy) -> Kept:
    """Return the messages that the session's contexts show until the next compaction."""
    pins = {seq for seq, _ in head.pins}
    first = head.window_start if config.keeps_window else head.last_user_seq
    return Kept(scope.session, lambda seq: seq >= first or seq in pins)

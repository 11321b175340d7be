"""Marks what old messages say of memories that their user has deleted since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from palimpsest.clock import Clock, milliseconds
from palimpsest.conversations.drafts import Draft
from palimpsest.conversations.message import Message, text_of
from palimpsest.conversations.spoken import said_at, sent_at
from palimpsest.memory.burials import Buried, States, merged
from palimpsest.memory.ports import Memories
from palimpsest.scope import UserScope

FRESH = 60_000
"""Milliseconds. A message with a younger timestamp is said now."""


@dataclass(frozen=True, slots=True)
class HideOldWords:
    """Of messages that come in again: in another session, or with an import."""

    memories: Memories
    clock: Clock
    states: States

    def __call__(
        self, scope: UserScope, drafts: Sequence[Draft], is_transcript: bool
    ) -> Sequence[Draft]:
        """As `HidesOld`. Reads the user's burials only if a message may be old. Raises
        `Unavailable`.
        """
        now = milliseconds(self.clock.now())
        times = [_time(draft) for draft in drafts]
        if not any(is_transcript if at is None else at < now - FRESH for at in times):
            return drafts
        buried = self._buried(scope)
        if not buried:
            return drafts
        both = zip(drafts, times, strict=True)
        return [self._of(draft, at, buried, is_transcript=is_transcript) for draft, at in both]

    def _of(self, draft: Draft, at: int | None, buried: Buried, *, is_transcript: bool) -> Draft:
        if at is not None:
            return _marked(draft, buried, at=at)
        return _marked(draft, buried.words_alone, at=None) if is_transcript else draft

    def restored(self, scope: UserScope, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages of an import, with marks on what was deleted after they were said."""
        buried = self._buried(scope)
        if not buried:
            return messages
        return [_marked(each, buried, at=milliseconds(said_at(each))) for each in messages]

    def _buried(self, scope: UserScope) -> Buried:
        return Buried(scope, self.memories.burials(scope), self.states)


def _time(draft: Draft) -> int | None:
    sent = sent_at(draft.timestamp)
    return None if sent is None else milliseconds(sent)


Said = TypeVar("Said", Draft, Message)


def _marked(said: Said, buried: Buried, *, at: int | None) -> Said:
    text = text_of(said.chat)
    ranges = buried.ranges(text, at=at)
    return replace(said, hidden=merged(said.hidden, ranges)) if ranges else said

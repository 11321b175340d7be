"""Marks words in messages that repeat memories which the user has deleted since these words were
said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from palimpsest.clock import Clock, milliseconds
from palimpsest.conversations.drafts import Draft
from palimpsest.conversations.message import Message, text_of
from palimpsest.conversations.spoken import may_be_old, said_at, sent_at
from palimpsest.memory.burials import Buried, Ranges, States, merged
from palimpsest.memory.ports import Memories
from palimpsest.scope import UserScope


@dataclass(frozen=True, slots=True)
class HideOldWords:
    """Hides deleted words in messages that arrive again, in another session or by an import."""

    memories: Memories
    clock: Clock
    states: States

    def __call__(
        self, scope: UserScope, drafts: Sequence[Draft], *, is_transcript: bool
    ) -> Sequence[Draft]:
        """Return the messages as `HidesOld` describes. The user's burials are read only if a
        message may be old. Raises `Unavailable`.
        """
        timestamps = [draft.timestamp for draft in drafts]
        if not may_be_old(timestamps, now=self.clock.now(), is_transcript=is_transcript):
            return drafts
        buried = self._buried(scope)
        if not buried:
            return drafts
        times, exact = [_time(draft) for draft in drafts], buried.words_alone

        def hidden(text: str, at: int | None) -> Ranges:
            if at is not None:
                return buried.ranges(text, at=at)
            return exact.ranges(text) if is_transcript else ()

        return _marked(drafts, times, hidden, buried)

    def restored(self, scope: UserScope, messages: Sequence[Message]) -> Sequence[Message]:
        """Return the messages of an import. Words that were deleted after they were said are
        marked.
        """
        buried = self._buried(scope)
        if not buried:
            return messages
        times = [milliseconds(said_at(message)) for message in messages]
        return _marked(messages, times, lambda text, at: buried.ranges(text, at=at), buried)

    def _buried(self, scope: UserScope) -> Buried:
        return Buried(scope, self.memories.burials(scope), self.states)


def _time(draft: Draft) -> int | None:
    sent = sent_at(draft.timestamp)
    return None if sent is None else milliseconds(sent)


Said = TypeVar("Said", Draft, Message)


def _marked(
    messages: Sequence[Said],
    times: Sequence[int | None],
    hidden: Callable[[str, int | None], Ranges],
    buried: Buried,
) -> list[Said]:
    """Return the messages with marks on their hidden words, and on words in answers that repeat
    these.
    """
    done: list[Said] = []
    repeats = False
    for message, at in zip(messages, times, strict=True):
        text = text_of(message.chat)
        ranges = hidden(text, at)
        if message.chat["role"] == "user":
            repeats = bool(ranges)
        elif repeats:
            ranges = merged(ranges, buried.echoes(text))
        done.append(replace(message, hidden=merged(message.hidden, ranges)) if ranges else message)
    return done

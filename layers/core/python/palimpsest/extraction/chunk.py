"""A chunk: the part of a conversation that one extraction step reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from palimpsest.conversations.message import SYSTEM_ROLES, Message, text_of
from palimpsest.conversations.spoken import as_said, without_recalled
from palimpsest.extraction.testimony.reading import Reader, Withheld

CONTEXT_MESSAGES = 2
"""How many messages before a chunk are read to understand it."""

MOST_MESSAGES = 40
"""The most messages of one chunk. More messages would give more findings than one transaction
holds.
"""

MOST_READ = 400

MARKUP_TOKENS = 30  # tokens of the markup around a message in a prompt


@dataclass(frozen=True, slots=True)
class Chunk:
    """The messages `first` through `last` of a session, from which one step extracts. `messages`
    has the messages to read, without recalled memories (`as_said`). `skipped` has the reason for
    each other message, by sequence number. The messages `before` the chunk are read only to
    understand it. Only the users' own words are read; `withheld` has the other words of their
    messages, and `reasons` why each part of these is withheld. `material` has the messages up to
    the chunk's end that only other messages show to be material.
    """

    first: int
    last: int
    messages: tuple[Message, ...]
    skipped: Mapping[int, str] = field(default_factory=dict)
    before: tuple[Message, ...] = ()
    withheld: Mapping[int, Withheld] = field(default_factory=dict)
    reasons: Mapping[int, Sequence[str]] = field(default_factory=dict)
    material: frozenset[int] = frozenset()

    def until(self, last: int) -> Chunk:
        """Return the part of the chunk that ends with message `last`."""
        return replace(
            self,
            last=last,
            messages=tuple(message for message in self.messages if message.seq <= last),
            skipped={seq: reason for seq, reason in self.skipped.items() if seq <= last},
            material=frozenset(seq for seq in self.material if seq <= last),
        )


def skip_reason(message: Message) -> str | None:
    """Return why nothing is extracted from a message, or None."""
    if message.role in SYSTEM_ROLES:
        return "system"
    if message.role == "tool":
        return "tool"
    text = text_of(message.chat)
    if not text.strip():
        return "empty"
    return None if without_recalled(text).strip() else "recalled"


def chunk_of(
    messages: Iterable[Message],
    *,
    first: int,
    last: int,
    room: int | None,
    before: Sequence[Message] = (),
    reader: Reader | None = None,
) -> Chunk:
    """Return the first messages of a range that a step can read within `room` tokens (None: all of
    them), and at least one message. If the rest of the range has nothing to read, the chunk reaches
    through `last`. `reader` separates testimony from material, and has read the messages before the
    range.
    """
    reader = reader or Reader()
    read: list[Message] = []
    skipped: dict[int, str] = {}
    weight, end = 0, first - 1
    for message in messages:
        spoken = as_said(message)
        is_deleted = bool(message.hidden) and not text_of(spoken.chat).strip()
        reason = skip_reason(message) or ("deleted" if is_deleted else reader.reads(spoken))
        weight += message.tokens + MARKUP_TOKENS if reason is None else 0
        # Without `room`, the weight is compared with itself, so the chunk is never too heavy.
        is_full = (
            reason is None
            and bool(read)
            and (len(read) == MOST_MESSAGES or weight > (room or weight))
        )
        # A parked chunk (without `room`) keeps its bounds, so that its line can be replaced
        # (docs/adr/0011).
        if room is not None and (is_full or len(read) + len(skipped) == MOST_READ):
            chunk = Chunk(first, end, tuple(read), skipped, tuple(before))
            return _without_taken_back(chunk, reader)
        if reason is None:
            read.append(reader.own(spoken))
        else:
            skipped[message.seq] = reason
        end = message.seq
    chunk = Chunk(first, last, tuple(read), skipped, tuple(before))
    return _without_taken_back(chunk, reader)


def _without_taken_back(chunk: Chunk, reader: Reader) -> Chunk:
    """Return the chunk without the messages that a later message took back, and with the withheld
    words of the other messages.
    """
    taken = {m.seq: reader.taken_back[m.seq] for m in chunk.messages if m.seq in reader.taken_back}
    return replace(
        chunk,
        messages=tuple(message for message in chunk.messages if message.seq not in taken),
        skipped={**chunk.skipped, **taken},
        before=tuple(filter(None, map(reader.heard, chunk.before))),
        withheld=dict(reader.withheld),
        reasons=dict(reader.reasons),
        material=frozenset(seq for seq in reader.material if seq <= chunk.last),
    )


def context_of(newest_first: Iterable[Message]) -> tuple[Message, ...]:
    """Return the readable messages right before a chunk, oldest first."""
    return tuple(reversed(list(_readable(newest_first))))


def _readable(messages: Iterable[Message]) -> Iterator[Message]:
    left = CONTEXT_MESSAGES
    for message in messages:
        if skip_reason(message) is None and not message.is_off_record:
            yield as_said(message)
            left -= 1
        if not left:
            return

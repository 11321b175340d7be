"""Extraction: the part of a conversation that one step reads, and the extractor that finds what to remember in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from palimpsest.conversations import SYSTEM_ROLES, Message, spoken, text_of, without_recalled
from palimpsest.graph import Relation
from palimpsest.memory import Method
from palimpsest.models import Usage

CONTEXT_MESSAGES = 2
"""How many messages before a chunk are read to understand it."""
MOST_MESSAGES = 40
"""The most messages of one chunk: more of them would give more findings than one transaction holds."""
MOST_READ = 400
MARKUP_TOKENS = 30  # around a message in a prompt


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that messages say, as an extractor wrote it; it has not been checked.

    `quote` is the text that it rests on, `seqs` are the sequence numbers of the messages that it cites. `claims` holds
    any `user_id`, `tenant` or `session` that the extractor named without being asked. `relations` are what it says
    of people and things, for the graph.
    """

    type: str
    content: str
    seqs: tuple[int, ...]
    quote: str
    topic: str | None = None
    subject: str | None = None
    keywords: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    importance: float = 0.5
    confidence: float = 1.0
    claims: Mapping[str, str] = field(default_factory=dict)
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """The messages `first` through `last` of a session, from which one step extracts.

    `messages` are those to be read, without recalled memories (`spoken`); `skipped` gives the reason for each other one
    by its sequence number. The messages `before` the chunk are read only to understand it.
    """

    first: int
    last: int
    messages: tuple[Message, ...]
    skipped: Mapping[int, str] = field(default_factory=dict)
    before: tuple[Message, ...] = ()

    def until(self, last: int) -> Chunk:
        """The part of the chunk that ends with message `last`."""
        return replace(
            self,
            last=last,
            messages=tuple(message for message in self.messages if message.seq <= last),
            skipped={seq: reason for seq, reason in self.skipped.items() if seq <= last},
        )


def skip_reason(message: Message) -> str | None:
    """Why nothing is extracted from a message, or None."""
    if message.role in SYSTEM_ROLES:
        return "system"
    if message.role == "tool":
        return "tool"
    text = text_of(message.chat)
    if not text.strip():
        return "empty"
    return None if without_recalled(text).strip() else "recalled"


def chunk_of(
    messages: Iterable[Message], *, first: int, last: int, room: int | None, before: Sequence[Message] = ()
) -> Chunk:
    """The first messages of a range that a step can read within `room` tokens (None: all); at least one to be read.

    It reaches through `last` if no more messages come: the rest of the range is empty.
    """
    read: list[Message] = []
    skipped: dict[int, str] = {}
    weight, end = 0, first - 1
    for message in messages:
        reason = skip_reason(message)
        weight += message.tokens + MARKUP_TOKENS if reason is None else 0
        is_full = reason is None and bool(read) and (len(read) == MOST_MESSAGES or weight > (room or weight))
        if room is not None and (is_full or len(read) + len(skipped) == MOST_READ):
            return Chunk(first, end, tuple(read), skipped, tuple(before))
        if reason is None:
            read.append(spoken(message))
        else:
            skipped[message.seq] = reason
        end = message.seq
    return Chunk(first, last, tuple(read), skipped, tuple(before))


def context_of(newest_first: Iterable[Message]) -> tuple[Message, ...]:
    """The readable messages right before a chunk, oldest first."""
    return tuple(reversed(list(_readable(newest_first))))


def _readable(messages: Iterable[Message]) -> Iterator[Message]:
    left = CONTEXT_MESSAGES
    for message in messages:
        if skip_reason(message) is None:
            yield spoken(message)
            left -= 1
        if not left:
            return


def fitting(findings: Sequence[Finding], *, most: int, last: int) -> int:
    """The last message up to which there are at most `most` findings; at least the first message that has any."""
    ends = sorted(max(finding.seqs) for finding in findings)
    if len(ends) <= most:
        return last
    through = max((end for end in ends if end < ends[most]), default=0)
    return through or ends[0]


@dataclass(frozen=True, slots=True)
class Extraction:
    """What an extractor found in a chunk's messages up to message `through`; later ones have not been extracted.

    `skipped` gives the reason for each message in which it found nothing to remember, by sequence number, where it can
    say so; `dropped` counts, by reason, the findings in an answer that could not be read. `prompt_hash` names the
    prompt.
    """

    findings: tuple[Finding, ...]
    through: int
    method: Method
    skipped: Mapping[int, str] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    model: str | None = None
    prompt_hash: str | None = None
    usage: Usage = field(default_factory=Usage)


class Extractor(Protocol):
    def capacity(self, *, prompt: str | None) -> int:
        """How many tokens of messages one step can read."""

    def extract(self, chunk: Chunk, *, prompt: str | None, whole: bool = False) -> Extraction:
        """Find what the chunk's messages say, without checking it; the messages before it only help to understand.

        It reads at least the first message; with `whole` all of them, even if findings are lost. A message too large
        for the step is cut in the middle. `prompt` adds to the task and changes no rule. It makes one call, and one
        more to repair an answer. It raises the errors of `ChatModel`; an answer of no use is a `ModelOutputInvalid`,
        never an empty extraction.
        """

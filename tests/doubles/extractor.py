"""An extractor that finds what messages state in a form that it knows, or what it is made to
find.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from palimpsest.conversations.message import text_of
from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.finding import Finding
from palimpsest.extraction.ports import Extraction
from palimpsest.models.usage import Usage

_STATEMENT = re.compile(r"(fact|event|instruction|task)(?:\[(\w+)\])?: (.+)")

Finds = Callable[[Chunk], Iterable[Finding]]


def stated(chunk: Chunk) -> list[Finding]:
    """What messages say by the form `fact[topic]: content`, one finding each line."""
    findings = []
    for message in chunk.messages:
        for kind, topic, content in _STATEMENT.findall(text_of(message.chat)):
            findings.append(
                Finding(kind, content, (message.seq,), content, topic=topic or None, importance=0.8)
            )
    return findings


@dataclass
class Extracts:
    """An extractor that finds what `finds` finds, in chunks of at most `room` tokens; `failure` is
    raised while set.
    """

    room: int = 100_000
    failure: Exception | None = None
    finds: Finds = stated
    reaches: Callable[[Chunk], int] = lambda chunk: chunk.last
    read: list[tuple[int, ...]] = field(default_factory=list)
    before: list[tuple[int, ...]] = field(default_factory=list)

    def capacity(self, *, prompt: str | None) -> int:
        return self.room

    def extract(self, chunk: Chunk, *, prompt: str | None, whole: bool = False) -> Extraction:
        self.read.append(tuple(message.seq for message in chunk.messages))
        self.before.append(tuple(message.seq for message in chunk.before))
        if self.failure is not None:
            raise self.failure
        return Extraction(
            findings=tuple(self.finds(chunk)),
            through=chunk.last if whole else self.reaches(chunk),
            method="model",
            model="gpt-4.1-nano",
            prompt_hash="abc",
            usage=Usage(1, 1000, 100),
        )

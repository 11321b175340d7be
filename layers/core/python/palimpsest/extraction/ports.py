"""What finds things to remember in a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from palimpsest.extraction.chunk import Chunk, Finding
from palimpsest.memory.records import Method
from palimpsest.models.ports import Usage


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a chunk's messages say, as far as message `through`: what comes behind it has not been extracted.

    `skipped` names messages in which there is nothing to keep, by reason, where the extractor can tell; `dropped`
    counts what it named in a shape that can't be read. `prompt_hash` names the prompt that made it.
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
        """Tokens of messages that one step can read."""

    def extract(self, chunk: Chunk, *, prompt: str | None, whole: bool = False) -> Extraction:
        """What the chunk's messages say; those before it only help to understand them. Nothing of it is checked yet.

        Reaches at least through the first message; with `whole` through the last, even if something is lost then. A
        message too large for the step is cut in the middle. `prompt` replaces the task, not the rules. At most one
        model call and one repair; errors as for `ChatModel`: an answer of which nothing can be used is one
        (`ModelOutputInvalid`), never an extraction that found nothing.
        """

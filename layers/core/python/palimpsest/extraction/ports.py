"""The port of an extractor, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.finding import Finding
from palimpsest.memory.record import Method
from palimpsest.models.usage import Usage


@dataclass(frozen=True, slots=True)
class Extraction:
    """The findings of an extractor in a chunk's messages up to message `through`; later ones have
    not been extracted.

    `skipped` gives the reason for each message in which it found nothing to remember, by sequence
    number, where it can say so; `dropped` counts, by reason, the findings in an answer that could
    not be read. `prompt_hash` names the prompt.
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
        """Find what the chunk's messages say, without checking it; the messages before it only help
        to understand.

        It reads at least the first message; with `whole` all of them, even if findings are lost. A
        message too large for the step is cut in the middle. `prompt` adds to the task and changes
        no rule. It makes one call, and one more to repair an answer. It raises the errors of
        `ChatModel`; an answer of no use is a `ModelOutputInvalid`, never an empty extraction.
        """

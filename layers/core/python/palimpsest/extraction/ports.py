"""The port of an extractor, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.finding import Finding
from palimpsest.memory.record import Method
from palimpsest.models.usage import Usage

NOTHING_STATED = "nothing_stated"
"""The reason for a user's message in which no statement was found."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """The findings of an extractor in a chunk's messages up to message `through`. Later messages
    have not been extracted. `skipped` has the reason for each message without a finding, by
    sequence number, if the extractor gives one. `dropped` counts findings of an answer that could
    not be read, by reason. `prompt_hash` names the prompt.
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
        """Return how many tokens of messages one step can read, with this addition to the
        prompt.
        """

    def extract(self, chunk: Chunk, *, prompt: str | None, whole: bool = False) -> Extraction:
        """Find statements in the chunk's messages, without checking them. The messages before the
        chunk only help to understand it. At least the first message is read; with `whole` all
        messages are read, even if findings are lost. A message that is too large for the step is
        cut in the middle. `prompt` adds to the task and changes no rule. It makes one call of the
        model, and one more to repair an answer. It raises the errors of `ChatModel`. An unusable
        answer raises `ModelOutputInvalid`; it is never an empty extraction.
        """

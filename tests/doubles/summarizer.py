"""A summariser that names what it read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from palimpsest.conversations.message import Message
from palimpsest.conversations.ports import Summary, SummaryRequest
from palimpsest.models.usage import Usage


@dataclass
class RecordingSummarizer:
    """Names the messages that it read, and notes the models that it was to call; fails as long as
    `failure` is set.
    """

    room: int = 100_000
    fills_its_room: bool = False
    failure: Exception | None = None
    read: list[tuple[int, ...]] = field(default_factory=list)
    models: list[str | None] = field(default_factory=list)

    def capacity(self, wanted: SummaryRequest) -> int:
        return self.room

    def summarize(
        self, messages: Sequence[Message], wanted: SummaryRequest, *, previous: str | None
    ) -> Summary:
        self.models.append(wanted.model)
        self.read.append(tuple(message.seq for message in messages))
        if self.failure is not None:
            raise self.failure
        text = f"up to {messages[-1].seq}"
        if self.fills_its_room:
            text = f"{text} ".ljust(4 * wanted.max_tokens, "x")
        return Summary(text, method="extractive", usage=Usage(model_calls=1))

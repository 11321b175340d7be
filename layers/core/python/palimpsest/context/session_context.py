"""A session's context, ready to send: its messages with the system message, the summary, the memory
and the tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from palimpsest.context.formats import ContextFormat, FormattedMessages
from palimpsest.context.prompt import MemoryPrompt
from palimpsest.conversations.configuration import Strategy, Summarize
from palimpsest.conversations.message import Chat
from palimpsest.conversations.session import Compaction, CompactionState, Head
from palimpsest.conversations.window.fit import Fitted


@dataclass(frozen=True, slots=True)
class SessionContext:
    """Chat messages that are ready to send, with their tokens. `compaction` says whether a
    compaction of messages over the budget is pending or has failed.

    `memory` is the memory from the session's blocks. `tools` are definitions of tools for the
    model, of `tools_tokens` tokens. Messages, memory and tools together keep within the `budget`
    (tokens). `degraded` names the parts that failed, and `failures` has their errors (a code, or an
    error's name). `summary` is the compaction whose text comes before the window. `has_given` is
    true if a message about to be sent was counted.
    """

    fitted: Fitted
    head: Head
    config: Strategy
    budget: int
    compaction: CompactionState
    summary: Compaction | None = None
    has_given: bool = False
    memory: MemoryPrompt = field(default_factory=MemoryPrompt)
    degraded: tuple[str, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[Mapping[str, Any], ...] = ()
    tools_tokens: int = 0
    ids: Mapping[int, str] = field(default_factory=dict)

    @property
    def total_tokens(self) -> int:
        """The tokens of messages, tools, and a memory outside the messages."""
        beside = self.memory.tokens if self.config.memory_as == "none" else 0
        return self.fitted.tokens + self.tools_tokens + beside

    @property
    def messages(self) -> Sequence[Chat]:
        """The messages, ready to send."""
        return self.fitted.messages

    def tools_for(self, form: ContextFormat) -> Sequence[Mapping[str, Any]]:
        """Return the definitions of the tools in the form that this API takes."""
        return search_tools(form) if self.tools else ()

    def refs(self, written: FormattedMessages) -> Sequence[tuple[int, str] | None]:
        """Return, for each written message, the sequence number and the id of the stored message
        that it shows (the first one if it shows several). Return None for a message that was made
        for the context, such as the system message, memory, the summary, the message about to be
        sent, or the replacement of a missing result.
        """
        places = [
            None if number is None else self.fitted.places[number] for number in written.origins
        ]
        return [None if seq is None else (seq, self.ids[seq]) for seq in places]

    @property
    def loses_turns(self) -> bool:
        """Return whether the context lacks turns of the window that a summary could replace. It is
        false if the caller set the budget, or if a summary is being made.
        """
        is_folded = isinstance(self.config, Summarize) and self.compaction == "none"
        is_own_budget = self.budget >= self.config.max_tokens
        return is_folded and is_own_budget and not self._shows_window

    @property
    def _pinned(self) -> int:
        """Return the number of messages before the window that the context shows."""
        return sum(seq < self.head.window_start for seq in self.fitted.seqs)

    @property
    def _shows_window(self) -> bool:
        return len(self.fitted.seqs) - self._pinned >= self.head.window_messages

    @property
    def omitted(self) -> tuple[int, int] | None:
        """Return the first and the last stored message that neither this context nor its summary
        covers, or None if everything is covered.
        """
        shown, head = self.fitted.seqs, self.head
        has_summary = self.summary is not None and self.fitted.summary_tokens > 0
        first = (self.summary.last if self.summary and has_summary else head.base) + 1
        pinned, is_whole = self._pinned, self._shows_window
        if first >= head.window_start and is_whole:
            return None
        around = (first - 1, *(shown or (head.seq + 1,)))
        # other gaps are system messages
        between = list(pairwise(around))[: pinned + 1 if is_whole else None]
        gaps = [(before + 1, after - 1) for before, after in between if after - before > 1]
        return (gaps[0][0], gaps[-1][1]) if gaps else None


def search_tools(form: ContextFormat = "openai") -> tuple[Mapping[str, Any], ...]:
    """Return the definition of the tool that searches memories, in the form that this API takes."""
    from palimpsest.recall.tool import SEARCH, definition

    return (definition(SEARCH, form),)

"""Share the budget of a context between memory and window: the current chain comes first, older turns give way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from palimpsest.context.blocks.block import BlockContent, Item
from palimpsest.context.prompt import MemoryPrompt, inserted, memory_messages, shared_out
from palimpsest.conversations.configuration import MemoryAs
from palimpsest.conversations.messages import Chat, Message, text_of, weigh
from palimpsest.conversations.window.fit import Fitted, fit
from palimpsest.conversations.window.render import SummaryAs, shown
from palimpsest.text.cutting import Count

MEMORY_SHARE = 2  # memory takes at most one part of this many of the budget


@dataclass(frozen=True, slots=True)
class Material:
    """What a context is made of; the parameters of `fit`. Of the `budget`, so many tokens are `taken` by what is sent
    beside the messages.
    """

    system: Chat | None
    system_tokens: int | None
    summary: str | None
    summary_as: SummaryAs
    messages: Sequence[Message]
    given: Chat | None
    budget: int
    count: Count
    taken: int = 0

    def fitted(self, *, reserve: int = 0) -> Fitted:
        return fit(
            system=self.system,
            summary=self.summary,
            summary_as=self.summary_as,
            messages=self.messages,
            given=self.given,
            budget=self.budget,
            taken=self.taken,
            count=self.count,
            system_tokens=self.system_tokens,
            reserve=reserve,
        )

    def counted(self) -> Material:
        """The same, with the tokens of the system message."""
        if self.system is None or self.system_tokens is None:
            return replace(self, system_tokens=weigh(shown(self.system), self.count) if self.system else 0)
        return self

    def only(self, seqs: Sequence[int]) -> Material:
        return replace(self, messages=[message for message in self.messages if message.seq in seqs])


def fit_with_memory(
    material: Material, contents: Sequence[BlockContent], *, session: str, memory_as: MemoryAs
) -> tuple[Fitted, MemoryPrompt]:
    """Return a context, and its memory; with `none` the memory stands beside it, and both together keep within the
    budget.

    The memory repeats nothing that the context shows of the session, in its messages or word for word in its summary.
    Raises `BudgetTooSmall`.
    """
    material = material.counted()
    tight = material.fitted(reserve=material.budget // MEMORY_SHARE)
    said = "\n".join(text_of(chat) for chat, seq in zip(tight.messages, tight.places, strict=True) if seq is None)
    cost = partial(_cost, material, memory_as)
    share = partial(shared_out, contents, count=material.count, cost=cost)
    memory = share(room=tight.reserved, is_held=_held(session, tight, said))
    fitted = _placed(material, memory, memory_as)
    is_held = _held(session, fitted, said)
    if any(is_held(item) for items in memory.shown.values() for item in items):
        memory = share(room=memory.tokens, is_held=is_held)
        fitted = _placed(material.only(fitted.seqs), memory, memory_as)
    return fitted, memory


def _held(session: str, fitted: Fitted, said: str) -> Callable[[Item], bool]:
    """A test whether the context shows the messages that an item came from, or its text stands in what is `said`, which
    holds the summary.
    """
    seqs = frozenset(fitted.seqs)
    return lambda item: item.is_held(session, seqs) or (item.source.session == session and item.text in said)


def _cost(material: Material, memory_as: MemoryAs, text: str) -> int:
    """The tokens that the memory takes: as messages of its own, in the system message, or alone."""
    if memory_as == "none":
        return material.count(text)
    if memory_as == "system":
        return weigh(shown(inserted(material.system, text)), material.count) - (material.system_tokens or 0)
    return sum(weigh(message, material.count) for message in memory_messages(text, memory_as))


def _placed(material: Material, memory: MemoryPrompt, memory_as: MemoryAs) -> Fitted:
    """The context with the memory where the configuration puts it; or without it, with as much room left free."""
    if not memory.text:
        return material.fitted()
    if memory_as == "system":
        system = inserted(material.system, memory.text)
        return replace(material, system=system, system_tokens=(material.system_tokens or 0) + memory.tokens).fitted()
    fitted = material.fitted(reserve=memory.tokens)
    if memory_as == "none":
        return fitted
    heading = 0 if material.system is None else 1
    made = memory_messages(memory.text, memory_as)
    messages = (*fitted.messages[:heading], *made, *fitted.messages[heading:])
    places = (*[None] * len(made), *fitted.places)
    return replace(fitted, messages=messages, places=places, tokens=fitted.tokens + memory.tokens)

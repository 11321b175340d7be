"""Share the budget of a context between memory and window: the current chain comes first, older turns give way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from palimpsest.context.blocks.block import BlockContent, Item
from palimpsest.context.prompt import MemoryPrompt, inserted, shared_out
from palimpsest.conversations.messages import Chat, Message, weigh
from palimpsest.conversations.window.fit import Fitted, fit
from palimpsest.conversations.window.render import SummaryAs, shown
from palimpsest.text.cutting import Count

MEMORY_SHARE = 2  # memory takes at most one part of this many of the budget


@dataclass(frozen=True, slots=True)
class Material:
    """What a context is made of; the parameters of `fit`. `budget` is in tokens."""

    system: Chat | None
    system_tokens: int | None
    summary: str | None
    summary_as: SummaryAs
    messages: Sequence[Message]
    given: Chat | None
    budget: int
    count: Count

    def fitted(self, *, reserve: int = 0) -> Fitted:
        return fit(
            system=self.system,
            summary=self.summary,
            summary_as=self.summary_as,
            messages=self.messages,
            given=self.given,
            budget=self.budget,
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
    material: Material, contents: Sequence[BlockContent], *, session: str, inserts: bool
) -> tuple[Fitted, MemoryPrompt]:
    """Return a context, and the memory beside it, which together keep within the budget. If `inserts` is true, the
    memory is part of the context's system message.

    The memory repeats nothing that the context shows of the session. Raises `BudgetTooSmall`.
    """
    material = material.counted()
    tight = material.fitted(reserve=material.budget // MEMORY_SHARE)
    cost = partial(_cost_inserted, material) if inserts else material.count
    share = partial(shared_out, contents, count=material.count, cost=cost)
    memory = share(room=tight.reserved, is_held=_held(session, tight))
    fitted = _placed(material, memory, inserts=inserts)
    is_held = _held(session, fitted)
    if any(is_held(item) for items in memory.shown.values() for item in items):
        memory = share(room=memory.tokens, is_held=is_held)
        fitted = _placed(material.only(fitted.seqs), memory, inserts=inserts)
    return fitted, memory


def _held(session: str, fitted: Fitted) -> Callable[[Item], bool]:
    """A test whether the context shows the messages that an item came from."""
    seqs = frozenset(fitted.seqs)
    return lambda item: item.is_held(session, seqs)


def _cost_inserted(material: Material, text: str) -> int:
    """The tokens that the memory adds to the system message, or that a system message of its own takes."""
    return weigh(shown(inserted(material.system, text)), material.count) - (material.system_tokens or 0)


def _placed(material: Material, memory: MemoryPrompt, *, inserts: bool) -> Fitted:
    """The context with the memory in its system message, or with as much room left free as the memory takes."""
    if not (inserts and memory.text):
        return material.fitted(reserve=memory.tokens)
    system = inserted(material.system, memory.text)
    return replace(material, system=system, system_tokens=(material.system_tokens or 0) + memory.tokens).fitted()

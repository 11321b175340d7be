"""Writes memory into a context, within its share of the budget. Memory is data in tags that no
stored text can close.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Literal

from palimpsest.context.blocks.ports import BlockContent, Item
from palimpsest.context.lines import heading_of, line, lines_of, profile_headings, text_of_item
from palimpsest.conversations.blocks import OUTER_TAG, PRIORITY, BlockType
from palimpsest.conversations.configuration import MIN_SYSTEM_ROOM, MemoryAs
from palimpsest.conversations.message import Chat, text_of
from palimpsest.conversations.own_tools import MEMORY_TOOL
from palimpsest.conversations.weight import weigh
from palimpsest.conversations.window.fit import Fitted, Material, fit
from palimpsest.conversations.window.render import called_for, shown
from palimpsest.profile.profile import MOST_TOKENS
from palimpsest.text.cutting import Count

COVERED = 0.75  # the part of a message's letters that shown records must quote to replace it
MIN_ROOM = 8  # tokens; no useful line is shorter
NESTED = 4  # extra tokens of a line once others of its speaker and day are grouped below it


Tags = Mapping[BlockType, str]
"""The tag around the text of each block. Other blocks have `<type>_memory`."""
NO_TAGS: Tags = MappingProxyType({})

Why = Literal["in_window", "shown_before", "no_room", "over_limit", "not_asked_for"]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An item that is not in the prompt, with the reason.

    `in_window`: the window shows the item's messages, or the summary has its text. `shown_before`:
    a block of higher priority shows the item, or nearly all of its text. `not_asked_for`: the item
    shares no word with the newest message. `over_limit`: the block may show no more items. For any
    other reason, there was no room.
    """

    block: BlockType
    id: str
    why: Why


@dataclass(frozen=True, slots=True)
class MemoryPrompt:
    """The memory of a context: its text ("" if there is none), its tokens, and the items in it by
    block. With `split`, messages carry the memory in two parts: `stable` (`stable_tokens` tokens)
    before the conversation, and `recalled` before the newest user message. `text` then has the
    items of both that are true now, and `tokens` counts both parts.
    """

    text: str = ""
    tokens: int = 0
    shown: Mapping[BlockType, tuple[Item, ...]] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    stable: str = ""
    stable_tokens: int = 0
    recalled: str = ""

    def of(self, block: BlockType) -> tuple[Item, ...]:
        return self.shown.get(block, ())


def shared_out(
    contents: Sequence[BlockContent],
    *,
    room: int,
    count: Count,
    cost: Callable[[str], int],
    is_held: Callable[[Item], bool],
    tags: Tags = NO_TAGS,
    before: Sequence[Item] = (),
) -> MemoryPrompt:
    """Give the room (in tokens) to the blocks by priority, and within a block to the best items
    that fit. Items that the window shows (`is_held`) are left out.

    `cost` returns how many tokens of the room the whole text takes, and `count` the tokens of a
    part. `before` has items that the context shows elsewhere.
    """
    taken: dict[BlockType, list[Item]] = {}
    left_out: list[LeftOut] = []
    shown_before = list(before)
    ids = {item.id for item in before}
    left = room - count(within_tag(OUTER_TAG, "\n"))
    for content in sorted(contents, key=lambda content: PRIORITY.index(content.block)):
        most = left if content.max_tokens is None else min(left, content.max_tokens)
        share = _Share(content, most - count(within_tag(_tag(content.block, tags), "\n")), count)
        for item in content.items:
            is_shown = _is_quoted(item, shown_before) if item.kind == "message" else item.id in ids
            reason = share.refused(item, is_held=is_held(item), is_shown=is_shown)
            if reason is not None:
                left_out.append(LeftOut(content.block, item.id, reason))
        if share.taken:
            taken[content.block] = share.taken
            left -= most - share.left
            shown_before += share.taken
            ids |= {item.id for item in share.taken}
    text = memory_text(taken, tags)
    # The whole may take a few tokens more than the sum of its parts.
    while taken and (tokens := cost(text)) > room:
        left_out.append(_shed(taken))
        text = memory_text(taken, tags)
    if not taken:
        return MemoryPrompt(left_out=tuple(left_out))
    return MemoryPrompt(
        text, tokens, {block: tuple(items) for block, items in taken.items()}, tuple(left_out)
    )


def _is_quoted(item: Item, before: Sequence[Item]) -> bool:
    """Return whether the item is a message that items in `before` quote nearly whole."""
    quotes = {
        shown_item.source.quote or ""
        for shown_item in before
        if shown_item.source.session and item.is_from(shown_item.source)
    }
    quoted = sum(len(quote) for quote in quotes if quote in item.text)
    return quoted >= COVERED * len(item.text)


class _Share:
    """The room of one block's items."""

    def __init__(self, content: BlockContent, room: int, count: Count) -> None:
        self.taken: list[Item] = []
        self.left = room
        self._most = content.max_items
        self._count = count
        self._headings: Counter[str] = Counter()
        self._ids = set[str]()
        self._page = MOST_TOKENS  # tokens of the lines of a profile

    def refused(self, item: Item, *, is_held: bool, is_shown: bool) -> Why | None:
        """Take the item and return None, or return the reason why it is left out."""
        if is_held or is_shown:
            return "in_window" if is_held else "shown_before"
        if self._most is not None and len(self.taken) >= self._most:
            return "over_limit"
        if self.left < MIN_ROOM:
            return "no_room"
        if item.id in self._ids:
            return "shown_before"
        weight = self._weight(item)
        left = self.left if item.section is None else min(self.left, self._page)
        if weight > left:
            self._page = 0 if item.section else self._page  # all lines after it are left out too
            return "no_room"
        self.taken.append(item)
        self._ids.add(item.id)
        self._page -= weight if item.section else 0
        self.left -= weight
        if heading := heading_of(item):
            self._headings[heading] += 1
        return None

    def _weight(self, item: Item) -> int:
        """Return how many tokens the item adds. Its heading does not count if another item has the
        same heading.
        """
        there = self._headings[heading_of(item) or ""]
        if item.section is not None:
            begun = {taken.section for taken in self.taken}
            return self._count("\n".join((*profile_headings(item, begun), line(item), "")))
        if not there:
            return self._count(line(item) + "\n")
        return self._count(f"  - {text_of_item(item)}\n") + (NESTED if there == 1 else 0)


def _shed(taken: dict[BlockType, list[Item]]) -> LeftOut:
    """Remove the last item of the block with the lowest priority."""
    block = max(taken, key=PRIORITY.index)
    item = taken[block].pop()
    if not taken[block]:
        del taken[block]
    return LeftOut(block, item.id, "no_room")


def memory_text(taken: Mapping[BlockType, Sequence[Item]], tags: Tags) -> str:
    """Return the items by block, as one element, or "" without items."""
    parts = [
        within_tag(_tag(block, tags), "\n" + "\n".join(lines) + "\n")
        for block, lines in lines_of(taken).items()
    ]
    return within_tag(OUTER_TAG, "".join(parts)) if parts else ""


def _tag(block: BlockType, tags: Tags) -> str:
    return tags.get(block, f"{block}_memory")


def within_tag(tag: str, text: str) -> str:
    """Return the text within an element of this name."""
    return f"<{tag}>{text}</{tag}>"


def memory_messages(text: str, memory_as: MemoryAs) -> tuple[Chat, ...]:
    """Return the messages that carry the memory and come after the system message. There are none
    if the memory is elsewhere.
    """
    if memory_as == "user":
        return ({"role": "user", "content": text},)
    if memory_as == "tool_call":
        return called_for(text, tool=MEMORY_TOOL)
    return ()


def inserted(system: Chat | None, memory: str) -> Chat:
    """Return the system message with the memory appended to its text."""
    if system is None:
        return {"role": "system", "content": memory}
    content = system.get("content") or ""
    if isinstance(content, str):
        return {**system, "content": f"{content}\n\n{memory}" if content else memory}
    return {**system, "content": [*content, {"type": "text", "text": memory}]}


MEMORY_SHARE = 2  # memory takes at most one part of this many of the budget


def fit_with_memory(
    material: Material,
    contents: Sequence[BlockContent],
    *,
    session: str,
    memory_as: MemoryAs,
    tags: Tags = NO_TAGS,
) -> tuple[Fitted, MemoryPrompt]:
    """Return a context and its memory. If `memory_as` is `none`, the memory is not in the messages,
    but messages and memory together keep within the budget.

    `tags` are the tags of named blocks. The memory repeats neither messages that the context shows,
    nor words of its summary. Raises `BudgetTooSmall`.
    """
    material = material.counted()
    room = room_for(material)
    cost = partial(_cost, material, memory_as)
    share = partial(shared_out, contents, count=material.count, cost=cost, tags=tags)
    memory = share(room=room.tokens, is_held=held_by(session, room.fitted, material))
    fitted = _placed(material, memory, memory_as)
    is_held = held_by(session, fitted, material)
    if any(is_held(item) for items in memory.shown.values() for item in items):
        # The memory left a part of its room to older turns, which may say the same as some items.
        memory = share(room=memory.tokens, is_held=is_held)
        fitted = _placed(material.only(fitted.seqs), memory, memory_as)
    return fitted, memory


@dataclass(frozen=True, slots=True)
class MemoryRoom:
    """The number of tokens that memory may take, and the context that leaves them free."""

    tokens: int
    fitted: Fitted


def room_for(material: Material) -> MemoryRoom:
    """Return the room for memory. It is at most half of the budget, and no more than the whole
    window leaves free. A window that waits for its compaction may not fit. Then window and memory
    share the budget.
    """
    most = material.budget // MEMORY_SHARE
    whole = fit(material)
    if whole.cuts or len(whole.seqs) < material.shown_messages:
        tight = fit(material, reserve=most)
        return MemoryRoom(tight.reserved, tight)
    budget = material.budget - material.taken
    least_beside = max(whole.tokens, whole.system_tokens + MIN_SYSTEM_ROOM)
    return MemoryRoom(max(0, min(most, budget - least_beside)), whole)


def held_by(session: str, fitted: Fitted, material: Material) -> Callable[[Item], bool]:
    """Return a test that says whether the context shows the messages that an item came from, or
    shows the item's text elsewhere, such as in the summary.
    """
    seqs = frozenset(fitted.seqs)
    made = [*([material.summary] if fitted.summary_tokens else []), text_of(material.system or {})]
    texts = "\n".join(filter(None, (*made, text_of(material.given or {}))))
    return lambda item: (
        item.is_held(session, seqs) or (item.source.session == session and item.text in texts)
    )


def _cost(material: Material, memory_as: MemoryAs, text: str) -> int:
    """Return how many tokens the memory takes, as messages of its own, in the system message, or
    outside the messages.
    """
    if memory_as == "none":
        return material.count(text)
    if memory_as == "system":
        return weigh(shown(inserted(material.system, text)), material.count) - (
            material.system_tokens or 0
        )
    return sum(weigh(message, material.count) for message in memory_messages(text, memory_as))


def _placed(material: Material, memory: MemoryPrompt, memory_as: MemoryAs) -> Fitted:
    """Return the context with the memory in its configured place. If that is outside the messages,
    the same room is left free.
    """
    if not memory.text:
        return fit(material)
    if memory_as == "system":
        system = inserted(material.system, memory.text)
        tokens = (material.system_tokens or 0) + memory.tokens
        return fit(replace(material, system=system, system_tokens=tokens))
    fitted = fit(material, reserve=memory.tokens)
    if memory_as == "none":
        return fitted
    heading = 0 if material.system is None else 1
    made = memory_messages(memory.text, memory_as)
    messages = (*fitted.messages[:heading], *made, *fitted.messages[heading:])
    places = (*[None] * len(made), *fitted.places)
    return replace(fitted, messages=messages, places=places, tokens=fitted.tokens + memory.tokens)

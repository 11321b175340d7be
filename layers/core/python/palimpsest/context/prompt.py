"""How memory is written for a model: as data in tags that no stored text can close, within the room there is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from palimpsest.context.recollection import Item, Recollection
from palimpsest.conversations.configuration import PRIORITY, BlockType
from palimpsest.conversations.messages import Chat
from palimpsest.text.cutting import Count, shortened
from palimpsest.text.escaping import escaped, harmless

LONGEST_LINE = 2_000  # characters of one item; more of a past message says no more
LEAST_ROOM = 8  # tokens; no line that says something is shorter
DATED = frozenset({"event", "message"})
"""Kinds that are nothing without their time."""


Why = Literal["in_window", "shown_before", "no_room", "over_limit"]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An item that does not stand in the prompt: the window holds what it came from, a block of more priority shows it,
    there was no room, or the block shows no more items than it does.
    """

    block: BlockType
    id: str
    why: Why


@dataclass(frozen=True, slots=True)
class MemoryPrompt:
    """The memory of a context: its text ("" if there is none), what it weighs, and which items stand in it."""

    text: str = ""
    tokens: int = 0
    shown: Mapping[BlockType, tuple[Item, ...]] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()

    def of(self, block: BlockType) -> tuple[Item, ...]:
        return self.shown.get(block, ())


def shared_out(
    recollections: Sequence[Recollection],
    *,
    room: int,
    count: Count,
    cost: Callable[[str], int],
    is_held: Callable[[Item], bool],
) -> MemoryPrompt:
    """Give the room (tokens) to the blocks by priority, and within each to the best items that fit and that the window
    does not hold. `cost` is what the whole text takes of the room, `count` what a part of it weighs.
    """
    lines: dict[BlockType, list[tuple[Item, str]]] = {}
    left_out: list[LeftOut] = []
    shown_before: set[str] = set()
    left = room - count(_within("memory", "\n"))
    for found in sorted(recollections, key=lambda each: PRIORITY.index(each.block)):
        most = left if found.max_tokens is None else min(left, found.max_tokens)
        share = _Share(found, most, count)
        for item in found.items:
            reason = share.refused(item, is_held=is_held(item), is_shown=item.id in shown_before)
            if reason is not None:
                left_out.append(LeftOut(found.block, item.id, reason))
        if share.taken:
            lines[found.block] = share.taken
            left -= most - share.left
            shown_before.update(item.id for item, _ in share.taken)
    text = _text(lines)
    while lines and (tokens := cost(text)) > room:
        left_out.append(_shed(lines))
        text = _text(lines)
    if not lines:
        return MemoryPrompt(left_out=tuple(left_out))
    shown = {block: tuple(item for item, _ in taken) for block, taken in lines.items()}
    return MemoryPrompt(text, tokens, shown, tuple(left_out))


class _Share:
    """What one block takes of the room."""

    def __init__(self, found: Recollection, room: int, count: Count) -> None:
        self.taken: list[tuple[Item, str]] = []
        self.left = room - count(_within(_tag(found.block), "\n"))
        self._most = found.most
        self._count = count

    def refused(self, item: Item, *, is_held: bool, is_shown: bool) -> Why | None:
        """Take the item, or say why not."""
        if is_held or is_shown:
            return "in_window" if is_held else "shown_before"
        if self._most is not None and len(self.taken) >= self._most:
            return "over_limit"
        if self.left < LEAST_ROOM:
            return "no_room"
        written = line(item)
        weight = self._count(written + "\n")
        if weight > self.left:
            return "no_room"
        self.taken.append((item, written))
        self.left -= weight
        return None


def _shed(lines: dict[BlockType, list[tuple[Item, str]]]) -> LeftOut:
    """Take out the last item of the block of the least priority."""
    block = max(lines, key=PRIORITY.index)
    item, _ = lines[block].pop()
    if not lines[block]:
        del lines[block]
    return LeftOut(block, item.id, "no_room")


def _text(lines: Mapping[BlockType, Sequence[tuple[Item, str]]]) -> str:
    parts = [_within(_tag(block), "\n" + "\n".join(line for _, line in taken) + "\n") for block, taken in lines.items()]
    return _within("memory", "".join(parts)) if parts else ""


def _tag(block: BlockType) -> str:
    return f"{block}_memory"


def _within(tag: str, text: str) -> str:
    return f"<{tag}>{text}</{tag}>"


def line(item: Item) -> str:
    """The item as one line of its own: nothing in it can end the line, close a tag or speak in a role."""
    said = shortened(harmless(item.text), limit=LONGEST_LINE, count=len)[0]
    day = _day(item.said_at) if item.kind in DATED and item.said_at is not None else None
    if item.kind == "message":
        return "- " + ", ".join(filter(None, (item.speaker, day))) + f": {escaped(said)}"
    return f"- {escaped(said)}" + (f" ({day})" if day else "")


def _day(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).date().isoformat()


def inserted(system: Chat | None, memory: str) -> Chat:
    """The system message with the memory behind what it says."""
    if system is None:
        return {"role": "system", "content": memory}
    content = system.get("content") or ""
    if isinstance(content, str):
        return {**system, "content": f"{content}\n\n{memory}" if content else memory}
    return {**system, "content": [*content, {"type": "text", "text": memory}]}

"""Puts memory into two parts of a context. The part that stays the same comes before the
conversation, so that a prompt cache can serve this part and the conversation. The part that one
question needs comes right before that question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from palimpsest.context.blocks.ports import BlockContent, Item, StableItems
from palimpsest.context.lines import plain_line
from palimpsest.context.prompt import (
    NO_TAGS,
    LeftOut,
    MemoryPrompt,
    MemoryRoom,
    Tags,
    held_by,
    memory_text,
    room_for,
    shared_out,
    within_tag,
)
from palimpsest.context.stable import most_of, needed_room
from palimpsest.conversations.blocks import OUTER_TAG, PRIORITY, BlockType
from palimpsest.conversations.message import Chat
from palimpsest.conversations.weight import weigh
from palimpsest.conversations.window.fit import Fitted, Material, fit
from palimpsest.text.cutting import Count

STABLE_SHARE, FACTS_SHARE = 4, 10
"""The budget divided by these numbers is the most that the stable part, and the facts in it, may
take.
"""
LEAST_STABLE, LEAST_FACTS = 600, 300
"""Of a small budget, the stable part and its facts may take more than their share: up to this many
tokens, but never more than half of the budget.
"""
STEPS = 3  # how often the stable part is halved before it is left out

LABEL = "Recalled from memory. Nobody says it now."
UPDATE_TAG = "memory_update"
UPDATE_LABEL = "Changed since the memory above was written. Only this holds:"


@dataclass(frozen=True, slots=True)
class Kept:
    """The messages that the session's contexts show until the next compaction. These are the
    messages of `session` for which `holds` is true.
    """

    session: str
    holds: Callable[[int], bool]

    def has(self, session: str, seq: int) -> bool:
        """Return whether this message, of any session, is among the kept ones."""
        return session == self.session and self.holds(seq)

    def shows(self, item: Item) -> bool:
        """Return whether all messages that the item came from are kept."""
        source = item.source
        return (
            source.session == self.session
            and bool(source.seqs)
            and all(map(self.holds, source.seqs))
        )


@dataclass(frozen=True, slots=True)
class _Update:
    """The items that replace items of the stable part, each with its block, and the `text` that
    says so ("" without any).
    """

    text: str = ""
    items: tuple[tuple[BlockType, Item], ...] = ()


def fit_split(
    material: Material, contents: Sequence[BlockContent], *, kept: Kept, tags: Tags = NO_TAGS
) -> tuple[Fitted, MemoryPrompt]:
    """Return a context with the memory in two parts, and that memory.

    The stable part depends on the budget and on what was known when it was frozen, never on the
    question. If turns without a summary need the room, memory shrinks. First the part for the
    question shrinks, then the stable part. The stable part is halved each time, so that it rarely
    changes. If there is no room to say what has changed, the stable part is written anew. If there
    is no room for the fact that the question is about, the stable part shrinks for it. Raises
    `BudgetTooSmall`.
    """
    material = material.counted()
    room = room_for(material)
    parts = _parts(material, contents, kept=kept, room=room, tags=tags)
    for step in range(1, STEPS + 2):
        if not parts.lacks_the_answer:
            break
        parts = _parts(material, contents, kept=kept, room=room, tags=tags, first=step)
    contents, stable, recalled = parts.contents, parts.stable, parts.recalled
    fitted = fit(material, reserve=stable.tokens + recalled.tokens)
    held = held_by(kept.session, fitted, material)
    if any(held(item) for items in recalled.shown.values() for item in items):
        recalled = parts.needed(room=recalled.tokens, is_held=held)
        fitted = fit(material.only(fitted.seqs), reserve=stable.tokens + recalled.tokens)
    return _placed(fitted, material, stable, recalled), _together(
        contents, stable, recalled, tags=tags
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """Both parts of the memory, and the contents that they are made of. `needed` makes the part for
    the question again, for another amount of room.
    """

    contents: Sequence[BlockContent]
    stable: MemoryPrompt
    recalled: MemoryPrompt
    needed: Callable[..., MemoryPrompt]

    @property
    def lacks_the_answer(self) -> bool:
        """Return whether the stable part took so much room that the fact which fits the question
        best is left out.
        """
        facts = (content.items for content in self.contents if content.block == "extractive")
        asked_for = (item.id for item in chain.from_iterable(facts) if item.is_asked_for)
        best = next(asked_for, None)
        lacking = (item for item in self.recalled.left_out if item.why == "no_room")
        return bool(self.stable.text) and any(item.id == best for item in lacking)


def _parts(
    material: Material,
    contents: Sequence[BlockContent],
    *,
    kept: Kept,
    room: MemoryRoom,
    tags: Tags,
    first: int = 0,
) -> _Parts:
    """Return both parts of the memory. The stable part is halved at least `first` times."""
    most = needed_room(material.budget)
    freeze = partial(_stable_part, material, kept=kept, room=room.tokens, tags=tags, first=first)
    stable = freeze(contents)
    update = _update_of(contents, stable)
    if _cost(material.count, _needed(update.text, "")) > min(room.tokens - stable.tokens, most):
        contents = [_thawed(content) for content in contents]
        stable = freeze(contents)
        update = _update_of(contents, stable)
    needed = partial(_needed_part, material, contents, stable=stable, update=update, tags=tags)
    recalled = needed(
        room=min(room.tokens - stable.tokens, most),
        is_held=held_by(kept.session, room.fitted, material),
    )
    return _Parts(contents, stable, recalled, needed)


def _stable_part(
    material: Material,
    contents: Sequence[BlockContent],
    *,
    kept: Kept,
    room: int,
    tags: Tags,
    first: int = 0,
) -> MemoryPrompt:
    """Return the stable part. If there is no room for the headings of a profile, its items come
    without them.
    """
    stepped = partial(_stepped, material, kept=kept, room=room, tags=tags, first=first)
    made = stepped(contents)
    plain = [_without_profile(content) for content in contents]
    if made.text or plain == list(contents):
        return made
    return stepped(plain)


def _without_profile(content: BlockContent) -> BlockContent:
    items = tuple(item for item in content.stable.items if item.section is None)
    return replace(content, stable=replace(content.stable, items=items))


def _stepped(
    material: Material,
    contents: Sequence[BlockContent],
    *,
    kept: Kept,
    room: int,
    tags: Tags,
    first: int,
) -> MemoryPrompt:
    """Return the stable part in its full size. If there is less room, it is halved up to three
    times, and at least `first` times. The steps are large, so that small differences in room change
    nothing.
    """
    summary = material.summary or ""
    whole = most_of(material.budget, share=STABLE_SHARE, least=LEAST_STABLE)
    facts = most_of(material.budget, share=FACTS_SHARE, least=LEAST_FACTS)
    for step in range(first, STEPS + 1):
        most = whole >> step
        firsts = [_first(content, facts=facts >> step) for content in contents]
        made = shared_out(
            firsts,
            room=most,
            count=material.count,
            cost=partial(_cost, material.count),
            is_held=lambda item: (
                kept.shows(item) or (item.source.session == kept.session and item.text in summary)
            ),
            tags=tags,
        )
        if made.tokens <= room:
            return made
    return MemoryPrompt()


def _thawed(content: BlockContent) -> BlockContent:
    """Return the content with a stable part in which the items that are true now replace the
    superseded ones.
    """
    now = content.stable
    items = tuple(_as_now(item, now.replaced.get(item.id)) for item in now.items)
    return replace(content, stable=StableItems(items, added=now.added))


def _as_now(item: Item, now: Item | None) -> Item:
    """Return the item, or the item that replaces it now, in the same place and section."""
    return item if now is None else replace(now, section=item.section, who=None, said_at=None)


def _first(content: BlockContent, *, facts: int) -> BlockContent:
    """Return the stable items of a block within their limits. Facts leave room for the part that a
    question needs.
    """
    items, most, max_items = content.stable.items, content.max_tokens, content.max_items
    if content.block == "extractive":
        most = min(facts, (most or facts) * 3 // 5)
        max_items = None if max_items is None else max(1, max_items // 2)
    return replace(content, items=items, max_tokens=most, max_items=max_items)


def _needed_part(
    material: Material,
    contents: Sequence[BlockContent],
    *,
    stable: MemoryPrompt,
    update: _Update,
    room: int,
    is_held: Callable[[Item], bool],
    tags: Tags,
) -> MemoryPrompt:
    """Return the part before the question. It has the changes since the stable part was frozen,
    then the other items that the question needs.
    """
    count = material.count
    rests = [_rest(content, stable, update, material.budget) for content in contents]
    made = shared_out(
        rests,
        room=room - count(_needed(update.text, "")),
        count=count,
        cost=partial(_cost, count),
        is_held=is_held,
        tags=tags,
        before=[item for items in stable.shown.values() for item in items],
    )
    if not made.text and not update.text:
        return made
    inner = made.text.removeprefix(f"<{OUTER_TAG}>").removesuffix(f"</{OUTER_TAG}>")
    text = _needed(update.text, inner)
    tokens = _cost(count, text)
    if tokens > room and made.text:
        # The parts were counted alone. Together they take more, so try again with less room.
        return _needed_part(
            material,
            contents,
            stable=stable,
            update=update,
            room=room - (tokens - room),
            is_held=is_held,
            tags=tags,
        )
    shown = dict(made.shown)
    for block, item in update.items:
        shown[block] = (item, *shown.get(block, ()))
    return replace(made, text=text, tokens=tokens, shown=shown)


def _needed(update: str, recalled: str) -> str:
    """Return the text before the newest user message, or "" if it would be empty."""
    if not update and not recalled:
        return ""
    return within_tag(OUTER_TAG, f"\n{LABEL}\n{update}{recalled}")


def _update_of(contents: Sequence[BlockContent], stable: MemoryPrompt) -> _Update:
    """Return what has changed in the stable part since it was frozen."""
    items, lines = [], []
    for content in contents:
        for item in stable.of(content.block):
            now = content.stable.replaced.get(item.id)
            if now is not None:
                items.append((content.block, now))
                lines.append(f'- Instead of "{plain_line(item)}": {plain_line(now)}')
    if not lines:
        return _Update()
    text = within_tag(UPDATE_TAG, "\n".join(("", UPDATE_LABEL, *lines, "")))
    return _Update(text, tuple(items))


def _rest(
    content: BlockContent, stable: MemoryPrompt, update: _Update, budget: int
) -> BlockContent:
    """Return the items of a block that neither the stable part nor the update has. Items that were
    stated since the stable part was frozen come first, then items that the question is about. If a
    model chose the facts, return all items.
    """
    there = {item.id for item in stable.of(content.block)}
    there |= {item.id for _, item in update.items}
    ranked = {item.id: item for item in content.items}
    is_new = {item.id for item in content.stable.added}
    chosen_by_model = content.block == "extractive" and not content.stable.items
    items = [
        *(item for name, item in ranked.items() if name in is_new),
        *(
            item
            for name, item in ranked.items()
            if name not in is_new and (item.is_asked_for or chosen_by_model)
        ),
    ]
    most, max_items = content.max_tokens, content.max_items
    if content.block == "extractive":
        most = min(most or budget, needed_room(budget) // 3)
        shown_items = len(stable.of(content.block)) + len(update.items)
        max_items = None if max_items is None else max(0, max_items - shown_items)
    return replace(
        content,
        items=tuple(item for item in items if item.id not in there),
        max_tokens=most,
        max_items=max_items,
    )


def _cost(count: Count, text: str) -> int:
    return weigh(_message(text), count) if text else 0


def _message(text: str) -> Chat:
    return {"role": "user", "content": text}


def _placed(
    fitted: Fitted, material: Material, stable: MemoryPrompt, recalled: MemoryPrompt
) -> Fitted:
    """Return the context with the stable part after the system message, and the other part before
    the newest user message.
    """
    messages, places = list(fitted.messages), list(fitted.places)
    first = 0 if material.system is None else 1
    if recalled.text:
        at = _before_the_question(messages, first=len(messages) - _spoken(fitted, material))
        messages.insert(at, _message(recalled.text))
        places.insert(at, None)
    if stable.text:
        messages.insert(first, _message(stable.text))
        places.insert(first, None)
    return replace(
        fitted,
        messages=tuple(messages),
        places=tuple(places),
        tokens=fitted.tokens + stable.tokens + recalled.tokens,
    )


def _spoken(fitted: Fitted, material: Material) -> int:
    """Return how many messages come after the system message and the summary."""
    shown = [place is not None for place in fitted.places]
    made = shown.index(True) if any(shown) else len(shown) - (material.given is not None)
    return len(fitted.messages) - made


def _before_the_question(messages: Sequence[Chat], *, first: int) -> int:
    """Return the index of the newest user message from `first` on. If there is no user message,
    return the index of the last message, or of the call that it answers.
    """
    for place in range(len(messages) - 1, first - 1, -1):
        if messages[place]["role"] == "user":
            return place
    place = len(messages) - 1
    while place > first and messages[place]["role"] == "tool":
        place -= 1
    return max(first, place)


def _together(
    contents: Sequence[BlockContent], stable: MemoryPrompt, recalled: MemoryPrompt, *, tags: Tags
) -> MemoryPrompt:
    """Return both parts as one memory, with the items that are true now, best first."""
    shown: dict[BlockType, tuple[Item, ...]] = {}
    written: dict[BlockType, tuple[Item, ...]] = {}
    for content in contents:
        gone = content.stable.replaced
        ranks = {item.id: (rank, item) for rank, item in enumerate(content.items)}
        both = (*stable.of(content.block), *recalled.of(content.block))
        items = {item.id: item for item in both if item.id not in gone}
        if items:
            last = len(ranks)
            order = sorted(items, key=lambda name: ranks.get(name, (last, None))[0])
            written[content.block] = tuple(items[name] for name in order)
            shown[content.block] = tuple(ranks.get(name, (last, items[name]))[1] for name in order)
    there = {item.id for items in shown.values() for item in items}
    left_out = {
        (content.block, item.id): LeftOut(
            content.block, item.id, "no_room" if item.is_asked_for else "not_asked_for"
        )
        for content in contents
        for item in content.items
    } | {(item.block, item.id): item for item in (*stable.left_out, *recalled.left_out)}
    return MemoryPrompt(
        text=memory_text({block: written[block] for block in PRIORITY if block in written}, tags),
        tokens=stable.tokens + recalled.tokens,
        shown=shown,
        left_out=tuple(_not_shown(left_out.values(), there)),
        stable=stable.text,
        stable_tokens=stable.tokens,
        recalled=recalled.text,
    )


def _not_shown(left_out: Iterable[LeftOut], there: set[str]) -> Iterator[LeftOut]:
    return (item for item in left_out if item.id not in there)

"""Writes the lines of a memory. Each speaker and day has one heading, and the days are in order. If
two statements are about the same subject, the later one comes last.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from palimpsest.context.blocks.ports import Item
from palimpsest.conversations.blocks import BlockType
from palimpsest.conversations.spoken import line_of
from palimpsest.memory.as_line import MATERIAL, NO_LONGER_SURE, names_a_date
from palimpsest.profile.kinds import ORDER, SECTIONS, SectionKind
from palimpsest.profile.profile import HEAD
from palimpsest.text.cutting import escaped, harmless, shortened

MAX_LINE = 2_000  # characters of one item
MOST_COMMON = 2  # texts: a word of more of them, and of more than half of all, says no subject
SAME, NEARLY_SAME = 0.5, 0.75  # parts of the words of two statements about the same
DATED = frozenset({"event", "message"})
"""The kinds of items that are shown with their day. Quotes of the user are shown with their day
too, because "we moved last weekend" means little without the day, and because only the later of two
statements is valid.
"""


def lines_of(taken: Mapping[BlockType, Sequence[Item]]) -> Mapping[BlockType, Sequence[str]]:
    """Return the lines of each block that has lines.

    All statements of one speaker on one day come under one heading, in the first block that has
    such a statement. The statements of a speaker keep their places as a whole, and fill them in the
    order of the days, over all blocks. A profile comes at the beginning of its block.
    """
    together: dict[str, list[Item]] = {}
    places: list[tuple[BlockType, str]] = []
    for block, items in taken.items():
        for item in _later_last([item for item in items if item.section is None]):
            name = heading_of(item) or f"{block} {item.id}"
            if name not in together:
                places.append((block, name))
            together.setdefault(name, []).append(item)
    lines = {block: list(_profile_lines(items)) for block, items in taken.items()}
    in_order = _days_in_order(places, together)
    for (block, _), name in zip(places, in_order, strict=True):
        lines[block].extend(_written(name, together[name]))
    return {block: written for block, written in lines.items() if written}


def _profile_lines(items: Sequence[Item]) -> Iterator[str]:
    """Yield the lines of the user's profile, as `profile.text_of` writes them, without ids."""
    begun = set[SectionKind | None]()
    of_profile = [item for item in items if item.section is not None]
    for item in sorted(of_profile, key=lambda item: ORDER[item.section or "more"]):
        yield from profile_headings(item, begun)
        begun.add(item.section)
        yield line(item)


def profile_headings(item: Item, begun: Collection[SectionKind | None]) -> Iterator[str]:
    """Yield the headings before the line of a profile's item. `begun` are the sections that come
    before it.
    """
    if not begun:
        yield HEAD
    if item.section not in begun:
        yield f"{SECTIONS[item.section or 'more'].title}:"


def _days_in_order(
    places: Sequence[tuple[BlockType, str]], together: Mapping[str, Sequence[Item]]
) -> Iterator[str]:
    """Yield the name of the group to write at each place. The places that the days of one speaker
    have are given to these days in order of time. Any other group stays in its place.
    """
    days: dict[str | None, list[str]] = defaultdict(list)
    for _, name in places:
        first = together[name][0]
        if heading_of(first):
            days[first.who].append(name)
    in_order = {who: iter(sorted(names)) for who, names in days.items()}
    for _, name in places:
        first = together[name][0]
        yield next(in_order[first.who]) if heading_of(first) else name


def _written(name: str, items: Sequence[Item]) -> Iterator[str]:
    if len(items) == 1:
        yield line(items[0])
        return
    yield f"- {name}:"
    for item in sorted(items, key=lambda item: item.said_at or 0):
        yield f"  - {text_of_item(item)}"


def _later_last(items: Sequence[Item]) -> list[Item]:
    """Return the items in their order, with one exception. Items about the same subject that have
    no heading are sorted by time within the places that they occupy, so that the latest statement
    comes last.
    """
    # not at import, because a plain turn does not need it
    from palimpsest.text.sentences import words

    ordered = list(items)
    loose = [at for at, item in enumerate(items) if heading_of(item) is None]
    for places in _about_the_same([words(items[at].text) for at in loose]):
        at = [loose[place] for place in places]
        by_time = sorted(at, key=lambda place: items[place].said_at or 0)
        for place, source in zip(at, by_time, strict=True):
            ordered[place] = items[source]
    return ordered


def _about_the_same(bags: Sequence[frozenset[str]]) -> Sequence[Sequence[int]]:
    """Return the numbers of the texts in groups, given the words of each text. Texts of a group
    share more than three quarters of their words, or half of the words that not all texts have.
    """
    counts = Counter(word for bag in bags for word in bag)
    most = max(MOST_COMMON, len(bags) // 2)
    # Each word is a bit, because every text is compared with every other, and numbers are compared
    # far faster than sets.
    bits = {word: 1 << place for place, word in enumerate(counts)}
    often = sum(bits[word] for word, times in counts.items() if times > most)
    whole: list[tuple[int, int]] = []
    telling: list[tuple[int, int]] = []
    groups: list[list[int]] = []
    for number, words in enumerate(bags):
        bag = sum(bits[word] for word in words)
        rest = bag & ~often
        near = {
            *_near(rest, telling, share=SAME),
            *_near(bag, whole, share=NEARLY_SAME, is_above=True),
        }
        whole.append((bag, bag.bit_count()))
        telling.append((rest, rest.bit_count()))
        joined = [group for group in groups if not set(group).isdisjoint(near)]
        groups = [group for group in groups if group not in joined]
        groups.append(sorted({number}.union(*joined)))
    return groups


def _near(
    bag: int, others: Sequence[tuple[int, int]], *, share: float, is_above: bool = False
) -> Iterator[int]:
    """Yield the numbers of the other texts that share enough words with this text. Enough is at
    least `share` of the words of the shorter text, or more than that with `is_above`. The words of
    a text are the bits of a number. Each of the other texts comes with the number of its words.
    """
    size = bag.bit_count()
    for number, (other, other_size) in enumerate(others):
        common = (bag & other).bit_count()
        least = share * (min(other_size, size))
        if common and common >= least and not (is_above and common == least):
            yield number


def plain_line(item: Item) -> str:
    """Return the item as one line without a bullet."""
    return line(item).removeprefix("- ")


def line(item: Item) -> str:
    """Return the item as one line. Nothing in it can end the line, close a tag or look like
    a role.
    """
    return f"- {line_of(text_of_item(item), who=item.who, day=_day(item))}"


def text_of_item(item: Item) -> str:
    """Return the text of the item, escaped as data, without its speaker and day."""
    text = shortened(harmless(item.text), limit=MAX_LINE, count=len)[0]
    if item.when is not None:
        text += f" ({item.when})"
    if item.is_material:
        text += f" ({MATERIAL})"
    return escaped(f"{text} ({NO_LONGER_SURE})" if item.rests_on_changed else text)


def heading_of(item: Item) -> str | None:
    """Return the speaker and day of the item, or None if it quotes nobody or has no day."""
    day = _day(item)
    return f"{item.who}, {day}" if item.who is not None and day is not None else None


def _day(item: Item) -> str | None:
    if item.said_at is None or (item.kind not in DATED and item.who is None):
        return None
    if item.when is not None or (item.kind != "message" and names_a_date(item.text)):
        return None  # one date in a line
    return datetime.fromtimestamp(item.said_at / 1000, UTC).date().isoformat()

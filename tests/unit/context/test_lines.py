"""What a memory's lines promise, whatever items a memory has."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from palimpsest.context.blocks.ports import BlockContent, Item
from palimpsest.context.lines import lines_of
from palimpsest.context.prompt import fit_with_memory, memory_text
from palimpsest.conversations.blocks import BlockType
from palimpsest.conversations.window.fit import Material
from palimpsest.memory.record import Source

from tests.unit.conversations.window.transcripts import conversation, quarter, user

BLOCKS: tuple[BlockType, ...] = ("extractive", "vector")
HEADING = re.compile(r"- (?P<who>[A-Z]\w+), (?P<day>\d{4}-\d\d-\d\d):")


def moment(day: int) -> int:
    return int(datetime(2026, 3, day, 9, tzinfo=UTC).timestamp()) * 1000


def quoted(name: str, *, day: int, who: str = "Sarah") -> Item:
    return Item(
        id=name, kind="message", text=f"Words {name}.", said_at=moment(day), speaker="user", who=who
    )


def fact(text: str, *, day: int) -> Item:
    return Item(id=text, kind="fact", text=text, said_at=moment(day))


@st.composite
def memories(draw: st.DrawFn) -> Mapping[BlockType, Sequence[Item]]:
    """Items of two blocks, of some speakers and days."""
    spoken = draw(
        st.lists(
            st.tuples(
                st.sampled_from(BLOCKS), st.sampled_from(("Sarah", "Assistant")), st.integers(1, 4)
            ),
            max_size=12,
        )
    )
    made: dict[BlockType, list[Item]] = {}
    for number, (block, who, day) in enumerate(spoken):
        made.setdefault(block, []).append(quoted(f"n{number}", day=day, who=who))
    return {block: made[block] for block in BLOCKS if block in made}


@given(memories())
def test_a_speaker_and_day_has_one_heading_over_all_blocks_and_days_come_in_order(
    taken: Mapping[BlockType, Sequence[Item]],
) -> None:
    text = memory_text(taken, {})

    headings = [(match["who"], match["day"]) for match in HEADING.finditer(text)]
    assert len(headings) == len(set(headings))
    for speaker in ("Sarah", "Assistant"):
        days = [day for who, day in headings if who == speaker]
        assert days == sorted(days)


@given(memories())
def test_each_item_is_said_once(taken: Mapping[BlockType, Sequence[Item]]) -> None:
    said = Counter(re.findall(r"Words n\d+\.", memory_text(taken, {})))

    assert said == Counter(item.text for items in taken.values() for item in items)


def test_what_a_speaker_said_on_a_day_stands_together_over_two_blocks() -> None:
    taken: Mapping[BlockType, Sequence[Item]] = {
        "extractive": [quoted("a", day=2)],
        "vector": [quoted("b", day=1), quoted("c", day=2)],
    }

    assert lines_of(taken) == {
        "extractive": ["- Sarah, 2026-03-01: Words b."],
        "vector": ["- Sarah, 2026-03-02:", "  - Words a.", "  - Words c."],
    }


def test_a_block_whose_items_stand_elsewhere_has_no_empty_tag() -> None:
    taken: Mapping[BlockType, Sequence[Item]] = {
        "extractive": [quoted("a", day=2)],
        "vector": [quoted("b", day=2)],
    }

    assert "vector_memory" not in memory_text(taken, {})


@given(st.permutations(range(1, 6)))
def test_of_the_same_subject_the_newer_statement_comes_last(days: list[int]) -> None:
    statements = [fact(f"The manager of Sarah is number {day}.", day=day) for day in days]
    others = [fact("The harbour opens at noon.", day=9), fact("Biscuit, a beagle.", day=1)]

    lines = lines_of({"extractive": [others[0], *statements, others[1]]})["extractive"]

    told = [line for line in lines if "manager" in line]
    assert told == [f"- The manager of Sarah is number {day}." for day in range(1, 6)]
    assert (lines[0], lines[-1]) == ("- The harbour opens at noon.", "- Biscuit, a beagle.")


def test_statements_about_different_things_keep_their_order() -> None:
    best_first = [
        fact("Sarah has a beagle called Biscuit.", day=5),
        fact("Sarah drives a Volvo.", day=3),
        fact("Sarah plays the cello.", day=4),
    ]

    lines = lines_of({"extractive": best_first})["extractive"]

    assert lines == [f"- {item.text}" for item in best_first]


@given(st.lists(st.booleans(), min_size=1, max_size=6))
def test_no_memory_comes_from_the_asking_session_s_own_window(own: list[bool]) -> None:
    items = tuple(
        Item(
            id=f"f{seq}",
            kind="fact",
            text=f"Statement {seq}.",
            source=Source(session="here" if is_own else "there", seqs=(seq,)),
        )
        for seq, is_own in enumerate(own, 1)
    )
    material = Material(
        system=None,
        summary=None,
        messages=conversation(*(user(f"m{seq}") for seq in range(1, len(own) + 1))),
        budget=2_000,
        count=quarter,
    )

    _, memory = fit_with_memory(
        material, [BlockContent("extractive", items)], session="here", memory_as="user"
    )

    assert [item.source.session for item in memory.of("extractive")] == ["there"] * own.count(False)

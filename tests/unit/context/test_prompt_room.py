"""Memory and window together never pass the budget, and what is sent stays valid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from hypothesis import assume, given
from hypothesis import strategies as st
from palimpsest.context.blocks.ports import BlockContent, Item, ItemKind
from palimpsest.context.prompt import (
    MEMORY_SHARE,
    MemoryPrompt,
    fit_with_memory,
    inserted,
    memory_messages,
)
from palimpsest.conversations.blocks import BlockType
from palimpsest.conversations.configuration import MemoryAs
from palimpsest.conversations.weight import weigh
from palimpsest.conversations.window.fit import Fitted, Material
from palimpsest.conversations.window.render import shown
from palimpsest.errors import BudgetTooSmall
from palimpsest.memory.record import Source

from tests.unit.conversations.validity import problems
from tests.unit.conversations.window.test_fit_properties import (
    Case,
    cases,
    check_question_kept,
    check_turns_whole,
)
from tests.unit.conversations.window.transcripts import (
    assistant,
    calling,
    conversation,
    quarter,
    result,
    system,
    texts,
    user,
)

SESSION = "s"


@st.composite
def items(draw: st.DrawFn, seqs: list[int]) -> Item:
    """Something remembered: from this session's messages, from another session's, or from none."""
    source, is_sourced = Source(), draw(st.booleans())
    if seqs and is_sourced:
        session = draw(st.sampled_from((SESSION, "other")))
        source = Source(
            session=session,
            seqs=tuple(draw(st.lists(st.sampled_from(seqs), min_size=1, max_size=2))),
        )
    kind: ItemKind = draw(st.sampled_from(("fact", "event", "static", "message")))
    text = draw(texts | st.just("Sarah works in Marketing."))
    return Item(
        id=f"i{draw(st.integers(0, 99))}",
        kind=kind,
        text=text,
        said_at=0,
        source=source,
        speaker="user",
    )


@dataclass(frozen=True)
class Remembering:
    case: Case
    found: list[BlockContent]
    memory_as: MemoryAs

    def made(self) -> tuple[Fitted, MemoryPrompt]:
        case = self.case
        try:
            return fit_with_memory(
                case.material, self.found, session=SESSION, memory_as=self.memory_as
            )
        except BudgetTooSmall as refused:
            assume(case.budget >= refused.minimum)
            raise


@st.composite
def rememberings(draw: st.DrawFn) -> Remembering:
    case = draw(cases(max_size=8))
    seqs = [each.seq for each in case.window]
    blocks: list[BlockType] = draw(
        st.lists(st.sampled_from(("static", "extractive", "vector")), unique=True)
    )
    found = [
        BlockContent(block, tuple(draw(st.lists(items(seqs), max_size=5)))) for block in blocks
    ]
    return Remembering(case, found, draw(st.sampled_from(get_args(MemoryAs))))


@given(rememberings())
def test_memory_and_messages_together_never_pass_the_budget(asked: Remembering) -> None:
    fitted, memory = asked.made()
    weight = 3 + sum(weigh(chat, asked.case.count) for chat in fitted.messages)
    assert fitted.tokens == weight
    assert weight + (memory.tokens if asked.memory_as == "none" else 0) <= asked.case.budget
    assert memory.tokens <= asked.case.budget // MEMORY_SHARE
    if asked.memory_as == "none" and memory.text:
        assert memory.tokens == asked.case.count(memory.text)


@given(rememberings())
def test_a_context_with_memory_is_valid_and_keeps_the_newest_user_message(
    asked: Remembering,
) -> None:
    fitted, memory = asked.made()
    if fitted.messages:
        assert problems(fitted.messages) == []
    heading = [] if asked.case.system is None else [shown(asked.case.system)]
    if asked.memory_as == "system" and memory.text:
        heading = [shown(inserted(asked.case.system, memory.text))]
    elif memory.text:
        heading += memory_messages(memory.text, asked.memory_as)
    assert list(fitted.messages[: len(heading)]) == heading
    check_question_kept(asked.case, fitted)
    check_turns_whole(asked.case, fitted)


@given(rememberings())
def test_the_current_chain_and_the_summary_are_what_they_are_without_memory(
    asked: Remembering,
) -> None:
    fitted, memory = asked.made()
    alone = asked.case.fitted()
    assert fitted.cuts == alone.cuts
    assert fitted.summary_tokens == alone.summary_tokens
    assert set(fitted.seqs) <= set(alone.seqs)
    if fitted.cuts:
        assert memory.text == ""


@given(rememberings())
def test_what_the_context_shows_is_not_repeated(asked: Remembering) -> None:
    fitted, memory = asked.made()
    remembered = [item for block in memory.shown.values() for item in block]
    assert not any(item.is_held(SESSION, frozenset(fitted.seqs)) for item in remembered)


def material(*chats: object, budget: int, summary: str | None = None) -> Material:
    window = conversation(*chats)  # type: ignore[arg-type]
    return Material(system=system(), summary=summary, messages=window, budget=budget, count=quarter)


FACTS = BlockContent(
    "extractive", tuple(Item(id=f"f{n}", kind="fact", text="x" * 70) for n in range(50))
)


def test_older_turns_give_way_to_memory_and_memory_takes_half_of_the_budget_at_most() -> None:
    turns = [chat for _ in range(10) for chat in (user("q" * 100), assistant("a" * 100))]
    fitted, memory = fit_with_memory(
        material(*turns, budget=500), [FACTS], session=SESSION, memory_as="none"
    )
    assert 200 < memory.tokens <= 250
    assert 0 < len(fitted.seqs) < 20
    assert fitted.seqs[-1] == 20


def test_a_long_current_chain_leaves_memory_what_it_does_not_need() -> None:
    chain = (user("q" * 40), calling("a"), result("a", "r" * 1_600))  # 400 tokens of output
    fitted, memory = fit_with_memory(
        material(*chain, budget=560), [FACTS], session=SESSION, memory_as="system"
    )
    assert fitted.cuts == ()
    assert 0 < memory.tokens < 150
    cut, nothing = fit_with_memory(
        material(*chain, budget=300), [FACTS], session=SESSION, memory_as="system"
    )
    assert cut.cuts
    assert nothing.text == ""


def test_what_an_older_turn_said_is_remembered_once_the_turn_has_no_room() -> None:
    turns = [chat for _ in range(10) for chat in (user("q" * 100), assistant("a" * 100))]
    items = tuple(
        Item(
            id=f"f{seq}",
            kind="fact",
            text=f"fact {seq}",
            source=Source(session=SESSION, seqs=(seq,)),
        )
        for seq in range(1, 21)
    )
    found = [BlockContent("extractive", items)]
    fitted, memory = fit_with_memory(
        material(*turns, budget=400), found, session=SESSION, memory_as="none"
    )
    remembered = {item.source.seqs[0] for item in memory.of("extractive")}
    assert remembered
    assert remembered.isdisjoint(fitted.seqs)
    everything, nothing = fit_with_memory(
        material(*turns, budget=5_000), found, session=SESSION, memory_as="none"
    )
    assert len(everything.seqs) == 20
    assert nothing.text == ""
    assert {each.why for each in nothing.left_out} == {"in_window"}


def test_what_the_summary_says_word_for_word_is_not_remembered_beside_it() -> None:
    def said(name: str, text: str, session: str = SESSION) -> Item:
        return Item(id=name, kind="fact", text=text, source=Source(session=session, seqs=(99,)))

    lease, oven = "The lease ends in March.", "The oven comes in May."
    found = [
        BlockContent("extractive", (said("a", lease), said("b", oven), said("c", lease, "other")))
    ]
    asked = material(user("Which oven?"), budget=800, summary=f"User: We pay 1,850 euros. {lease}")
    _, memory = fit_with_memory(asked, found, session=SESSION, memory_as="user")
    assert [item.id for item in memory.of("extractive")] == ["b", "c"]
    assert [(each.id, each.why) for each in memory.left_out] == [("a", "in_window")]

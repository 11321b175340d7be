"""What holds for every context of every conversation, at every budget."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from palimpsest.conversations.message import Chat, Message
from palimpsest.conversations.own_tools import called
from palimpsest.conversations.weight import REPLY_PRIMING, weigh
from palimpsest.conversations.window.fit import Fitted, Material, fit, newest
from palimpsest.conversations.window.render import SummaryAs, shown
from palimpsest.conversations.window.turns import groups, turns
from palimpsest.errors import BudgetTooSmall
from palimpsest.models.tiktoken_counter import TiktokenCounter
from palimpsest.text.cutting import Count

from tests.unit.conversations.validity import problems
from tests.unit.conversations.window import transcripts as conversations
from tests.unit.conversations.window.transcripts import (
    chats,
    conversation,
    in_bytes,
    last_user_seq,
    quarter,
    repaired,
    systems,
    texts,
    users,
)

COUNTER = TiktokenCounter()

budgets = st.integers(100, 400) | st.integers(400, 6_000) | st.sampled_from((10_000, 100_000))
forms: st.SearchStrategy[SummaryAs] = st.sampled_from(("user", "system", "tool_call"))


@dataclass(frozen=True)
class Case:
    """A session as a context is asked of it: `window` is what the store holds, `read` what is read
    of it.
    """

    window: list[Message]
    read: list[Message]
    system: Chat | None
    summary: str | None
    summary_as: SummaryAs
    given: Chat | None
    budget: int
    count: Count

    @property
    def held(self) -> list[Message]:
        return conversations.shown(self.window)

    @property
    def material(self) -> Material:
        return Material(
            system=self.system,
            summary=self.summary,
            summary_as=self.summary_as,
            messages=self.read,
            given=self.given,
            budget=self.budget,
            count=self.count,
        )

    def fitted(self) -> Fitted:
        """The context; what has no room for one is no case."""
        try:
            return fit(self.material)
        except BudgetTooSmall as refused:
            assume(self.budget >= refused.minimum)
            raise


def in_tiktokens(text: str) -> int:
    return COUNTER.count(text, "o200k_base")


@st.composite
def cases(draw: st.DrawFn, count: Count | None = None, max_size: int = 12) -> Case:
    count = count or draw(st.sampled_from((quarter, quarter, in_bytes)))
    window = conversation(*draw(chats(max_size)), count=count)
    begin = draw(st.sampled_from([0, 0, 0, *(group[0].seq - 1 for group in groups(window)[:3])]))
    window = [each for each in window[begin:] if window[begin].role != "tool"]
    budget = draw(budgets)
    return Case(
        window=window,
        read=read(window, budget),
        system=draw(st.none() | systems),
        summary=draw(st.none() | texts),
        summary_as=draw(forms),
        given=draw(st.none() | users),
        budget=budget,
        count=count,
    )


def read(window: list[Message], budget: int) -> list[Message]:
    """What the context use case reads: the newest part, and the newest user message if that stands
    before it.
    """
    asked = last_user_seq(window)
    kept = newest(reversed(window), budget=budget, last_user_seq=asked)
    if kept and kept[0].seq > asked > 0:
        kept = (*(each for each in window if each.seq == asked), *kept)
    return list(kept)


def check_fits(case: Case, context: Fitted) -> None:
    assert context.tokens == REPLY_PRIMING + sum(
        weigh(chat, case.count) for chat in context.messages
    )
    assert context.tokens <= case.budget
    parts = (context.system_tokens, context.summary_tokens, context.window_tokens)
    assert context.tokens == REPLY_PRIMING + sum(parts)
    assert context.summary_tokens <= case.budget // 4


def check_valid(case: Case, context: Fitted) -> None:
    """Ready to send; empty only where there is nothing to say."""
    if context.messages:
        assert problems(context.messages) == []
    assert context.window_tokens > 0 or not (case.held or case.given)


def check_system_kept(case: Case, context: Fitted) -> None:
    if case.system is not None:
        assert context.messages[0] == shown(case.system)
    spoken = [chat for chat in context.messages if chat["role"] in ("system", "developer")]
    assert len(spoken) <= (case.system is not None) + (case.summary_as == "system")


def check_question_kept(case: Case, context: Fitted) -> None:
    """The newest user message is there, whole unless it is named among the cuts; else the newest
    message is.
    """
    asked = last_user_seq(case.window)
    if case.given is not None:
        newest_user = shown(case.given)
        assert context.messages[-1]["role"] == "user"
    elif asked:
        newest_user = shown(next(each.chat for each in case.window if each.seq == asked))
        assert asked in context.seqs
    else:
        assert not case.held or context.seqs[-1] in [each.seq for each in groups(case.held)[-1]]
        return
    is_cut = (None if case.given else asked) in [cut.seq for cut in context.cuts]
    assert is_cut or newest_user in context.messages


def check_turns_whole(case: Case, context: Fitted) -> None:
    """Older turns are whole and contiguous up to the current chain; of the chain only whole groups
    are missing.
    """
    assert list(context.seqs) == sorted(set(context.seqs))
    parts = turns(case.held)
    older, chain = (parts, []) if case.given or not parts else (parts[:-1], parts[-1])
    there = [set(context.seqs).intersection(each.seq for each in turn) for turn in older]
    whole = [bool(seqs) for seqs in there]
    assert whole == sorted(whole)
    for turn, seqs in zip(older, there, strict=True):
        assert not seqs or seqs == answerable(turn)
    for group in groups(chain):
        seqs = set(context.seqs).intersection(each.seq for each in group)
        assert len(seqs) in (0, 1, len(answerable(group)))
    if context.cuts:
        assert not any(whole)


def answerable(part: object) -> set[int]:
    """What may stand in a context of these messages: all but results that answer no call."""
    kept = repaired([each.chat for each in part])  # type: ignore[attr-defined]
    return {each.seq for each in part if any(each.chat is chat for chat in kept)}  # type: ignore[attr-defined]


def check_no_room_wasted(case: Case, context: Fitted) -> None:
    """A turn that is left out would not have fitted."""
    parts = turns(case.held)
    older = parts if case.given else parts[:-1]
    left_out = [
        turn for turn in older if not set(context.seqs).intersection(each.seq for each in turn)
    ]
    if left_out and not context.cuts:
        *answers, _ = repaired(
            [*(shown(each.chat) for each in left_out[-1]), {"role": "user", "content": ""}]
        )
        assert context.tokens + sum(weigh(chat, case.count) for chat in answers) > case.budget


def check_cut_arguments(case: Case, context: Fitted) -> None:
    stored = {called(call)[1] for each in case.held for call in each.chat.get("tool_calls", ())}
    for chat in context.messages[1:]:
        for call in chat.get("tool_calls", ()):
            if call["type"] == "function" and called(call)[1] not in stored:
                assert isinstance(json.loads(called(call)[1]), dict)


def check_uncut(case: Case, context: Fitted) -> None:
    """Where nothing was cut, what is there is word for word what was said."""
    if context.cuts:
        return
    there = [each for each in case.held if each.seq in context.seqs]
    said = repaired(
        [*(shown(each.chat) for each in there), *([shown(case.given)] if case.given else [])]
    )
    assert said == list(context.messages)[len(context.messages) - len(said) :]


CHECKS: list[Callable[[Case, Fitted], None]] = [
    check_fits,
    check_valid,
    check_system_kept,
    check_question_kept,
    check_turns_whole,
    check_no_room_wasted,
    check_cut_arguments,
    check_uncut,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@given(case=cases())
def test_every_context(check: Callable[[Case, Fitted], None], case: Case) -> None:
    check(case, case.fitted())


@given(case=cases(), smaller=st.integers(100, 2_000))
def test_a_smaller_budget_never_shows_more_turns(case: Case, smaller: int) -> None:
    assume(smaller <= case.budget and case.count is quarter)
    more = case.fitted()
    less = Case(**{**case.__dict__, "budget": smaller, "read": read(case.window, smaller)}).fitted()
    assert set(less.seqs) <= set(more.seqs)


@settings(max_examples=40)
@given(case=cases(count=in_tiktokens, max_size=8))
def test_every_context_in_tiktokens_tokens(case: Case) -> None:
    context = case.fitted()
    for check in CHECKS:
        check(case, context)

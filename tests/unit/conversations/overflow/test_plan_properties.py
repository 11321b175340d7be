"""What holds for every eviction from every window, under every strategy."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st
from palimpsest.conversations.configuration import (
    Delete,
    Flush,
    NoWindow,
    Strategy,
    Summarize,
    Trim,
)
from palimpsest.conversations.lifecycle import evicted
from palimpsest.conversations.message import Chat, Message
from palimpsest.conversations.overflow.eviction import Eviction, fifo, plan, raised, step
from palimpsest.conversations.session import Head
from palimpsest.conversations.window.turns import groups, turns

from tests.unit.conversations.window.transcripts import (
    chats,
    conversation,
    head_of,
    last_user_seq,
    shown,
)

budgets = st.integers(100, 3_000)
strategies: st.SearchStrategy[Strategy] = st.one_of(
    st.builds(
        Summarize,
        max_tokens=budgets,
        trigger_ratio=st.sampled_from((0.1, 0.55, 0.8, 1)),
        keep_recent_turns=st.integers(1, 6),
        fold_at_least=st.integers(1, 6),
    ),
    st.builds(
        Trim, strategy=st.just("trim"), max_tokens=budgets, max_memory_tokens=st.integers(1, 3_000)
    ),
    st.builds(
        Flush,
        strategy=st.just("flush"),
        max_tokens=budgets,
        max_stm_token_ratio=st.sampled_from((0.1, 0.5, 1)),
        keep_recent_turns=st.integers(1, 6),
    ),
    st.builds(Delete, strategy=st.just("delete"), max_tokens=budgets, count=st.integers(1, 12)),
    st.builds(NoWindow, strategy=st.just("none"), max_tokens=budgets),
)


@st.composite
def windows(draw: st.DrawFn) -> tuple[Head, list[Message]]:
    """A session's window, which may begin inside a turn, and its head."""
    window = conversation(*draw(chats(20)), after=draw(st.sampled_from((0, 100))))
    begin = draw(st.sampled_from([0, 0, 0, *range(min(4, len(window)))]))
    window = window[begin:] if window[begin:] and window[begin].role != "tool" else window
    system_tokens, summary_tokens = draw(st.sampled_from(((0, 0), (50, 0), (0, 200), (2_000, 100))))
    return head_of(window, system_tokens=system_tokens, summary_tokens=summary_tokens), window


def after(head: Head, eviction: Eviction, window: list[Message]) -> tuple[Head, list[Message]]:
    head = evicted(head, through=eviction.last, tokens=eviction.tokens, messages=eviction.messages)
    return head, [each for each in window if each.seq > eviction.last]


def check_whole(head: Head, window: list[Message], eviction: Eviction) -> None:
    """What goes is the window's beginning, in whole turns, counted right; the current chain is not
    in it.
    """
    going = [each for each in shown(window) if each.seq <= eviction.last]
    assert eviction.first == head.window_start
    assert eviction.messages == len(going) > 0
    assert eviction.tokens == sum(each.tokens for each in going)
    ends = [turn[-1].seq for turn in turns(shown(window))]
    assert eviction.last in ends[:-1]
    assert eviction.last < (last_user_seq(window) or ends[-1])


@given(windows(), strategies)
def test_an_eviction_takes_whole_turns_and_never_the_current_chain(
    session: tuple[Head, list[Message]], config: Strategy
) -> None:
    head, window = session
    eviction = plan(config, head=head, window=window)
    if eviction is not None:
        check_whole(head, window, eviction)
        assert config.keeps_window


@given(windows(), strategies)
def test_planning_again_and_again_ends_and_loses_nothing(
    session: tuple[Head, list[Message]], config: Strategy
) -> None:
    head, window = session
    gone: list[Message] = []
    rest = window
    for _ in range(len(window) + 1):
        eviction = plan(config, head=head, window=rest)
        if eviction is None:
            break
        gone += [each for each in rest if each.seq <= eviction.last]
        head, rest = after(head, eviction, rest)
    assert plan(config, head=head, window=rest) is None
    assert gone + rest == window
    assert (head.window_tokens, head.window_messages) == (
        sum(each.tokens for each in shown(rest)),
        len(shown(rest)),
    )
    assert last_user_seq(rest) == last_user_seq(window)


@given(windows(), strategies)
def test_what_stays_is_what_the_strategy_keeps(
    session: tuple[Head, list[Message]], config: Strategy
) -> None:
    head, window = session
    eviction = plan(config, head=head, window=window)
    assume(eviction is not None and config.keeps_window)
    assert eviction is not None
    left, _ = after(head, eviction, window)
    kept = [turn for turn in turns(shown(window)) if turn[0].seq > eviction.last]
    is_chain = len(kept) == 1
    if isinstance(config, Summarize):
        assert len(kept) <= config.keep_recent_turns
        assert is_chain or left.window_tokens + left.system_tokens <= config.trigger * 3 // 4
        assert eviction.messages >= config.fold_at_least or head.tokens > config.max_tokens
    elif isinstance(config, Trim):
        assert is_chain or left.window_tokens <= config.max_memory_tokens
        assert is_chain or left.tokens <= config.max_tokens
    elif isinstance(config, Delete):
        assert is_chain or eviction.messages >= config.count
        assert is_chain or left.tokens <= config.max_tokens


@given(windows(), st.integers(100, 5_000))
def test_fifo_makes_the_window_fit_or_leaves_the_current_chain(
    session: tuple[Head, list[Message]], budget: int
) -> None:
    head, window = session
    eviction = fifo(head, window, budget=budget)
    if eviction is None:
        assert head.tokens <= budget or len(turns(shown(window))) <= 1
        return
    check_whole(head, window, eviction)
    left, rest = after(head, eviction, window)
    assert left.tokens <= budget or len(turns(shown(rest))) == 1
    last_gone = next(turn for turn in turns(shown(window)) if turn[-1].seq == eviction.last)
    assert left.tokens + sum(each.tokens for each in last_gone) > budget
    assert fifo(left, rest, budget=budget) is None


@given(chats(20), st.integers(1, 3_000), st.sampled_from((0, 100, 1_000)))
def test_steps_read_everything_once_and_never_split_a_group(
    spoken: list[Chat], capacity: int, previous_tokens: int
) -> None:
    backlog = shown(conversation(*spoken))
    whole = {group[-1].seq for group in groups(backlog)}
    rest = backlog
    while rest:
        through = step(rest, previous_tokens=previous_tokens, capacity=capacity)
        read = [each for each in rest if each.seq <= through]
        assert read
        assert through in whole
        room = capacity - previous_tokens
        assert sum(each.tokens for each in read) <= room or len(groups(read)) == 1
        rest = [each for each in rest if each.seq > through]


@given(windows(), strategies, st.integers(0, 5_000))
def test_a_raised_trigger_lets_the_window_grow(
    session: tuple[Head, list[Message]], config: Strategy, trigger: int
) -> None:
    head = replace(session[0], trigger=trigger)
    up = raised(head, config)
    until_full = config.messages_room + 1 - head.trigger
    assert up >= min(head.raised + max(1, config.max_tokens // 10), until_full)
    assert head.trigger + up > head.tokens

import pytest
from palimpsest.conversations.configuration import (
    Delete,
    Flush,
    NoWindow,
    Strategy,
    Summarize,
    Trim,
)
from palimpsest.conversations.message import SYSTEM_ROLES
from palimpsest.conversations.overflow.eviction import Eviction, fifo, plan, raised, step

from tests.unit.conversations.window.transcripts import (
    assistant,
    calling,
    conversation,
    head_of,
    result,
    system,
    user,
)

LONG = "word " * 80  # 100 tokens


def test_a_summary_folds_all_but_the_recent_turns() -> None:
    window = conversation(*[user(), assistant()] * 8)
    eviction = plan(Summarize(keep_recent_turns=3), head=head_of(window), window=window)
    assert eviction == Eviction(
        first=1, last=10, messages=10, tokens=sum(each.tokens for each in window[:10])
    )


def test_of_the_recent_turns_only_those_stay_that_fit_three_quarters_of_the_trigger() -> None:
    window = conversation(*[user(LONG), assistant(LONG)] * 5)  # 218 tokens a turn
    config = Summarize(max_tokens=1_000, trigger_ratio=0.8)
    eviction = plan(config, head=head_of(window), window=window)
    assert eviction is not None
    assert eviction.last == 6


def test_the_system_messages_weight_leaves_less_for_recent_turns() -> None:
    window = conversation(*[user(LONG), assistant(LONG)] * 5)
    eviction = plan(
        Summarize(max_tokens=1_000), head=head_of(window, system_tokens=200), window=window
    )
    assert eviction is not None
    assert eviction.last == 8


def test_the_current_chain_stays_however_large_it_is() -> None:
    window = conversation(user(), assistant(), user(LONG), calling("a"), result("a", LONG * 90))
    eviction = plan(Summarize(max_tokens=1_000), head=head_of(window), window=window)
    assert eviction is not None
    assert eviction.last == 2


@pytest.mark.parametrize(
    "config",
    [
        Summarize(max_tokens=100),
        Trim(strategy="trim", max_tokens=100),
        Delete(strategy="delete", max_tokens=100),
        Flush(strategy="flush", max_tokens=100),
    ],
)
def test_where_only_the_current_chain_is_left_nothing_can_go(config: Strategy) -> None:
    window = conversation(user(LONG), calling("a"), result("a", LONG * 90))
    assert plan(config, head=head_of(window), window=window) is None


def test_a_summary_of_fewer_messages_than_wanted_waits() -> None:
    window = conversation(user(), assistant(), *[user()] * 5)
    config = Summarize(keep_recent_turns=5, fold_at_least=3)
    assert plan(config, head=head_of(window), window=window) is None
    assert plan(config.model_copy(update={"fold_at_least": 2}), head=head_of(window), window=window)


def test_over_the_budget_even_one_message_is_folded() -> None:
    window = conversation(user(LONG), *[user()] * 5)
    config = Summarize(keep_recent_turns=5, fold_at_least=1_000, max_tokens=100)
    head = head_of(window)
    assert head.tokens > config.max_tokens
    eviction = plan(config, head=head, window=window)
    assert eviction is not None
    assert (eviction.first, eviction.messages) == (1, 1)


@pytest.mark.parametrize(("count", "gone"), [(1, 8), (2, 8), (3, 6), (4, 6), (9, 0), (99, 0)])
def test_the_recent_messages_may_be_counted_instead_of_the_turns(count: int, gone: int) -> None:
    window = conversation(*[user(), assistant()] * 5)
    config = Summarize(summary_message_count=count, keep_recent_turns=1)
    eviction = plan(config, head=head_of(window), window=window)
    assert (eviction.messages if eviction else 0) == gone


def test_system_messages_go_with_their_turn_but_do_not_count() -> None:
    window = conversation(
        system(LONG), user(), system(LONG), assistant(), *[user(), assistant()] * 5
    )
    eviction = plan(Summarize(), head=head_of(window), window=window)
    assert eviction is not None
    assert (eviction.first, eviction.last, eviction.messages) == (1, 4, 2)
    assert eviction.tokens == window[1].tokens + window[3].tokens


def test_system_messages_alone_are_nothing_to_fold() -> None:
    window = conversation(system(LONG), system(LONG), *[user()] * 5)
    assert plan(Summarize(fold_at_least=1), head=head_of(window), window=window) is None


def test_a_flush_takes_all_but_the_recent_turns_however_few_messages_that_are() -> None:
    window = conversation(user(), *[user(), assistant()] * 3)
    eviction = plan(
        Flush(strategy="flush", keep_recent_turns=3), head=head_of(window), window=window
    )
    assert eviction is not None
    assert (eviction.first, eviction.last) == (1, 1)


def test_a_flush_keeps_no_more_recent_turns_than_fit_three_quarters_of_its_trigger() -> None:
    window = conversation(*[user(LONG), assistant(LONG)] * 5)  # 218 tokens a turn
    config = Flush(strategy="flush", max_tokens=1_200, max_stm_token_ratio=0.5)
    eviction = plan(config, head=head_of(window), window=window)
    assert eviction is not None
    assert (config.trigger, eviction.last) == (600, 6)


def test_trim_keeps_the_newest_turns_within_its_tokens() -> None:
    window = conversation(*[user(LONG), assistant(LONG)] * 5)
    eviction = plan(
        Trim(strategy="trim", max_tokens=1_000, max_memory_tokens=500),
        head=head_of(window),
        window=window,
    )
    assert eviction is not None
    assert eviction.last == 6


def test_trim_keeps_no_more_than_half_of_the_budget_whatever_it_may_keep() -> None:
    window = conversation(*[user(LONG), assistant(LONG)] * 5)
    config = Trim(strategy="trim", max_tokens=700, max_memory_tokens=5_000)
    eviction = plan(config, head=head_of(window, system_tokens=200), window=window)
    assert eviction is not None
    assert eviction.last == 8  # 350 tokens less the system message
    high = config.model_copy(update={"low_water_ratio": 1})
    most = plan(high, head=head_of(window, system_tokens=200), window=window)
    assert most is not None
    assert most.last == 6


def test_delete_takes_the_oldest_in_whole_turns() -> None:
    window = conversation(*[user(), assistant(), assistant()] * 8)
    eviction = plan(Delete(strategy="delete", count=4), head=head_of(window), window=window)
    assert eviction is not None
    assert (eviction.last, eviction.messages) == (6, 6)


def test_delete_takes_more_until_the_window_fits_half_of_the_budget() -> None:
    window = conversation(*[user(LONG), assistant(LONG)] * 8)
    config = Delete(strategy="delete", count=4, max_tokens=1_000)
    eviction = plan(config, head=head_of(window), window=window)
    assert eviction is not None
    assert eviction.last == 12
    high = config.model_copy(update={"low_water_ratio": 1})
    most = plan(high, head=head_of(window), window=window)
    assert most is not None
    assert most.last == 8


def test_without_short_term_memory_nothing_is_evicted() -> None:
    window = conversation(*[user(LONG)] * 50)
    assert (
        plan(NoWindow(strategy="none", max_tokens=100), head=head_of(window), window=window) is None
    )


def test_fifo_drops_only_what_it_must() -> None:
    window = conversation(*[user(LONG), assistant(LONG)] * 5)
    eviction = fifo(head_of(window), window, budget=700)
    assert eviction is not None
    assert eviction.last == 4
    assert fifo(head_of(window), window, budget=2_000) is None


def test_fifo_leaves_the_current_chain() -> None:
    window = conversation(user(LONG), user(LONG), calling("a"), result("a", LONG))
    eviction = fifo(head_of(window), window, budget=100)
    assert eviction is not None
    assert eviction.last == 1
    assert fifo(head_of(window[1:]), window[1:], budget=100) is None


def test_where_no_user_speaks_the_oldest_groups_can_go() -> None:
    window = conversation(*[calling("a"), result("a", LONG)] * 10)
    eviction = fifo(head_of(window), window, budget=500)
    assert eviction is not None
    assert eviction.last == 12


def test_a_window_that_begins_inside_a_turn_loses_the_rest_of_it_first() -> None:
    window = conversation(
        calling("b"), result("b"), assistant(), *[user(), assistant()] * 5, after=7
    )
    eviction = plan(Summarize(), head=head_of(window), window=window)
    assert eviction is not None
    assert (eviction.first, eviction.last) == (8, 10)


def test_a_step_reads_all_that_fits_in_whole_turns() -> None:
    backlog = conversation(*[user(LONG), assistant(LONG)] * 5)
    assert step(backlog, previous_tokens=0, capacity=5_000) == 10
    assert step(backlog, previous_tokens=0, capacity=700) == 6
    assert step(backlog, previous_tokens=300, capacity=700) == 2


def test_a_step_ends_inside_a_turn_that_is_too_large_but_not_inside_a_group() -> None:
    backlog = conversation(
        user(LONG), calling("a", "b"), result("a", LONG), result("b", LONG), assistant(LONG), user()
    )
    assert step(backlog, previous_tokens=0, capacity=400) == 4
    assert step(backlog, previous_tokens=0, capacity=250) == 1


def test_a_step_reads_a_group_that_is_too_large_by_itself() -> None:
    backlog = conversation(
        calling("a", "b"), result("a", LONG), result("b", LONG), assistant(LONG), user()
    )
    assert step(backlog, previous_tokens=90, capacity=100) == 3
    assert step(backlog, previous_tokens=500, capacity=100) == 3


def test_a_step_never_reads_system_messages_alone() -> None:
    backlog = conversation(system(LONG), user(LONG * 5), assistant(), user())
    through = step(backlog, previous_tokens=0, capacity=50)
    assert any(each.role not in SYSTEM_ROLES for each in backlog if each.seq <= through)


@pytest.mark.parametrize("tokens", [801, 5_000])
def test_the_trigger_rises_a_tenth_of_the_budget_above_what_the_window_holds(tokens: int) -> None:
    head = head_of([], trigger=800, max_tokens=1_000, system_tokens=tokens - 3)
    assert head.trigger + raised(head, Summarize(max_tokens=1_000)) == tokens + 100


def test_a_raised_trigger_rises_further() -> None:
    head = head_of([], trigger=800, raised=100, system_tokens=900)
    assert raised(head, Summarize(max_tokens=1_000)) > 100 + 100

"""What a turn costs its user: the share of each context that a prompt cache can serve."""

from __future__ import annotations

import pytest

from benchmarks.prompt.conversation import TURNS, conversation
from benchmarks.prompt.measure import Measured, common_tokens, weight
from benchmarks.prompt.ours import measured
from benchmarks.prompt.run import DEFAULTS, STRATEGIES, WINDOW

HELLO = {"role": "user", "content": "Hello, who are you?"}
THERE = {"role": "assistant", "content": "Your assistant."}


def check_what_was_needed(sums: Measured) -> None:
    assert (sums.found, sums.misled, sums.over_budget) == (sums.needed, 0, 0)


def test_with_the_defaults_a_cache_can_serve_94_of_100_tokens() -> None:
    sums = measured({}, budget=DEFAULTS, turns=TURNS)
    assert sums.share >= 0.94
    assert sums.needed == 50
    check_what_was_needed(sums)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_in_a_window_of_6000_tokens_a_cache_can_serve_87_of_100(strategy: str) -> None:
    sums = measured(STRATEGIES[strategy], budget=WINDOW, turns=TURNS)
    assert sums.share >= 0.87
    check_what_was_needed(sums)


def test_with_memory_in_one_place_a_cache_can_serve_hardly_anything() -> None:
    assert measured({"memory_as": "user"}, budget=WINDOW, turns=40).share < 0.5


def test_the_conversation_changes_a_memory_every_tenth_turn_and_asks_every_fourth() -> None:
    turns = list(conversation(40))
    assert [turn.number for turn in turns if turn.changed] == [10, 20, 30, 40]
    assert [turn.number for turn in turns if turn.needed] == list(range(4, 41, 4))


def test_the_common_beginning_ends_inside_the_first_message_that_differs() -> None:
    other = {"role": "assistant", "content": "Your guide."}
    assert common_tokens([HELLO, THERE], [HELLO, THERE, HELLO]) == weight(HELLO) + weight(THERE)
    assert common_tokens([HELLO, THERE], [HELLO, other]) == weight(HELLO) + 2
    assert common_tokens([HELLO], [THERE]) == 0

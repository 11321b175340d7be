import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.conversations.blocks import ALL_BLOCKS, ExtractiveBlock, VectorBlock
from palimpsest.conversations.configuration import (
    TOOL_TOKENS,
    Delete,
    Flush,
    NoWindow,
    Summarize,
    Trim,
    merged,
    parsed,
    stored,
)
from palimpsest.models.tiktoken_counter import TiktokenCounter
from palimpsest.recall.tool import SEARCH, definition
from pydantic import ValidationError


def test_nothing_said_means_summarize_with_its_defaults() -> None:
    config = parsed({})
    assert isinstance(config, Summarize)
    assert (config.max_tokens, config.trigger, config.keep_recent_turns) == (100_000, 80_000, 5)
    assert (config.summary_as, config.fold_at_least, config.summary_tokens) == ("user", 2, 4_000)


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        ({"strategy": "trim"}, Trim),
        ({"strategy": "delete"}, Delete),
        ({"strategy": "flush"}, Flush),
        ({"strategy": "none"}, NoWindow),
    ],
)
def test_each_strategy_has_its_own_fields(config: dict[str, Any], kind: type) -> None:
    assert isinstance(parsed(config), kind)


@pytest.mark.parametrize(
    "config",
    [
        {"strategy": "summarise"},
        {"strategy": "flush", "max_stm_token_ratio": 0},
        {"strategy": "flush", "keep_recent_turns": 0},
        {"strategy": None},
        {"max_token": 5_000},
        {"blocks": [{"type": "graph"}]},
        {"blocks": [{}]},
        {"blocks": [{"type": "static", "k": 5}]},
        *(
            {"blocks": [{"type": "static", "name": name}]}
            for name in ("", "a b", "1st", "a>", "<a", "a\n", "x" * 65, "é")
        ),
        *(
            {"blocks": [{"type": "static", "name": name}]}
            for name in ("memory", "Memory", "XMLish", "xml")
        ),
        {"blocks": [{"type": "static", "name": "a"}, {"type": "vector", "name": "a"}]},
        {"blocks": [{"type": "static", "name": "vector"}, {"type": "vector"}]},
        {"blocks": [{"type": "static", "name": "vector_memory"}, {"type": "vector"}]},
        {"blocks": [{"type": "static"}, {"type": "static"}]},
        {"blocks": [{"type": "extractive", "max_tokens": 49}]},
        {"blocks": [{"type": "vector", "k": 0}]},
        {"blocks": [{"type": "vector", "min_score": 1.1}]},
        {"strategy": "trim", "keep_recent_turns": 2},
        {"max_tokens": -1},
        {"max_tokens": 99},
        {"max_tokens": "plenty"},
        {"trigger_ratio": 0},
        {"trigger_ratio": 1.01},
        {"keep_recent_turns": 0},
        {"strategy": "delete", "count": 0},
        {"strategy": "trim", "max_memory_tokens": 0},
        {"summary_as": "tool"},
        {"model": "sarahs-own"},
        {"model": "gpt-4", "reserve_tokens": 8_192},
        {"model": "gpt-4", "reserve_tokens": "some"},
    ],
)
def test_what_is_not_known_or_out_of_range_is_refused(config: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        parsed(config)


def test_a_model_gives_the_budget_and_a_budget_wins_over_it() -> None:
    assert parsed({"model": "gpt-4"}).max_tokens == 4_192
    assert parsed({"model": "gpt-4", "reserve_tokens": 1_000}).max_tokens == 7_192
    assert parsed({"model": "gpt-4", "max_tokens": 2_000}).max_tokens == 2_000
    assert parsed({"model": "sarahs-own", "max_tokens": 2_000}).max_tokens == 2_000


@given(st.integers(1, 100), st.integers(100, 200_000))
def test_a_summary_is_due_exactly_when_its_ratio_of_the_budget_is_reached(
    percent: int, budget: int
) -> None:
    config = Summarize(max_tokens=budget, trigger_ratio=percent / 100, auto_recall=False)
    exact = Fraction(percent, 100) * budget
    assert exact <= config.trigger < exact + 1


@pytest.mark.parametrize("strategy", ["trim", "delete"])
def test_trim_and_delete_wait_until_the_budget_is_exceeded(strategy: str) -> None:
    assert parsed({"strategy": strategy, "max_tokens": 1_000}).trigger == 1_001


@pytest.mark.parametrize(
    ("config", "tokens"),
    [
        ({"max_tokens": 100_000}, 4_000),
        ({"max_tokens": 20_000}, 2_000),
        ({"max_tokens": 3_000}, 500),
        ({"max_tokens": 1_000}, 250),
        ({"max_tokens": 1_000, "max_summary_tokens": 900}, 250),
        ({"max_tokens": 100_000, "max_summary_tokens": 60}, 60),
    ],
)
def test_a_summary_is_at_most_a_quarter_of_the_budget(config: dict[str, Any], tokens: int) -> None:
    summary = parsed(config)
    assert isinstance(summary, Summarize)
    assert summary.summary_tokens == tokens


def test_a_patch_is_laid_over_what_was_said() -> None:
    config = merged({"max_tokens": 5_000, "keep_recent_turns": 2}, {"keep_recent_turns": 3})
    assert isinstance(config, Summarize)
    assert (config.max_tokens, config.keep_recent_turns) == (5_000, 3)


def test_another_strategy_keeps_the_budget_and_forgets_the_rest() -> None:
    config = merged({"max_tokens": 5_000, "keep_recent_turns": 2}, {"strategy": "trim"})
    assert config == Trim(strategy="trim", max_tokens=5_000)


def test_another_model_brings_its_own_budget() -> None:
    base = stored(parsed({"model": "gpt-4"}))
    assert merged(base, {"model": "gpt-4o"}).max_tokens == 124_000
    assert merged(base, {"model": "gpt-4o", "max_tokens": 900}).max_tokens == 900


def test_another_reserve_changes_a_budget_that_came_from_the_model_and_no_other() -> None:
    derived = stored(parsed({"model": "gpt-4"}))
    smaller = merged(derived, {"reserve_tokens": 1_000})
    assert (derived["max_tokens"], smaller.max_tokens, smaller.trigger) == (4_192, 7_192, 5_754)
    assert merged(stored(smaller), {"reserve_tokens": 2_000}).max_tokens == 6_192
    assert merged(stored(smaller), {"keep_recent_turns": 3}).max_tokens == 7_192
    assert merged(derived, {"reserve_tokens": 1_000, "max_tokens": 900}).max_tokens == 900
    for said in (
        {"model": "gpt-4", "max_tokens": 2_000},
        {"model": "sarahs-own", "max_tokens": 2_000},
        {},
    ):
        config = parsed(said)
        assert merged(stored(config), {"reserve_tokens": 1_000}).max_tokens == config.max_tokens
    with pytest.raises(ValidationError):
        merged(derived, {"reserve_tokens": 8_192})


def test_only_a_strategy_with_a_window_keeps_one() -> None:
    assert not parsed({"strategy": "none"}).keeps_window
    assert parsed({}).keeps_window


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"model": "gpt-4"},
        {"strategy": "delete", "count": 3},
        {"summary_as": "system", "max_tokens": 900},
    ],
)
def test_what_is_stored_is_read_back_as_the_same(config: dict[str, Any]) -> None:
    assert parsed(stored(parsed(config))) == parsed(config)
    assert set(stored(parsed(config))) <= {*config, "strategy", "max_tokens"}


def test_blocks_are_of_every_strategy_and_their_fields_have_defaults() -> None:
    told = [
        {"type": "static"},
        {"type": "extractive", "retrieval_prompt": "What matters now?"},
        {"type": "vector"},
    ]
    for strategy in ("summarize", "trim", "delete", "flush", "none"):
        config = parsed(
            {
                "strategy": strategy,
                "blocks": told,
                "insert_into_system_prompt": True,
                "auto_recall": True,
            }
        )
        assert [block.type for block in config.blocks] == ["static", "extractive", "vector"]
        extractive, vector = config.block(ExtractiveBlock), config.block(VectorBlock)
        assert extractive is not None
        assert vector is not None
        assert (extractive.max_tokens, extractive.retrieval_prompt) == (2_000, "What matters now?")
        assert (vector.k, vector.min_score) == (5, None)


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_the_tool_weighs_no_more_than_configurations_leave_for_it(encoding: str) -> None:
    weight = TiktokenCounter().count(json.dumps(definition(SEARCH, "openai")), encoding)
    assert 0.8 * TOOL_TOKENS < weight <= TOOL_TOKENS


@pytest.mark.parametrize("strategy", ["summarize", "trim", "delete", "flush", "none"])
def test_no_window_fills_the_room_of_the_tool(strategy: str) -> None:
    shares = {"summarize": {"trigger_ratio": 1}, "flush": {"max_stm_token_ratio": 1}}.get(
        strategy, {}
    )
    for budget in (1_200, 100_000):
        config = parsed({"strategy": strategy, "max_tokens": budget, **shares})
        assert config.trigger + TOOL_TOKENS <= budget + 1
        without = parsed(
            {"strategy": strategy, "max_tokens": budget, "auto_recall": False, **shares}
        )
        assert without.trigger > config.trigger
    assert parsed({"max_tokens": 1_200}).trigger == 960


@pytest.mark.parametrize("strategy", ["trim", "delete"])
def test_a_window_that_drops_turns_leaves_room_for_memory(strategy: str) -> None:
    config = parsed({"strategy": strategy, "max_tokens": 6_000})
    assert config.trigger == 6_000 - TOOL_TOKENS - 750 + 1
    assert parsed({"strategy": strategy, "max_tokens": 6_000, "blocks": []}).trigger == 6_001


def test_without_a_word_there_are_all_blocks_and_they_are_not_stored_as_given() -> None:
    assert parsed({}).blocks == ALL_BLOCKS
    assert (parsed({}).names_blocks, parsed({"blocks": []}).blocks) == (False, ())
    assert "blocks" not in stored(parsed({}))
    flush = parsed({"strategy": "flush"})
    assert isinstance(flush, Flush)
    assert [block.type for block in flush.blocks] == ["static", "extractive", "vector"]
    assert (flush.trigger, flush.keep_recent_turns, flush.parts) == (
        50_000,
        5,
        ("extractive", "vector"),
    )
    assert (
        parsed({"strategy": "flush", "max_tokens": 100, "max_stm_token_ratio": 0.55}).trigger == 55
    )


def test_the_place_of_memory_has_two_names_that_always_say_the_same() -> None:
    for told in ({"memory_as": "system"}, {"insert_into_system_prompt": True}):
        config = parsed(dict(told))
        assert (config.memory_as, config.insert_into_system_prompt) == ("system", True)
        assert parsed(config.model_dump()) == parsed(stored(config)) == config
        assert merged(stored(config), {"memory_as": "tool_call"}).memory_as == "tool_call"
        assert merged(stored(config), {"insert_into_system_prompt": False}).memory_as == "split"
    for contradiction in (("user", True), ("none", True), ("system", False)):
        with pytest.raises(ValidationError, match="contradict"):
            parsed(
                dict(zip(("memory_as", "insert_into_system_prompt"), contradiction, strict=True))
            )


def test_blocks_survive_a_change_of_strategy_and_are_stored_as_they_were_said() -> None:
    told = {"blocks": [{"type": "static"}, {"type": "vector", "k": 3}]}
    changed = merged({"strategy": "trim", "max_memory_tokens": 9, **told}, {"strategy": "flush"})
    kept = stored(changed)
    assert kept == {"strategy": "flush", "max_tokens": 100_000, **told}
    assert parsed(kept) == changed
    assert "blocks" not in stored(parsed({"strategy": "flush"}))


def test_a_block_is_named_by_its_type_unless_it_is_given_a_name() -> None:
    config = parsed({"blocks": [{"type": "static", "name": "company"}, {"type": "vector"}]})
    assert config.names == {"static": "company", "vector": "vector"}
    assert config.tags == {"static": "company", "vector": "vector_memory"}
    assert parsed(config.model_dump()).tags == parsed(stored(config)).tags == config.tags


@pytest.mark.parametrize("blocks", [[], [{"type": "static"}]])
def test_a_flush_takes_any_list_of_blocks(blocks: list[dict[str, str]]) -> None:
    config = parsed({"strategy": "flush", "blocks": blocks})
    assert isinstance(config, Flush)
    assert config.parts == ()


def test_of_two_ways_to_count_what_stays_the_one_that_was_given_last_counts() -> None:
    messages = stored(merged({}, {"summary_message_count": 4}))
    turns = merged(messages, {"keep_recent_turns": 2})
    assert isinstance(turns, Summarize)
    assert (turns.summary_message_count, turns.keep_recent_turns) == (None, 2)
    both = merged(messages, {"keep_recent_turns": 2, "summary_message_count": 6})
    assert isinstance(both, Summarize)
    assert (both.summary_message_count, both.keep_recent_turns) == (6, 2)
    later = merged(stored(turns), {"summary_message_count": 3})
    assert isinstance(later, Summarize)
    assert later.summary_message_count == 3

import re
from datetime import date

import pytest
from palimpsest.errors import Unprocessable
from palimpsest.models.catalogue import (
    WITHDRAWN,
    budget_of,
    cost,
    model_catalogue,
    takes_cache_points,
    window_of,
)

from infra import model_catalogue as script
from infra import paths


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4", 8_192),
        ("gpt-4o-mini-2024-07-18", 128_000),
        ("gpt-4.1-nano", 1_047_576),
        ("openai/gpt-4o", 128_000),
        ("GPT-5-mini", 400_000),
        ("o3-mini", 200_000),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", 200_000),
        ("models/gemini-2.5-flash", 1_048_576),
        ("llama3.1:8b", 131_072),
        ("meta-llama/Llama-3.3-70B-Instruct", 131_072),
        ("amazon.nova-pro-v1:0", 300_000),
    ],
)
def test_a_models_window_is_known_by_the_longest_beginning_of_its_name(
    model: str, window: int
) -> None:
    assert window_of(model) == window


@pytest.mark.parametrize("model", ["", "gpt", "sarahs-own", "my-gpt-4", "openai/"])
def test_a_name_that_is_not_known_has_no_window(model: str) -> None:
    assert window_of(model) is None


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", True),
        ("anthropic.claude-3-7-sonnet-20250219-v1:0", True),
        ("anthropic.claude-3-5-haiku-20241022-v1:0", True),
        ("anthropic.claude-3-haiku-20240307-v1:0", False),
        ("anthropic.claude-3-5-sonnet-20240620-v1:0", False),
        ("anthropic.claude-v2:1", False),
        ("meta.llama3-1-70b-instruct-v1:0", False),
        ("amazon.nova-pro-v1:0", False),
        ("arn:aws:bedrock:eu-west-1:1:application-inference-profile/abc", True),
        (None, True),
    ],
)
def test_bedrock_takes_cache_points_for_models_that_are_not_known_to_refuse_them(
    model: str | None,
    takes: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert takes_cache_points(model) is takes


def test_a_budget_is_the_window_less_the_reserve() -> None:
    assert budget_of("gpt-4", reserve=4_000) == 4_192
    assert budget_of("gpt-4", reserve=100_000) == 1
    assert budget_of(None, reserve=4_000) is None


def test_the_budget_of_an_unknown_model_is_refused() -> None:
    with pytest.raises(Unprocessable) as refused:
        budget_of("sarahs-own", reserve=0)
    assert (refused.value.code, refused.value.errors[0].field) == ("unknown_model", "model")


def test_what_a_call_costs_is_known_for_known_models_only() -> None:
    assert cost("gpt-4.1-nano-2025-04-14", tokens_in=1_000_000, tokens_out=1_000_000) == 500_000_000
    assert cost("openai/gpt-4.1", tokens_in=10, tokens_out=0) == 20_000
    assert cost("llama3.2", tokens_in=10, tokens_out=0) is None
    assert cost("gpt-4.1-huge", tokens_in=10, tokens_out=0) is None
    assert cost(None, tokens_in=10, tokens_out=0) is None


def test_the_table_says_where_and_when_it_was_taken_from() -> None:
    catalogue = model_catalogue()
    assert date.fromisoformat(catalogue.as_of) > date(2025, 1, 1)
    pinned = re.search(
        r"^LITELLM := litellm==(.+)$", (paths.PROJECT / "Makefile").read_text(), re.MULTILINE
    )
    assert pinned is not None
    assert catalogue.source == f"litellm {pinned[1]}"


def test_the_table_holds_the_models_that_are_named_and_no_others() -> None:
    catalogue = model_catalogue()
    assert catalogue.windows.keys() == script.WINDOWS.keys() | WITHDRAWN.keys()
    assert not script.WINDOWS.keys() & WITHDRAWN.keys()
    assert catalogue.prices.keys() == set(script.PRICED)
    assert all(window > 0 for window in catalogue.windows.values())
    assert all(price_in > 0 and price_out >= 0 for price_in, price_out in catalogue.prices.values())


ENTRY = {
    "max_input_tokens": 300,
    "max_output_tokens": 100,
    "input_cost_per_token": 2e-07,
    "output_cost_per_token": 0.0,
}
TABLE = dict.fromkeys((*script.WINDOWS.values(), *script.PRICED), ENTRY)


def test_windows_and_prices_are_those_of_the_table_they_are_taken_from() -> None:
    taken = script.excerpt(TABLE)
    assert (taken["windows"]["gpt-4"], taken["windows"]["gpt-5"]) == (300, 400)
    assert taken["prices"]["gpt-5"] == [0.2, 0.0]


@pytest.mark.parametrize("missing", ENTRY.keys())
def test_what_the_table_does_not_hold_is_not_made_up(missing: str) -> None:
    incomplete = {name: value for name, value in ENTRY.items() if name != missing}
    with pytest.raises(KeyError):
        script.excerpt(TABLE | {"gpt-5": incomplete})

import pytest
from palimpsest.errors import Unprocessable
from palimpsest.models.catalogue import budget_of, window_of


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
def test_a_models_window_is_known_by_the_longest_beginning_of_its_name(model: str, window: int) -> None:
    assert window_of(model) == window


@pytest.mark.parametrize("model", ["", "gpt", "sarahs-own", "my-gpt-4", "openai/"])
def test_a_name_that_is_not_known_has_no_window(model: str) -> None:
    assert window_of(model) is None


def test_a_budget_is_the_window_less_the_reserve() -> None:
    assert budget_of("gpt-4", reserve=4_000) == 4_192
    assert budget_of("gpt-4", reserve=100_000) == 1
    assert budget_of(None, reserve=4_000) is None


def test_the_budget_of_an_unknown_model_is_refused() -> None:
    with pytest.raises(Unprocessable) as refused:
        budget_of("sarahs-own", reserve=0)
    assert (refused.value.code, refused.value.errors[0].field) == ("unknown_model", "model")

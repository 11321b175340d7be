"""What callers' own models used, reported with the replies that they made."""

from typing import Any

import pytest

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client
from tests.unit.api.test_usage import Lost

CALL = {"model": "gpt-4.1-nano-2025-04-14", "tokens_in": 10_000, "tokens_out": 100}


def answered(call: Client, text: str = "Noted.", **usage: Any) -> Any:
    body = {"messages": [{"role": "assistant", "content": text}], "usage": CALL | usage}
    return call("POST", "/v1/sessions/s/messages", body)


@pytest.fixture
def sarah(call: Client) -> Client:
    call.append("s", "Hello.")
    return call


def used(call: Client, **query: Any) -> Any:
    (row,) = call("GET", "/v1/usage", query=query).json["usage"]
    return {name: amount for name, amount in row.items() if name.startswith("chat_")}


def test_cached_input_is_counted_and_priced_apart(sarah: Client) -> None:
    answered(sarah, cached_tokens=8_000)
    assert used(sarah, by="user") == {
        "chat_calls": 1,
        "chat_tokens_in": 10_000,
        "chat_tokens_cached": 8_000,
        "chat_tokens_out": 100,
        # 2,000 at $0.10, 8,000 at $0.025 and 100 at $0.40 a million
        "chat_cost_usd": pytest.approx(0.000440),
        "chat_unpriced_calls": 0,
    }


def test_what_is_written_into_a_cache_costs_what_the_list_says(sarah: Client) -> None:
    model = "claude-haiku-4-5-20251001"
    answered(sarah, model=model, written_tokens=6_000, cached_tokens=2_000, tokens_out=0)
    cost = used(sarah)["chat_cost_usd"]
    assert cost == pytest.approx((2_000 * 1 + 2_000 * 0.1 + 6_000 * 1.25) / 1_000_000)


@pytest.mark.parametrize("model", ["sarahs-own", None])
def test_a_model_that_is_not_known_has_no_cost(sarah: Client, model: str | None) -> None:
    answered(sarah, model=model)
    counted = used(sarah)
    assert (counted["chat_cost_usd"], counted["chat_unpriced_calls"]) == (0, 1)
    assert counted["chat_tokens_in"] == 10_000


def test_an_append_that_is_repeated_counts_once(sarah: Client) -> None:
    assert answered(sarah).json["replayed"] is False
    assert answered(sarah).json["replayed"] is True
    assert used(sarah)["chat_calls"] == 1


def test_it_takes_nothing_from_the_limit_of_our_own_calls(sarah: Client) -> None:
    answered(sarah)
    (row,) = sarah("GET", "/v1/usage").json["usage"]
    assert (row["cost_usd"], row["model_calls"], row["unpriced_calls"]) == (0, 0, 0)


def test_parts_larger_than_the_whole_are_refused_and_nothing_is_stored(sarah: Client) -> None:
    refused = answered(sarah, cached_tokens=10_001)
    assert refused.status == 422
    assert len(sarah("GET", "/v1/sessions/s/messages").json["messages"]) == 1


def test_a_count_that_fails_takes_no_append_away(sarah: Client, service: Service) -> None:
    lost = Lost()
    lost.steps.append("before count")
    service.shared.faults = lost
    assert answered(sarah).status == 201
    assert lost.steps == []
    assert len(sarah("GET", "/v1/sessions/s/messages").json["messages"]) == 2

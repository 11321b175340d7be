"""Costs rest on what was counted: filters as the template's, tokens by the stage that asked, prices
that are known.
"""

import json

import pytest
from palimpsest.models.catalogue import AWS_PRICES

from benchmarks.cost.models import Tokens, answer, tokens_of
from benchmarks.cost.operations import COLUMNS, FUNCTION_OF, STAGES, memory_of, user_month
from benchmarks.cost.turns import matches
from benchmarks.report import Table
from tests.doubles.openai_api import Request

CONVERSATION = (
    '<conversation>\n<message number="4" speaker="user" time="now">I live in Rome &amp; '
    "work</message>\n"
    '<message number="5" speaker="assistant" time="now">Good.</message>\n</conversation>'
)


def chat(text: str, **more: object) -> Request:
    messages = [{"role": "system", "content": "Extract."}, {"role": "user", "content": text}]
    return Request("/chat/completions", {}, {"model": "gpt-4.1-nano", "messages": messages, **more})


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"eventName": "INSERT", "dynamodb": {"NewImage": {"type": {"S": "job"}}}}, True),
        ({"eventName": "MODIFY", "dynamodb": {"NewImage": {"type": {"S": "job"}}}}, False),
        ({"eventName": "INSERT", "dynamodb": {"NewImage": {"type": {"S": "head"}}}}, False),
        ({"eventName": "INSERT", "dynamodb": {"Keys": {}}}, False),
    ],
)
def test_a_stream_record_passes_a_filter_as_the_template_means_it(
    record: dict[str, object], *, expected: bool
) -> None:
    assert (
        matches(
            record, {"eventName": ["INSERT"], "dynamodb": {"NewImage": {"type": {"S": ["job"]}}}}
        )
        is expected
    )


def test_tokens_count_for_the_stage_in_whose_call_they_were_sent() -> None:
    embedding = Request(
        "/embeddings", {}, {"model": "text-embedding-3-small", "input": ["tea", "green tea"]}
    )
    spans = [("append", 0.0, 1.0), ("extract", 2.0, 3.0), ("recall", 4.0, 5.0)]
    found = tokens_of([(2.5, chat("hello")), (2.6, chat("hello")), (4.5, embedding)], spans)
    assert set(found) == {"extract", "recall"}
    assert found["extract"].calls == 2
    assert found["extract"].tokens_out == 2
    assert found["recall"] == Tokens("text-embedding-3-small", 1, 3, 0)


def test_dollars_follow_the_list_and_a_model_without_a_price_is_an_error() -> None:
    assert Tokens("gpt-4.1-nano", 1, 1_000_000, 1_000_000).dollars == pytest.approx(0.5)
    with pytest.raises(LookupError):
        _ = Tokens("nobody's", 1, 1, 1).dollars


def test_the_stand_in_remembers_what_users_said_in_their_own_words() -> None:
    (memory,) = json.loads(answer(chat(CONVERSATION, response_format={}).body))["memories"]
    assert (memory["messages"], memory["quote"]) == ([4], "I live in Rome & work")
    assert answer(chat("one two").body) == "one two"


def test_every_stage_has_the_memory_that_the_stack_gives_its_function() -> None:
    sizes = {stage: memory_of(FUNCTION_OF.get(stage, stage)) for stage in STAGES}
    assert all(size in (512, 1024, 1769) for size in sizes.values())
    with pytest.raises(RuntimeError):
        memory_of("nobody")


def test_a_users_month_costs_its_share_of_a_thousand_turns() -> None:
    without, with_model = (
        Table("", COLUMNS, [[*("" for _ in COLUMNS[1:]), dollars]]) for dollars in ("0.1", "0.2")
    )
    rows = user_month(without, with_model).rows
    assert [row[:2] for row in rows] == [[1, 30], [10, 300], [50, 1_500]]
    assert rows[1][2:] == ["0.030", "0.060"]


def test_every_price_is_above_zero() -> None:
    assert all(price > 0 for price in AWS_PRICES.values())

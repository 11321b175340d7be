"""Reranking by a model of Bedrock, in the words of botocore's model of that service."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from palimpsest.engines.bedrock.place import BedrockPlace
from palimpsest.engines.bedrock.reranking import BedrockReranker
from palimpsest.errors import ModelFailed, ModelUnavailable

from tests.doubles.bedrock import REGION, RERANKERS, BedrockApi
from tests.doubles.openai_api import Step

QUESTION = "What is she allergic to?"
FITS, FAR, EMPTY = "she is allergic to shellfish", "My favourite editor is Vim.", ""


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[BedrockApi]:
    with BedrockApi() as running:
        running.use(monkeypatch)
        yield running


@pytest.fixture(params=RERANKERS)
def reranker(api: BedrockApi, request: pytest.FixtureRequest) -> BedrockReranker:
    return BedrockReranker(BedrockPlace(region=REGION, url=api.endpoint), model=request.param)


def soon(seconds: float = 60) -> float:
    return time.monotonic() + seconds


def test_each_text_has_a_score_in_its_place_and_what_answers_has_the_best(
    reranker: BedrockReranker, api: BedrockApi
) -> None:
    fits, far, empty, again = reranker.scores(QUESTION, [FITS, FAR, EMPTY, FITS], until=soon())
    assert fits == again > max(far, empty)
    assert api.refused == []
    assert [name for name, _ in api.invoked] == ["Rerank"]


@pytest.mark.parametrize("text", ["\x00", "\ud800", "\u5b57" * 50_000, "word " * 50_000])
def test_any_text_has_a_score(reranker: BedrockReranker, api: BedrockApi, text: str) -> None:
    assert len(reranker.scores(text, [text], until=soon())) == 1
    assert api.refused == []


def test_no_text_is_no_call(reranker: BedrockReranker, api: BedrockApi) -> None:
    assert reranker.scores(QUESTION, [], until=soon()) == []
    assert api.invoked == []


def test_it_ends_in_time_whatever_bedrock_does(reranker: BedrockReranker, api: BedrockApi) -> None:
    api.script(Step(delay=9))
    with pytest.raises(ModelUnavailable):
        reranker.scores(QUESTION, [FITS], until=soon(0.2))


@pytest.mark.parametrize(
    ("status", "failure"), [(429, ModelUnavailable), (500, ModelUnavailable), (403, ModelFailed)]
)
def test_a_refusal_is_a_failure_of_the_model(
    reranker: BedrockReranker, api: BedrockApi, status: int, failure: type[ModelFailed]
) -> None:
    api.script(Step(status=status))
    with pytest.raises(ModelFailed) as caught:
        reranker.scores(QUESTION, [FITS], until=soon())
    assert type(caught.value) is failure


def test_an_answer_that_leaves_out_a_text_gives_scores_up_to_it(
    reranker: BedrockReranker, api: BedrockApi
) -> None:
    body = (
        b'{"results": [{"index": 2, "relevanceScore": 0.4}, {"index": 0, "relevanceScore": 0.2}]}'
    )
    api.script(Step(body=body))
    assert reranker.scores(QUESTION, [FITS, FAR, EMPTY], until=soon()) == [0.2]


def test_a_call_is_counted_at_its_list_price(api: BedrockApi) -> None:
    heard: list[object] = []
    place = BedrockPlace(region=REGION, url=api.endpoint)
    BedrockReranker(place, model=RERANKERS[1], count=heard.append).scores(
        QUESTION, [FITS], until=soon()
    )
    assert heard == [{"model_calls": 1, "cost_nano_usd": 2_000_000}]

"""Embeddings by models of Bedrock: how each is asked, and what becomes of faults."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator

import pytest
from palimpsest.engines.bedrock.embeddings import BedrockEmbedder
from palimpsest.engines.bedrock.place import BedrockPlace
from palimpsest.errors import ModelFailed, ModelOutputInvalid, ModelUnavailable
from palimpsest.models import deadline
from palimpsest.models.ports import Space

from tests.doubles.bedrock import REGION, BedrockApi
from tests.doubles.openai_api import OK, Step

TITAN, COHERE = "amazon.titan-embed-text-v2:0", "cohere.embed-multilingual-v3"


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[BedrockApi]:
    with BedrockApi() as running:
        running.use(monkeypatch)
        yield running


@pytest.fixture
def titan(api: BedrockApi) -> BedrockEmbedder:
    return embedder(api, TITAN)


@pytest.fixture
def cohere(api: BedrockApi) -> BedrockEmbedder:
    return embedder(api, COHERE)


def embedder(
    api: BedrockApi, model: str, *, seconds: float = 60, **more: object
) -> BedrockEmbedder:
    place = BedrockPlace(region=REGION, url=api.endpoint)
    return BedrockEmbedder(place, space=Space(model, 1_024), seconds=seconds, **more)  # type: ignore[arg-type]


def bodies(api: BedrockApi) -> list[dict[str, object]]:
    return [json.loads(parameters["body"]) for _, parameters in api.invoked]


def test_titan_is_asked_for_one_text_a_call_and_for_the_dimension(
    titan: BedrockEmbedder, api: BedrockApi
) -> None:
    titan.embed(["one", "two", ""])
    asked = sorted(bodies(api), key=lambda body: str(body["inputText"]))
    assert [body["inputText"] for body in asked] == [".", "one", "two"]
    assert {body["dimensions"] for body in asked} == {1_024}
    assert api.refused == []


def test_cohere_is_asked_for_96_texts_a_call_and_told_which_are_questions(
    cohere: BedrockEmbedder, api: BedrockApi
) -> None:
    texts = [f"note {number}" for number in range(200)]
    (vector,) = cohere.embed(texts)[150:151]
    assert sorted(len(body["texts"]) for body in bodies(api)) == [8, 96, 96]  # type: ignore[arg-type]
    assert {body["input_type"] for body in bodies(api)} == {"search_document"}
    assert cohere.embed([texts[150]]) == [vector]
    asked = cohere.embed([texts[150]], as_questions=True)
    assert bodies(api)[-1]["input_type"] == "search_query"
    assert asked != [vector]
    assert api.refused == []


@pytest.mark.parametrize("model", [TITAN, COHERE])
def test_a_text_is_cut_to_what_the_model_takes(api: BedrockApi, model: str) -> None:
    embedder(api, model).embed(["\u5b57" * 100_000, "word " * 100_000])
    assert api.refused == []
    assert len(api.invoked) == (2 if model == TITAN else 1)


@pytest.mark.parametrize("status", [408, 424, 429, 500, 503])
def test_what_passes_is_unavailable_and_not_tried_again(
    cohere: BedrockEmbedder, api: BedrockApi, status: int
) -> None:
    api.script(Step(status=status, retry_after="7"), OK)
    with pytest.raises(ModelUnavailable) as caught:
        cohere.embed(["one"])
    assert caught.value.retry_after == 7
    assert len(api.requests) == 1


@pytest.mark.parametrize("status", [400, 403, 404])
def test_a_request_that_no_retry_mends_is_refused(
    titan: BedrockEmbedder, api: BedrockApi, status: int
) -> None:
    api.script(Step(status=status))
    with pytest.raises(ModelFailed) as caught:
        titan.embed(["one"])
    assert caught.value.code == "model_refused_request"
    assert not isinstance(caught.value, ModelUnavailable)


@pytest.mark.parametrize(
    "step", [Step(delay=9), Step(drip=0.5), Step(reset=True), Step(truncated=True)]
)
def test_a_connection_that_is_slow_or_breaks_is_unavailable(api: BedrockApi, step: Step) -> None:
    api.script(step)
    with pytest.raises(ModelUnavailable):
        embedder(api, COHERE, seconds=1).embed(["one"])


def test_the_limit_of_the_work_holds_for_its_vectors_too(api: BedrockApi) -> None:
    api.script(Step(delay=9))
    with deadline.limited(0.2), pytest.raises(ModelUnavailable):
        embedder(api, COHERE).embed(["one"])


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"null",
        b"{}",
        b'{"embeddings": null}',
        b'{"embeddings": []}',
        b'{"embeddings": [[1.0]]}',
        b'{"embeddings": [["one"]]}',
        json.dumps({"embeddings": [[0.0] * 1_024]}).encode(),
        json.dumps({"embeddings": [[1.0] * 1_024] * 2}).encode(),
        b"[" * 100_000,
    ],
)
def test_an_answer_without_a_vector_for_each_text_is_invalid(
    cohere: BedrockEmbedder, api: BedrockApi, body: bytes
) -> None:
    api.script(Step(body=body))
    with pytest.raises(ModelOutputInvalid):
        cohere.embed(["one"])


def test_an_answer_that_is_too_large_leaves_no_connection_open(api: BedrockApi) -> None:
    api.script(Step(body=b"[" * 100_000))
    with pytest.raises(ModelOutputInvalid, match="too large"):
        embedder(api, COHERE).embed(["one"])
    # pytest fails this test if a socket that is still open is collected.
    gc.collect()


def test_each_call_says_what_it_used(api: BedrockApi) -> None:
    heard: list[object] = []
    embedder(api, TITAN, count=heard.append).embed(["one", "two"])
    embedder(api, COHERE, count=heard.append).embed(["one"])
    assert heard == [
        {"embedding_calls": 2, "embedding_tokens": 14, "cost_nano_usd": 280},
        {"embedding_calls": 1, "embedding_tokens": 7, "cost_nano_usd": 700},
    ]


def test_a_role_that_bedrock_does_not_know_is_refused(
    titan: BedrockEmbedder, api: BedrockApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(ModelFailed):
        titan.embed(["one"])
    assert api.refused == ["the signature is wrong"]


def test_another_model_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(ValueError, match="embedding model of Bedrock"):
        BedrockEmbedder(BedrockPlace(), space=Space("amazon.nova-lite-v1:0", 8))

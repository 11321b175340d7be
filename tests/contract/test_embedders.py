from __future__ import annotations

import base64
import json
import math
import runpy
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from palimpsest.engines.bedrock.embeddings import BedrockEmbedder
from palimpsest.engines.bedrock.place import BedrockPlace
from palimpsest.errors import ModelFailed, ModelOutputInvalid, ModelUnavailable
from palimpsest.models.builtin import SPACE, BuiltinEmbedder
from palimpsest.models.catalogue import THRESHOLDS
from palimpsest.models.openai.embeddings import MAX_TOKENS, OpenAIEmbedder
from palimpsest.models.ports import Embedder, Space, Vector

from tests.doubles.bedrock import REGION, BedrockApi
from tests.doubles.openai_api import OK, Step
from tests.doubles.openai_embeddings import OpenAIEmbeddingsApi
from tests.engines import builtin_models
from tests.engines.npm import required

SMALL = Space("text-embedding-3-small", 8)


class Known:
    def __init__(self, value: str | None = "sk-test") -> None:
        self.current = value

    def value(self) -> str | None:
        return self.current


@pytest.fixture(scope="session")
def models() -> Path:
    reason = builtin_models.install()
    if reason is not None:
        pytest.fail(reason) if required() else pytest.skip(reason)
    return builtin_models.FOLDER


@pytest.fixture(scope="session")
def builtin(models: Path) -> BuiltinEmbedder:
    return BuiltinEmbedder(models)


@pytest.fixture
def api() -> Iterator[OpenAIEmbeddingsApi]:
    with OpenAIEmbeddingsApi() as running:
        yield running


@pytest.fixture
def small(api: OpenAIEmbeddingsApi) -> OpenAIEmbedder:
    return OpenAIEmbedder(key=Known(), space=SMALL, base_url=api.base_url, seconds=60)


@pytest.fixture
def bedrock(monkeypatch: pytest.MonkeyPatch) -> Iterator[BedrockApi]:
    with BedrockApi() as running:
        running.use(monkeypatch)
        yield running
    assert running.refused == []


@pytest.fixture
def titan(bedrock: BedrockApi) -> BedrockEmbedder:
    space = Space("amazon.titan-embed-text-v2:0", 256)
    return BedrockEmbedder(BedrockPlace(region=REGION, url=bedrock.endpoint), space=space)


@pytest.fixture
def cohere(bedrock: BedrockApi) -> BedrockEmbedder:
    space = Space("cohere.embed-multilingual-v3", 1_024)
    return BedrockEmbedder(BedrockPlace(region=REGION, url=bedrock.endpoint), space=space)


@pytest.fixture(params=["small", "builtin", "titan", "cohere"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    made: Embedder = request.getfixturevalue(request.param)
    return made


def cosine(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def answer(*embeddings: object) -> Step:
    data = [{"index": number, "embedding": each} for number, each in enumerate(embeddings)]
    return Step(body=json.dumps({"data": data}).encode())


def test_each_text_gets_a_vector_of_length_one_in_its_place(embedder: Embedder) -> None:
    texts = ["a long walk in the hills on a Sunday in May", "tax", "The dog is called Rex", "tax"]
    vectors = embedder.embed(texts)
    assert [len(vector) for vector in vectors] == [embedder.space.dimension] * 4
    assert [math.hypot(*vector) for vector in vectors] == pytest.approx([1] * 4, abs=1e-5)
    assert cosine(vectors[1], vectors[3]) == pytest.approx(1, abs=1e-5)
    assert cosine(vectors[0], vectors[2]) < 0.99


def test_a_text_gets_the_same_vector_alone_and_among_others(embedder: Embedder) -> None:
    texts = [f"note {number} " + "about the garden " * number for number in range(40)]
    alone = [embedder.embed([text])[0] for text in texts[::13]]
    among = embedder.embed(texts)[::13]
    assert [cosine(one, other) for one, other in zip(alone, among, strict=True)] == pytest.approx(
        [1] * 4, abs=1e-4
    )


@pytest.mark.parametrize(
    "text", ["", "   ", "\x00", "\ud800", "👩\u200d👩\u200d👧", "字" * 20_000, "word " * 20_000]
)
def test_any_text_has_a_vector(embedder: Embedder, text: str) -> None:
    (vector,) = embedder.embed([text])
    assert math.hypot(*vector) == pytest.approx(1, abs=1e-5)


def test_no_text_is_no_call(embedder: Embedder, api: OpenAIEmbeddingsApi) -> None:
    assert embedder.embed([]) == []
    assert api.requests == []


def test_the_builtin_model_puts_near_what_means_the_same(builtin: BuiltinEmbedder) -> None:
    near, far = builtin.embed(["The puppy is asleep", "Taxes are due in July"])
    (query,) = builtin.embed(["Is the dog sleeping?"], as_questions=True)
    assert cosine(query, near) > cosine(query, far) + 0.3
    assert THRESHOLDS[SPACE.model].own < strength(cosine(query, near))
    assert THRESHOLDS[SPACE.model].own > strength(cosine(query, far))


def strength(similarity: float) -> float:
    unrelated = THRESHOLDS[SPACE.model].unrelated
    return (similarity - unrelated) / (1 - unrelated)


def test_the_builtin_model_reads_a_question_in_its_own_way(builtin: BuiltinEmbedder) -> None:
    asked, said = (
        builtin.embed(["Is the dog sleeping?"], as_questions=asks)[0] for asks in (True, False)
    )
    assert cosine(asked, said) < 0.999


def test_the_builtin_model_without_its_files_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable):
        BuiltinEmbedder(tmp_path).embed(["a"])
    (tmp_path / "bge-small-en-v1.5").mkdir()
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / "bge-small-en-v1.5" / name).write_bytes(b"something else")
    with pytest.raises(ModelUnavailable):
        BuiltinEmbedder(tmp_path).embed(["a"])


def test_a_download_of_other_models_than_the_pinned_ones_is_refused(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = runpy.run_path(str(builtin_models.BUILDER))
    assert builder["build"](models.parent) == models  # whole: nothing is downloaded
    files = {name: (inside, "0" * 64) for name, (inside, _) in builder["FILES"].items()}
    monkeypatch.setitem(builder["build"].__globals__, "FILES", files)
    with pytest.raises(SystemExit, match="pinned"):
        builder["build"](tmp_path)


def test_openai_is_asked_once_for_all_texts_and_for_the_dimension(
    small: OpenAIEmbedder, api: OpenAIEmbeddingsApi
) -> None:
    small.embed(["one", "two", ""])
    (request,) = api.requests
    assert request.path == "/embeddings"
    assert request.headers["authorization"] == "Bearer sk-test"
    assert request.body["model"] == "text-embedding-3-small"
    assert request.body["dimensions"] == 8
    assert request.body["input"] == ["one", "two", "."]


def test_a_model_of_one_length_is_not_asked_for_another(api: OpenAIEmbeddingsApi) -> None:
    OpenAIEmbedder(
        key=Known(), space=Space("nomic-embed-text", 1_536), base_url=api.base_url
    ).embed(["one"])
    assert "dimensions" not in api.requests[0].body


def test_a_text_is_cut_between_characters_to_what_the_model_reads(
    small: OpenAIEmbedder, api: OpenAIEmbeddingsApi
) -> None:
    small.embed(["字" * 5_000])
    (sent,) = api.requests[0].body["input"]
    assert sent == "字" * (MAX_TOKENS // 3)


def test_vectors_may_come_as_base64_and_at_any_length(
    small: OpenAIEmbedder, api: OpenAIEmbeddingsApi
) -> None:
    packed = base64.b64encode(struct.pack("<8f", 3, 4, 0, 0, 0, 0, 0, 0)).decode()
    api.script(answer(packed, [0, 0, 5, 0, 0, 0, 0, 0]))
    assert small.embed(["one", "two"])[0] == pytest.approx([0.6, 0.8, 0, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 503])
def test_what_passes_is_unavailable_and_not_tried_again(
    small: OpenAIEmbedder, api: OpenAIEmbeddingsApi, status: int
) -> None:
    api.script(Step(status=status, retry_after="7"), OK)
    with pytest.raises(ModelUnavailable) as caught:
        small.embed(["one"])
    assert caught.value.retry_after == 7
    assert len(api.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_request_that_no_retry_mends_is_refused(
    small: OpenAIEmbedder, api: OpenAIEmbeddingsApi, status: int
) -> None:
    api.script(Step(status=status))
    with pytest.raises(ModelFailed) as caught:
        small.embed(["one"])
    assert caught.value.code == "model_refused_request"
    assert not isinstance(caught.value, ModelUnavailable)


@pytest.mark.parametrize(
    "step", [Step(delay=9), Step(drip=0.5), Step(reset=True), Step(truncated=True)]
)
def test_a_connection_that_is_slow_or_breaks_is_unavailable(
    api: OpenAIEmbeddingsApi, step: Step
) -> None:
    api.script(step)
    with pytest.raises(ModelUnavailable):
        OpenAIEmbedder(key=Known(), space=SMALL, base_url=api.base_url, seconds=1).embed(["one"])


@pytest.mark.parametrize(
    "step",
    [
        Step(body=b"<html>"),
        Step(body=b"null"),
        Step(body=b"{}"),
        Step(body=b'{"data": null}'),
        Step(body=b'{"data": [{"index": 0}]}'),
        Step(body=b"[" * 100_000),
        Step(body=b" " * 400_000),
        answer(),
        answer([1.0] * 7),
        answer([1.0] * 9),
        answer([0.0] * 8),
        answer([math.nan] * 8),
        answer([1e400] * 8),
        answer(["one"] * 8),
        answer(None),
        answer("not base64!"),
        answer("AAA="),
        answer([1.0] * 8, [1.0] * 8),
        Step(body=json.dumps({"data": [{"index": 1, "embedding": [1.0] * 8}]}).encode()),
    ],
)
def test_an_answer_without_a_vector_for_each_text_is_invalid(
    small: OpenAIEmbedder, api: OpenAIEmbeddingsApi, step: Step
) -> None:
    api.script(step)
    with pytest.raises(ModelOutputInvalid):
        small.embed(["one"])


@pytest.mark.parametrize("key", [None, "", "  "])
def test_without_a_key_nothing_is_asked(api: OpenAIEmbeddingsApi, key: str | None) -> None:
    with pytest.raises(ModelUnavailable):
        OpenAIEmbedder(key=Known(key), base_url=api.base_url).embed(["one"])
    assert api.requests == []


def test_a_server_that_is_not_there_is_unavailable(api: OpenAIEmbeddingsApi) -> None:
    with OpenAIEmbeddingsApi() as gone:
        url = gone.base_url
    with pytest.raises(ModelUnavailable):
        OpenAIEmbedder(key=Known(), base_url=url).embed(["one"])


def test_making_embedders_loads_nothing_heavy() -> None:
    code = (
        "import sys; from pathlib import Path; from palimpsest.models.builtin import "
        "BuiltinEmbedder; "
        "from palimpsest.models.openai.embeddings import OpenAIEmbedder; "
        "BuiltinEmbedder(Path('x')); OpenAIEmbedder(key=object()); "
        "print([name for name in ('openai', 'numpy', 'onnxruntime', 'tokenizers') if name in "
        "sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("model", "step", "used"),
    [
        (
            "text-embedding-3-small",
            None,
            {"embedding_calls": 1, "embedding_tokens": 10, "cost_nano_usd": 200},
        ),
        ("nomic-embed-text", None, {"embedding_calls": 1, "embedding_tokens": 10, "unpriced": 1}),
        ("nomic-embed-text", answer([1.0] * 8), {"embedding_calls": 1, "unpriced": 1}),
    ],
)
def test_each_call_says_what_it_used(
    api: OpenAIEmbeddingsApi, model: str, step: Step | None, used: dict[str, int]
) -> None:
    heard: list[object] = []
    size = 1_536 if step is None else 8
    if step is not None:
        api.script(step)
    OpenAIEmbedder(
        key=Known(), space=Space(model, size), base_url=api.base_url, count=heard.append
    ).embed(["one"])
    assert heard == [used]

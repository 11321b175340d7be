"""Which engines stand behind the settings of a stage."""

from pathlib import Path

import pytest
from palimpsest.engines.bedrock.embeddings import BedrockEmbedder
from palimpsest.engines.bedrock.reranking import BedrockReranker
from palimpsest.engines.opensearch.index import OpenSearchIndex
from palimpsest.errors import ModelUnavailable, NotFound, Unavailable
from palimpsest.models.builtin import SPACE, BuiltinEmbedder, BuiltinReranker
from palimpsest.models.masked import MaskedEmbedder, MaskedReranker
from palimpsest.models.openai.embeddings import OpenAIEmbedder
from palimpsest.models.ports import Space
from palimpsest.scope import UserScope
from palimpsest.search.ports import Gone
from palimpsest.settings import MemoriesSettings, SearchSettings
from palimpsest.wiring import models
from palimpsest.wiring.search import search_index
from palimpsest_local.embedded.index import EmbeddedIndex

from tests.doubles.owned_index import OwnedIndex

ENVIRONMENT = {
    "STAGE": "local",
    "POWERTOOLS_SERVICE_NAME": "palimpsest",
    "OPENAI_KEY_PARAMETER": "/palimpsest/local/openai-api-key",
    "SESSIONS_TABLE": "sessions",
    "EMBEDDING_MODEL": SPACE.model,
    "EMBEDDING_DIMENSION": str(SPACE.dimension),
}
OPENAI = {"EMBEDDING_MODEL": "text-embedding-3-small", "EMBEDDING_DIMENSION": "1536"}


def search_settings(**changed: str) -> SearchSettings:
    return SearchSettings.read({**ENVIRONMENT, **changed})


def memories_settings(**changed: str) -> MemoriesSettings:
    tables = {"TENANTS_TABLE": "tenants", "MEMORIES_TABLE": "memories", "CONTENTS_BUCKET": "b"}
    return MemoriesSettings.read({**ENVIRONMENT, **tables, "CHAT_MODEL": "gpt-4.1-nano", **changed})


@pytest.fixture(autouse=True)
def _in_a_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


def test_a_file_is_the_search_index_of_one_machine(tmp_path: Path) -> None:
    index = search_index(search_settings(SEARCH_URL=(tmp_path / "index.sqlite").as_uri()))
    assert isinstance(index, EmbeddedIndex)
    assert index.space == SPACE
    index.prepare()
    assert (tmp_path / "index.sqlite").is_file()


@pytest.mark.parametrize(
    "url", ["https://search-example.us-east-1.es.amazonaws.com", "http://127.0.0.1:9200"]
)
def test_an_address_is_a_cluster(url: str) -> None:
    index = search_index(search_settings(SEARCH_URL=url, **OPENAI))
    assert isinstance(index, OpenSearchIndex)
    assert index.space == Space("text-embedding-3-small", 1_536)


def test_plain_http_leads_nowhere_but_to_this_machine() -> None:
    with pytest.raises(ValueError, match="loopback"):
        search_index(search_settings(SEARCH_URL="http://search.example"))


def test_without_an_address_nothing_is_indexed_and_no_question_is_answered() -> None:
    index = search_index(search_settings())
    part = OwnedIndex(index, UserScope("acme", "sarah"))
    index.prepare()
    assert (part.write([Gone("mem_1", 1)]), index.indexes()) == ((), ())
    questions = (
        lambda: part.by_words("Lisbon", k=1),
        lambda: part.by_vector([1.0], k=1),
        part.count,
    )
    for ask in questions:
        with pytest.raises(Unavailable):
            ask()
    with pytest.raises(NotFound):
        index.switch()


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_functions_that_share_no_disk_refuse_a_file(stage: str) -> None:
    with pytest.raises(RuntimeError, match="SEARCH_URL"):
        search_settings(STAGE=stage, SEARCH_URL="file:///tmp/index.sqlite")


@pytest.mark.parametrize(
    "url", ["index.sqlite", "file:index.sqlite", "ftp://127.0.0.1", "https://"]
)
def test_what_is_no_address_stops_the_start(url: str) -> None:
    with pytest.raises(RuntimeError, match="SEARCH_URL"):
        search_settings(SEARCH_URL=url)


def test_the_embedders_name_says_where_it_runs() -> None:
    here, remote = (models.embedder(search_settings()), models.embedder(search_settings(**OPENAI)))
    assert isinstance(here, MaskedEmbedder)
    assert isinstance(here.embedder, BuiltinEmbedder)
    assert isinstance(remote, MaskedEmbedder)
    assert isinstance(remote.embedder, OpenAIEmbedder)
    assert remote.space == Space("text-embedding-3-small", 1_536)


def test_a_reranker_is_there_where_the_functions_carry_models() -> None:
    made = models.reranker(memories_settings())
    assert isinstance(made, MaskedReranker)
    assert isinstance(made.reranker, BuiltinReranker)
    assert models.reranker(memories_settings(**OPENAI)) is None


def test_a_reranker_of_bedrock_replaces_the_built_in_one() -> None:
    made = models.reranker(memories_settings(RERANK_MODEL="cohere.rerank-v3-5:0"))
    assert isinstance(made, MaskedReranker)
    assert isinstance(made.reranker, BedrockReranker)


@pytest.mark.parametrize("model", ["amazon.titan-embed-text-v2:0", "cohere.embed-multilingual-v3"])
def test_vectors_of_bedrock_need_no_key(model: str) -> None:
    told = search_settings(EMBEDDING_MODEL=model, EMBEDDING_DIMENSION="1024")
    made = models.embedder(told)
    assert isinstance(made, MaskedEmbedder)
    assert isinstance(made.embedder, BedrockEmbedder)
    assert models.question_embedder(told) is not None


def test_a_builtin_model_that_is_not_there_is_said_at_the_first_text() -> None:
    with pytest.raises(ModelUnavailable):
        models.embedder(search_settings()).embed(["I moved to Lisbon."])

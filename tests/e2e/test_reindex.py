"""The operator's command builds the search index of a running stack anew, while it is used; also
for another model.
"""

import contextlib
import threading
from collections.abc import Iterator

import pytest
from palimpsest.scope import UserScope
from palimpsest.search.ports import Gone, SearchIndex
from palimpsest.settings import SearchSettings
from palimpsest.wiring.search import search_index

from infra.operate.reindex import Reindex
from tests.doubles.openai_embeddings import OpenAIEmbeddingsApi
from tests.e2e.stack import Client, Stack, eventually

pytestmark = [pytest.mark.e2e, pytest.mark.searches]
NEWER = {"EMBEDDING_MODEL": "text-embedding-3-small", "EMBEDDING_DIMENSION": "256"}


@pytest.fixture
def stack(running: Stack) -> Stack:
    """The stack as it is: no model is asked for anything here."""
    if running.has_model is None:
        running.use_model(wanted=False)
    return running


@pytest.fixture
def newer_model(stack: Stack) -> Iterator[Stack]:
    """The stack with another model for its vectors than its index has, and at the end as it was."""
    call = stack.client()
    remember(call, "There is an index.")
    eventually(lambda: found(call, "index") == {"There is an index."})
    with OpenAIEmbeddingsApi() as api:
        stack.start(OPENAI_BASE_URL=api.base_url, OPENAI_API_KEY="sk-test", **NEWER)
        try:
            yield stack
        finally:
            stack.start()
            stack.has_model = False
            reindex(stack)


def reindex(stack: Stack) -> str:
    return stack.run("infra.operate.reindex")


@pytest.fixture(autouse=True)
def aws(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index in tables is reached as the stack's own functions reach it."""
    access = stack.place.session.get_credentials()
    assert access
    assert stack.place.endpoint
    monkeypatch.setenv("AWS_ENDPOINT_URL", stack.place.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", access.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", access.secret_key)
    monkeypatch.setenv("AWS_DEFAULT_REGION", stack.place.session.region_name)


def index_of(stack: Stack) -> SearchIndex:
    """The index as the stack's own functions reach it."""
    name = stack.outputs["ReindexFunction"]
    told = stack.place.client("lambda").get_function_configuration(FunctionName=name)[
        "Environment"
    ]["Variables"]
    return search_index(SearchSettings.read(told))


def remember(call: Client, *texts: str) -> list[str]:
    memories = [{"type": "fact", "content": text} for text in texts]
    answer = call("POST", "/v1/users/sarah/memories", {"memories": memories})
    assert answer.status == 201, answer.text
    return [memory["id"] for memory in answer.json["memories"]]


def found(call: Client, query: str) -> set[str]:
    """Nothing while there is no index yet: the first write makes it."""
    answer = call(
        "POST", "/v1/users/sarah/memories/search", {"query": query, "mode": "keyword", "k": 50}
    )
    assert answer.status in (200, 503), answer.text
    return {memory["content"] for memory in answer.json.get("memories", ())}


@contextlib.contextmanager
def writing(call: Client, *, deleted: str) -> Iterator[list[str]]:
    """A deletion, and then one fact after the other until the end."""
    written: list[str] = []
    is_over = threading.Event()

    def write() -> None:
        call("DELETE", f"/v1/users/sarah/memories/{deleted}")
        while not is_over.wait(0.2):
            remember(call, f"Meanwhile {len(written)} was written.")
            written.append(f"Meanwhile {len(written)} was written.")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield written
    finally:
        is_over.set()
        writer.join()


def degraded(call: Client, query: str) -> list[str]:
    answer = call("POST", "/v1/users/sarah/recall", {"query": query, "rerank": False})
    assert answer.status == 200, answer.text
    said: list[str] = answer.json["degraded"]
    return said


def test_what_the_index_lost_is_there_again_and_nothing_of_what_was_written_meanwhile_is_missing(
    stack: Stack,
) -> None:
    call, index = stack.client(), index_of(stack)
    facts = [f"Fact {number} is about tea." for number in range(12)]
    lost, deleted, *_ = remember(call, *facts)
    call.append("talk", "We drank tea in the garden.")
    eventually(lambda: found(call, "tea") == {*facts, "We drank tea in the garden."})
    index.write(UserScope(call.tenant, "sarah"), [Gone(lost, 2**53)])
    eventually(lambda: facts[0] not in found(call, "tea"))
    (before,) = index.indexes()
    with writing(call, deleted=deleted) as written:
        eventually(
            lambda: len(written) > 2
        )  # and the writer goes on, however fast the index is built
        assert "done: " in reindex(stack)
    assert (before in index.indexes(), len(index.indexes())) == (False, 1)
    eventually(lambda: found(call, "tea") == {facts[0], *facts[2:], "We drank tea in the garden."})
    for text in written:
        eventually(lambda text=text: text in found(call, text))  # type: ignore[misc]


def test_there_is_one_at_a_time_and_it_is_nobodys_to_see(stack: Stack) -> None:
    lambdas = stack.place.client("lambda")
    (mapping,) = lambdas.list_event_source_mappings(FunctionName=stack.outputs["ReindexFunction"])[
        "EventSourceMappings"
    ]
    lambdas.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    operator = Reindex(stack.place, stack.outputs)
    first, second = operator.start(), operator.start()
    lambdas.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)
    assert (first["is_new"], second["is_new"], second["job_id"]) == (True, False, first["job_id"])
    eventually(lambda: operator.look(first).state == "done")
    assert operator.look(first).indexed > 0
    assert stack.client()("GET", f"/v1/jobs/{first['job_id']}").status == 404


def test_after_another_model_was_deployed_words_are_found_until_its_vectors_are_there(
    newer_model: Stack,
) -> None:
    call, content = newer_model.client(), "Sarah works in Marketing."
    remember(call, content)
    eventually(lambda: found(call, content) == {content})
    assert "bge-small" in index_of(newer_model).indexes()[0]
    eventually(lambda: degraded(call, content) == ["vector"])
    assert "done: " in reindex(newer_model)
    assert ["text-embedding-3-small" in name for name in index_of(newer_model).indexes()] == [True]
    eventually(lambda: degraded(call, content) == [])
    asked = {"query": content, "mode": "vector"}
    nearest = call("POST", "/v1/users/sarah/memories/search", asked).json["memories"]
    assert [memory["content"] for memory in nearest] == [content]

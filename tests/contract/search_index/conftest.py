"""The places that the search index's contract runs over: one SQLite file, DynamoDB's tables, a real
OpenSearch.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from palimpsest.engines.dynamodb.search.index import DynamoDbIndex
from palimpsest.engines.opensearch.client import connected
from palimpsest.engines.opensearch.index import OpenSearchIndex
from palimpsest.models.ports import Space
from palimpsest_local.embedded.index import EmbeddedIndex

from tests.contract.search_index.builders import SPACE, Part, Place, somebody
from tests.contract.tables import search_table, vectors_table
from tests.doubles.owned_index import OwnedIndex

PATIENCE = 30  # seconds that tests wait for the server's answer: their machine may be busy
EMBEDDED = "embedded"
DYNAMODB = "dynamodb"
OPENSEARCH = "opensearch"


@contextlib.contextmanager
def place_in(engine: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    """A family of its own that holds nothing yet."""
    if engine == EMBEDDED:
        opened: list[EmbeddedIndex] = []

        def open_file(space: Space | None) -> EmbeddedIndex:
            opened.append(EmbeddedIndex(folder / "made by nobody" / "index.sqlite", space=space))
            return opened[-1]

        yield Place(engine, open_file, lambda: None)
        for index in opened:
            index.close()
        return
    if engine == DYNAMODB:
        yield on_dynamodb(request.getfixturevalue("dynoxide_endpoint"))
        return
    client = connected(request.getfixturevalue("opensearch_endpoint"), seconds=PATIENCE)
    family = f"t{uuid.uuid4().hex[:8]}"
    yield Place(
        engine,
        lambda space: OpenSearchIndex(client, family=family, space=space),
        lambda: client.indices.refresh(index=f"{family}.*"),
        client,
        family,
    )
    client.indices.delete(index=f"{family}.*")
    client.close()


def on_dynamodb(endpoint: str) -> Place:
    words = search_table(endpoint)
    tables: dict[int, str] = {}

    def open_tables(space: Space | None) -> DynamoDbIndex:
        if space is not None and space.dimension not in tables:
            tables[space.dimension] = vectors_table(space.dimension, endpoint)
        vectors = tables[space.dimension] if space else ""
        return DynamoDbIndex(words, vectors, space=space, endpoint=endpoint, region="us-east-1")

    return Place(DYNAMODB, open_tables, lambda: None, tables, words)


@pytest.fixture(scope="module", params=[EMBEDDED, DYNAMODB, OPENSEARCH])
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """A place with an index, in which the tests of a module are each other's foreigners."""
    with place_in(request.param, tmp_path_factory.mktemp("index"), request) as place:
        place.open(SPACE).prepare()
        yield place


@pytest.fixture
def part(shared: Place) -> Part:
    """The part of somebody new."""
    return Part(shared, OwnedIndex(shared.open(SPACE), somebody()))


@pytest.fixture(params=[EMBEDDED, DYNAMODB, OPENSEARCH])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A place of the test's own, without any index."""
    with place_in(request.param, tmp_path, request) as place:
        yield place

"""What an engine that is down, slow or sick looks like: never like an empty answer, never for
long.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from palimpsest.engines.opensearch.client import connected
from palimpsest.engines.opensearch.index import OpenSearchIndex, document_id
from palimpsest.errors import Unavailable
from palimpsest.search.ports import Gone, SearchIndex
from palimpsest_local.embedded.index import EmbeddedIndex

from tests.contract.search_index.builders import EAST, SPACE, Part, document, somebody
from tests.contract.search_index.conftest import PATIENCE, place_in
from tests.doubles.opensearch_api import ALIASES, INDEX, OpenSearchApi, Said
from tests.doubles.owned_index import OwnedIndex
from tests.engines import loopback

OWNED: list[Callable[[OwnedIndex], object]] = [
    lambda part: part.write([document("a")]),
    lambda part: part.by_words("apple", k=1),
    lambda part: part.by_vector(EAST, k=1),
    lambda part: part.count(),
]
WHOLE: list[Callable[[SearchIndex], object]] = [
    lambda index: index.prepare(),
    lambda index: index.switch(),
    lambda index: index.indexes(),
]


def cluster(endpoint: str) -> OpenSearchIndex:
    return OpenSearchIndex(connected(endpoint, seconds=0.5), family="memories", space=SPACE)


def words_only(endpoint: str) -> OpenSearchIndex:
    return OpenSearchIndex(connected(endpoint, seconds=PATIENCE), family="memories", space=None)


def closed_port(folder: Path) -> SearchIndex:
    return cluster(f"http://{loopback.HOST}:{loopback.free_port()}")


def folder_instead_of_file(folder: Path) -> SearchIndex:
    return EmbeddedIndex(folder, space=SPACE)


def file_of_something_else(folder: Path) -> SearchIndex:
    (folder / "index.sqlite").write_bytes(
        b"this is no database, and long enough not to be taken for one " * 20
    )
    return EmbeddedIndex(folder / "index.sqlite", space=SPACE)


@pytest.mark.parametrize("broken", [closed_port, folder_instead_of_file, file_of_something_else])
def test_an_engine_that_is_down_is_unavailable_whatever_is_asked(
    tmp_path: Path, broken: Callable[[Path], SearchIndex]
) -> None:
    index = broken(tmp_path)
    for ask in OWNED:
        with pytest.raises(Unavailable):
            ask(OwnedIndex(index, somebody()))
    for ask_whole in WHOLE:
        with pytest.raises(Unavailable):
            ask_whole(index)


SICK = [
    Said(status=500),
    Said(status=503),
    Said(status=429),
    Said(status=403),
    Said(status=401),
    Said(delay=30),
    Said(body=b"<html>a proxy speaks</html>"),
]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palimpsest.engines.opensearch.index.BULK_SECONDS", 0.5)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("said", SICK)
def test_a_cluster_that_is_sick_or_slow_is_unavailable(said: Said) -> None:
    with OpenSearchApi(
        dict.fromkeys(("_alias", "_bulk", "_search", "_count", "_refresh"), said)
    ) as api:
        for ask in OWNED:
            with pytest.raises(Unavailable):
                ask(OwnedIndex(cluster(api.endpoint), somebody()))


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("said", SICK)
def test_a_bulk_request_that_fails_as_a_whole_is_unavailable(said: Said) -> None:
    with OpenSearchApi({"_alias": ALIASES, "_bulk": said}) as api, pytest.raises(Unavailable):
        words_only(api.endpoint).write(somebody(), [document("a")])


def test_a_part_of_an_answer_is_not_taken_for_the_whole() -> None:
    answer = {"timed_out": True, "hits": {"hits": []}}
    with OpenSearchApi({"_search": answer}) as api:
        with pytest.raises(Unavailable):
            words_only(api.endpoint).by_words(somebody(), "apple", k=1)
        assert "allow_partial_search_results=false" in api.requests[0].path


def test_only_what_failed_of_a_bulk_request_is_reported() -> None:
    def result(operation: str, number: int, status: int, **more: Any) -> dict[str, Any]:
        return {operation: {"_index": INDEX, "_id": ids[number], "status": status, **more}}

    with OpenSearchApi({"_alias": ALIASES, "_bulk": [Said(), Said()]}) as api:
        index = words_only(api.endpoint)
        part = OwnedIndex(index, somebody())
        ids = [document_id(part.owner, f"k{number}") for number in range(6)]
        items = [
            result("index", 0, 201),
            result("index", 1, 429, error={"type": "rejected_execution_exception"}),
            result("index", 2, 409, error={"type": "version_conflict_engine_exception"}),
            result("delete", 3, 404, result="not_found"),
            result("index", 4, 404, error={"type": "index_not_found_exception"}),
            result("index", 5, 503, error={"type": "unavailable_shards_exception"}),
        ]
        api.says = {"_alias": ALIASES, "_bulk": {"errors": True, "items": items}}
        changes = [
            Gone(f"k{number}", 1) if number == 3 else document(f"k{number}") for number in range(6)
        ]
        assert part.write(changes) == ("k1", "k4", "k5")


@pytest.fixture
def prepared(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Part]:
    """A part in a real cluster."""
    with place_in("opensearch", tmp_path, request) as place:
        index = place.open(SPACE)
        index.prepare()
        yield Part(place, OwnedIndex(index, somebody()))


def test_an_index_that_may_only_be_read_keeps_what_was_to_be_written(prepared: Part) -> None:
    prepared.put(document("a", "apple"))
    place = prepared.place
    place.client.indices.put_settings(index=f"{place.family}.*", body={"index.blocks.write": True})
    assert prepared.index.write([document("a", "pear", version=2), Gone("b", 1)]) == ("a", "b")
    assert prepared.words("apple") == ["a"]
    place.client.indices.put_settings(index=f"{place.family}.*", body={"index.blocks.write": None})


def test_one_document_that_the_engine_refuses_does_not_hold_up_the_others(prepared: Part) -> None:
    refused = document("bad", "apple", created_at=2**80)
    good = [document(f"d{number}", "apple") for number in range(9)]
    assert prepared.index.write([*good[:5], refused, *good[5:]]) == ("bad",)
    prepared.place.settle()
    assert prepared.index.count() == 9


def test_a_write_to_an_index_dropped_meanwhile_does_not_make_it_anew(prepared: Part) -> None:
    place = prepared.place
    place.client.indices.delete(index=f"{place.family}.*")
    seen: dict[str, Any] = {f"{place.family}.gone-4.1": {"aliases": {place.family: {}}}}
    place.client.indices.get_alias = lambda index: seen
    assert prepared.index.write([document("a")]) == ("a",)
    assert (
        place.client.indices.exists(index=f"{place.family}.*", params={"allow_no_indices": "false"})
        is False
    )


def test_a_writer_that_waits_too_long_for_another_is_unavailable(tmp_path: Path) -> None:
    patient, hasty = (
        EmbeddedIndex(tmp_path / "i.sqlite", space=None, busy_seconds=wait) for wait in (5, 0.05)
    )
    patient.prepare()
    part = OwnedIndex(hasty, somebody())
    assert part.write([document("a", "apple")]) == ()
    with patient._database.writing():
        with pytest.raises(Unavailable):
            part.write([document("b", "apple")])
        assert part.count() == 1  # readers do not wait
    assert part.write([document("b", "apple")]) == ()
    patient.close()
    hasty.close()


WRITER = """
import sys
from pathlib import Path
from palimpsest_local.embedded.index import EmbeddedIndex
from palimpsest.scope import UserScope
from palimpsest.search.ports import Document
index = EmbeddedIndex(Path(sys.argv[1]), space=None, busy_seconds=120)
index.prepare()
sarah = UserScope("acme", "sarah")
for number in range(25):
    assert index.write(sarah, [Document(f"{sys.argv[2]}-{number}", "fact", "apple", 1, 1)]) == ()
    assert index.by_words(sarah, "apple", k=1)
"""


def test_several_processes_write_and_read_at_once(tmp_path: Path) -> None:
    file = tmp_path / "index.sqlite"
    writers = [
        subprocess.Popen(  # noqa: S603  # ourselves
            [sys.executable, "-c", WRITER, str(file), name]
        )
        for name in "abc"
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    index = EmbeddedIndex(file, space=None)
    assert index.count(somebody("sarah")) == 75
    index.close()

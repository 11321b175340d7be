"""What only the tables' index has: packing, its races and crashes, filters that the vector index
lacks, its costs.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pytest
from palimpsest.engines.dynamodb.search import shelf
from palimpsest.engines.dynamodb.search.index import DynamoDbIndex, owner_id
from palimpsest.engines.dynamodb.search.shelf import Shelf
from palimpsest.engines.dynamodb.table import Table
from palimpsest.errors import Unavailable
from palimpsest.search.ports import Document, Gone
from palimpsest_local.embedded.index import EmbeddedIndex

from tests.contract.search_index.builders import (
    EAST,
    NORTH,
    SPACE,
    Part,
    Place,
    document,
    keys,
    somebody,
)
from tests.contract.search_index.conftest import on_dynamodb
from tests.contract.search_index.test_agreement import same, text
from tests.doubles.dynamodb_api import FORWARDED, DynamoDbApi, Step, cancelled
from tests.doubles.owned_index import OwnedIndex


@dataclass
class Crash:
    """Ends the packing at the call that is named, until it is cleared."""

    at: str = ""
    calls: list[str] = field(default_factory=list)

    def __call__(self, operation: str, *_: Any) -> None:
        self.calls.append(operation)
        if operation == self.at:
            raise Unavailable("The process was killed.")


@dataclass
class Tables:
    """One owner's part in tables of its own, and beside it a file with the same documents."""

    mine: OwnedIndex
    beside: OwnedIndex
    words: str
    vectors: str
    endpoint: str

    def put(self, *changes: Document | Gone) -> None:
        assert self.mine.write(changes) == self.beside.write(changes) == ()

    @property
    def partition(self) -> str:
        return f"1#{owner_id(self.mine.owner)}"

    def shelf(self) -> Shelf:
        return Shelf(Table(self.words, endpoint=self.endpoint, region="us-east-1"), self.partition)

    def items(self, table: str) -> list[dict[str, Any]]:
        client = boto3.client("dynamodb", endpoint_url=self.endpoint, region_name="us-east-1")
        pages = client.get_paginator("scan").paginate(TableName=table)
        return [
            item for page in pages for item in page["Items"] if item["pk"]["S"] == self.partition
        ]

    def sorts(self, prefix: str) -> list[str]:
        return [
            item["sk"]["S"] for item in self.items(self.words) if item["sk"]["S"].startswith(prefix)
        ]

    def check(self, chance: random.Random) -> None:
        for _ in range(10):
            query = text(chance, (1, 3, 8))
            same(self.mine.by_words(query, k=20), self.beside.by_words(query, k=20))
        assert self.mine.count() == self.beside.count()


@pytest.fixture
def tables(
    dynoxide_endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Tables]:
    monkeypatch.setattr(shelf, "SHORTEST", 16)
    place = on_dynamodb(dynoxide_endpoint)
    index, file, owner = (
        place.open(SPACE),
        EmbeddedIndex(tmp_path / "index.sqlite", space=SPACE),
        somebody(),
    )
    index.prepare()
    file.prepare()
    yield Tables(
        OwnedIndex(index, owner),
        OwnedIndex(file, owner),
        place.family,
        place.client[4],
        dynoxide_endpoint,
    )
    file.close()


def written(chance: random.Random, number: int, version: int) -> Document | Gone:
    if chance.random() < 0.2:
        return Gone(f"d{number:03}", version)
    return document(f"d{number:03}", text(chance, (3, 8, 20)), version=version)


def test_what_is_packed_scores_as_what_is_not(tables: Tables) -> None:
    chance = random.Random(1)
    for batch in range(8):
        tables.put(*(written(chance, chance.randrange(80), batch + 1) for _ in range(20)))
        tables.check(chance)
    assert tables.sorts("s#")
    assert len(tables.sorts("t#")) <= 3 * shelf.SHORTEST
    assert len({sort.split("#")[1] for sort in tables.sorts("s#")}) == 1, (
        "the segment before is gone"
    )


@pytest.mark.parametrize("at", ["BatchGetItem", "BatchWriteItem", "PutItem", "DeleteItem"])
def test_wherever_the_packing_is_cut_off_every_document_is_found_once(
    tables: Tables, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(2)
    tables.put(*(document(f"d{number}", text(chance, (3, 8))) for number in range(40)))
    tables.shelf().tidy()
    tables.put(*(document(f"d{number}", text(chance, (3, 8)), version=5) for number in range(10)))
    monkeypatch.setattr(shelf, "SHORTEST", 5)
    crash = Crash(at)
    killed = Shelf(
        Table(tables.words, endpoint=tables.endpoint, region="us-east-1", meter=crash),
        tables.partition,
    )
    with pytest.raises(Unavailable):
        killed.tidy()
    assert at in crash.calls
    tables.check(chance)
    tables.put(*(document(f"e{number}", text(chance, (3, 8))) for number in range(10)))
    tables.shelf().tidy()
    tables.check(chance)


def test_of_two_who_pack_at_once_one_does_and_readers_never_miss_a_document(tables: Tables) -> None:
    tables.put(*(document(f"d{number:03}", "apple", vector=EAST) for number in range(60)))
    stop, seen = threading.Event(), set[int]()

    def read() -> None:
        while not stop.is_set():
            seen.add(len(tables.mine.by_words("apple", k=200)))

    def pack() -> None:
        for number in range(4):
            tables.mine.write(
                [document(f"d{each:03}", "apple", version=number + 2) for each in range(30)]
            )
            tables.shelf().tidy()

    reader, packers = (
        threading.Thread(target=read),
        [threading.Thread(target=pack) for _ in range(2)],
    )
    for thread in (reader, *packers):
        thread.start()
    for thread in packers:
        thread.join()
    stop.set()
    reader.join()
    assert seen == {60}
    assert len(tables.mine.by_words("apple", k=200)) == 60


def test_a_packing_whose_last_answer_is_lost_has_packed(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "botocore.retries.standard.ExponentialBackoff.delay_amount", lambda self, context: 0.01
    )
    tables.put(*(document(f"d{number}", f"apple {number}") for number in range(10)))
    monkeypatch.setattr(shelf, "SHORTEST", 5)
    with DynamoDbApi(tables.endpoint) as api:
        api.script(FORWARDED, FORWARDED, FORWARDED, Step(loses_answer=True))
        Shelf(
            Table(tables.words, endpoint=api.endpoint, region="us-east-1"), tables.partition
        ).tidy()
        assert [call.operation for call in api.calls][3:5] == ["PutItem", "PutItem"]
    assert tables.sorts("t#") == []
    tables.check(random.Random(3))
    assert len(tables.mine.by_words("apple", k=50)) == 10


def test_a_tail_that_is_too_long_to_be_searched_is_packed(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.put(*(document(f"d{number}", f"apple {number}") for number in range(10)))
    monkeypatch.setattr(shelf, "SHORTEST", 5)
    monkeypatch.setattr(shelf, "MOST_TAIL_PAGES", 0)
    with pytest.raises(Unavailable):
        tables.mine.by_words("apple", k=50)
    tables.shelf().tidy()
    assert tables.sorts("t#") == []
    monkeypatch.undo()
    tables.check(random.Random(4))


def test_of_several_documents_that_alone_is_named_which_met_another_writer(tables: Tables) -> None:
    with DynamoDbApi(tables.endpoint) as api:
        index = DynamoDbIndex(
            tables.words, tables.vectors, space=SPACE, endpoint=api.endpoint, region="us-east-1"
        )
        api.script(FORWARDED, cancelled("None", "TransactionConflict", "None"))
        assert index.write(tables.mine.owner, [document("a", "apple")]) == ("a",)
    tables.put(document("a", "apple"))
    assert keys(tables.mine.by_words("apple", k=5)) == ["a"]


def test_once_all_documents_are_gone_no_word_and_no_vector_is_left(tables: Tables) -> None:
    every = [f"d{number:03}" for number in range(30)]
    tables.put(*(document(key, f"tomato {key}", vector=EAST) for key in every))
    tables.shelf().tidy()
    assert tables.sorts("s#")
    for start in range(0, 30, 10):
        tables.put(*(Gone(key, 2) for key in every[start : start + 10]))
    assert tables.mine.count() == 0
    assert tables.sorts("s#") == []
    assert tables.items(tables.vectors) == []
    assert not [
        item for item in tables.items(tables.words) if "body" in item and item["sk"]["S"] != "z"
    ]


def test_also_of_more_documents_than_are_served_no_word_is_left_once_all_are_gone(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = [f"d{number:03}" for number in range(30)]
    tables.put(*(document(key, f"tomato {key}") for key in every))
    tables.shelf().tidy()
    monkeypatch.setattr(shelf, "MOST_DOCUMENTS", 20)
    tables.put(*(Gone(key, 2) for key in every[1:]))
    assert tables.sorts("s#"), "one of them is still there"
    tables.put(Gone(every[0], 2))
    assert tables.sorts("s#") == tables.sorts("t#") == []
    tables.put(document("new", "a tomato"))
    assert keys(tables.mine.by_words("tomato", k=9)) == ["new"]


def test_filters_that_the_vector_index_lacks_hold_beyond_its_hundred_nearest(
    tables: Tables,
) -> None:
    tables.put(*(document(f"near{number}", vector=EAST) for number in range(120)))
    tables.put(
        document("late", vector=NORTH, created_at=9_000),
        document("grave", vector=NORTH, importance=0.9),
    )
    tables.put(document("red", vector=NORTH, metadata=["team=red"]))
    part = Part(Place("dynamodb", lambda _: tables.mine.index, lambda: None), tables.mine)
    assert part.near(EAST, k=3, created_after=8_000) == ["late"]
    assert part.near(EAST, k=3, min_importance=0.5) == ["grave"]
    assert part.near(EAST, k=3, metadata={"team": "red"}) == ["red"]
    assert len(part.near(EAST, k=110)) == 110


def test_every_vector_names_its_owner_because_one_without_would_not_be_indexed(
    tables: Tables,
) -> None:
    tables.put(document("a", vector=EAST), document("b"))
    assert [(item["sk"]["S"], item["owner"]["S"]) for item in tables.items(tables.vectors)] == [
        ("a", tables.partition)
    ]


def test_an_owner_with_more_documents_than_it_serves_is_unavailable_by_words_alone(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.put(*(document(f"d{number:03}", "apple", vector=EAST) for number in range(30)))
    tables.shelf().tidy()
    monkeypatch.setattr(shelf, "MOST_DOCUMENTS", 20)
    with pytest.raises(Unavailable):
        tables.mine.by_words("apple", k=1)
    assert keys(tables.mine.by_vector(EAST, k=1)) == ["d000"]

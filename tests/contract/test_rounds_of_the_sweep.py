"""What a round of the sweep reads: a short list of due work as a whole, a longer one by shards."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest
from palimpsest.engines.dynamodb import lists
from palimpsest.engines.dynamodb.lists import SHORT_LIST, due_items
from palimpsest.engines.dynamodb.table import Table
from palimpsest.engines.places import SHARDS

from benchmarks.beside.environments import environment
from benchmarks.cost.idle import EMPTY, FULL, ROUND, measured
from benchmarks.cost.rounds import LATER
from benchmarks.service import Place, place
from tests.contract.tables import sessions_table
from tests.documents.test_figures import cell

NOW = 1_767_225_600
WAITING = 40


@pytest.fixture(scope="module")
def at() -> Iterator[Place]:
    with place() as made:
        yield made


@pytest.mark.parametrize(
    ("waiting", "requests", "row"),
    [(0, 2, EMPTY), (SHORT_LIST, 2, None), (SHORT_LIST + 1, 2 * (1 + SHARDS), FULL)],
)
def test_a_round_sends_as_many_requests_as_the_idle_month_counts(
    at: Place, waiting: int, requests: int, row: str | None
) -> None:
    taken = measured(at.endpoint, environment(at), waiting=waiting, times=1)
    assert taken.requests == requests
    if row is not None:
        assert cell(ROUND, row, "requests")() == requests
        assert taken.read_units <= cell(ROUND, row, "read units")()


@pytest.fixture
def table(dynoxide_endpoint: str) -> Table:
    """A table in whose list some items are due and some wait."""
    table = Table(sessions_table(dynoxide_endpoint), endpoint=dynoxide_endpoint)
    for number in range(WAITING):
        due_at = LATER if number % 5 == 0 else NOW - number * 37 % 23
        item = {
            "pk": {"S": f"acme#job#{number}"},
            "sk": {"S": "job"},
            "due_shard": {"S": str(number % 3)},
            "due_at": {"N": str(due_at)},
        }
        table.call("PutItem", TableName=table.name, Item=item)
    return table


@pytest.mark.parametrize("limit", [2, 25])
def test_short_and_long_lists_yield_the_same_due_items(
    table: Table, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    found = {}
    for short in (0, WAITING - 1, WAITING + 1):
        monkeypatch.setattr(lists, "SHORT_LIST", short)
        due = due_items(table, now=NOW, limit=limit)
        found[short] = [(item["due_shard"]["S"], item["due_at"]["N"]) for item in due]
    assert len(found[0]) == min(3 * limit, WAITING * 4 // 5)
    assert found[0] == found[WAITING - 1] == found[WAITING + 1]


def test_a_short_list_in_several_pages_is_read_to_its_end(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DynamoDB may end a page before its limit, between two partitions."""
    call, sizes = table.call, iter([7, 11])

    def in_pages(operation: str, **arguments: object) -> dict[str, object]:
        if operation == "Scan":
            arguments["Limit"] = next(sizes, arguments["Limit"])
        return call(operation, **arguments)

    monkeypatch.setattr(table, "call", in_pages)
    found = list(islice(due_items(table, now=NOW, limit=25), WAITING))
    assert len(found) == WAITING * 4 // 5
    assert next(sizes, None) is None

"""A tenant with 100,000 sessions. The benchmark shows how its list is spread over partitions, and
what a page of the list costs.
"""

from collections import Counter
from typing import Any

import boto3
from palimpsest.engines.dynamodb.lists import BUCKET, BUCKETS
from palimpsest.engines.dynamodb.sessions.store import DynamoDbSessions
from palimpsest.scope import Scope

from benchmarks.measure import Cost, cost_of, typical
from benchmarks.report import Table
from benchmarks.service import Place
from tests.contract.large_tenant import fill
from tests.contract.tables import sessions_table

PAGE = 100
TENANT = Scope("large")


def table(at: Place, *, sessions: int) -> Table:
    """Return the table. Raises `AssertionError` if the list is out of order or incomplete, or if a
    partition has twice its share.
    """
    name = sessions_table(at.endpoint)
    expected = fill(name, TENANT, sessions=sessions, endpoint=at.endpoint)
    most = _largest(name, at.endpoint)
    assert most < 2 * sessions / BUCKETS, f"{most} of {sessions} sessions in one partition"
    units: list[float] = []
    store = DynamoDbSessions(
        name, endpoint=at.endpoint, meter=lambda _, used: units.append(used["CapacityUnits"])
    )
    listed, costs = _listed(store, at)
    assert listed == expected, "the list is out of order or incomplete"
    page = typical(costs)
    rows = [
        [
            sessions,
            BUCKETS,
            most * BUCKETS / sessions,
            len(costs),
            sum(units) / len(costs),
            page.clock,
            page.engine,
        ]
    ]
    columns = (
        "sessions of one tenant",
        "partitions",
        "largest, of its share",
        f"pages of {PAGE}",
        "read units a page",
        "ms a page",
        "of it the engine's CPU",
    )
    notes = (
        (
            "The whole list, page by page, by user and creation; that it is complete and in order is "
            "asserted."
        ),
        (
            "A page queries every partition side by side. The engine's time is one process's for all "
            "of them."
        ),
    )
    return Table("The list of a large tenant", columns, rows, notes)


def _largest(name: str, endpoint: str) -> int:
    """Return how many sessions the fullest partition of the list has."""
    client: Any = boto3.client("dynamodb", endpoint_url=endpoint)
    pages = client.get_paginator("scan").paginate(TableName=name, IndexName="by_user")
    return max(Counter(item[BUCKET]["S"] for page in pages for item in page["Items"]).values())


def _listed(store: DynamoDbSessions, at: Place) -> tuple[list[str], list[Cost]]:
    sessions: list[str] = []
    costs: list[Cost] = []
    after = None
    while True:
        page, cost = cost_of(
            lambda after=after: store.listed(
                TENANT, user=None, limit=PAGE, after=after, newest_first=False
            ),  # type: ignore[misc]
            engine=at.engine,
        )
        sessions += page.sessions
        costs.append(cost)
        after = page.after
        if after is None:
            return sessions, costs

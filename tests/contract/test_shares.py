"""Tenants' shares of the queues, in memory and on tables."""

from __future__ import annotations

import pytest
from palimpsest.engines.dynamodb.shares import PAGE, DynamoDbShares
from palimpsest.jobs.ports import Shares, Waiting
from palimpsest.parallel import run_each
from palimpsest.scope import Scope
from palimpsest_local.stores.shares import LocalShares

from tests.contract.builders import NOW
from tests.contract.tables import sessions_table

ACME, OTHER = Scope("acme"), Scope("other")


@pytest.fixture
def shares(engine: str, endpoint: str | None) -> Shares:
    return (
        LocalShares()
        if engine == "in_memory"
        else DynamoDbShares(sessions_table(endpoint), endpoint=endpoint)
    )


def test_so_many_jobs_of_a_tenant_are_under_way_and_no_more(shares: Shares) -> None:
    assert [shares.enter(ACME, "extract", f"job_{number}", most=2) for number in range(3)] == [
        True,
        True,
        False,
    ]
    assert shares.under_way(ACME, "extract") == {"job_0", "job_1"}
    assert shares.enter(ACME, "extract", "job_1", most=2)  # it is already
    assert shares.enter(ACME, "summarize", "job_2", most=2)
    assert shares.enter(OTHER, "extract", "job_2", most=2)


def test_who_leaves_makes_room_for_another(shares: Shares) -> None:
    shares.leave(ACME, "extract", "job_0")
    assert shares.under_way(ACME, "extract") == frozenset()
    assert shares.enter(ACME, "extract", "job_0", most=1)
    shares.leave(ACME, "extract", "job_1")
    assert not shares.enter(ACME, "extract", "job_1", most=1)
    for _ in range(2):
        shares.leave(ACME, "extract", "job_0")
    assert shares.enter(ACME, "extract", "job_1", most=1)


@pytest.mark.not_in_process
def test_of_many_who_enter_at_once_no_more_than_allowed_do(shares: Shares) -> None:
    entered = run_each(
        lambda number: shares.enter(ACME, "extract", f"job_{number}", most=3), range(12), threads=6
    )
    assert sum(entered) == 3
    assert len(shares.under_way(ACME, "extract")) == 3


def test_those_that_wait_are_called_in_the_order_of_their_creation(shares: Shares) -> None:
    for number in (3, 1, 2, 1):
        shares.wait(ACME, "extract", f"job_{number}", since=NOW + number)
    shares.wait(ACME, "summarize", "job_4", since=NOW)
    shares.wait(OTHER, "extract", "job_5", since=NOW)
    waiting = [Waiting(f"job_{number}", NOW + number) for number in (1, 2, 3)]
    assert list(shares.waiting(ACME, "extract")) == waiting
    for _ in range(2):
        shares.call(ACME, "extract", waiting[0])
    assert list(shares.waiting(ACME, "extract")) == waiting[1:]


def test_all_that_wait_are_found_however_many_they_are(shares: Shares) -> None:
    for number in range(PAGE + 2):
        shares.wait(ACME, "extract", f"job_{number:03}", since=NOW)
    assert [each.job_id for each in shares.waiting(ACME, "extract")] == [
        f"job_{n:03}" for n in range(PAGE + 2)
    ]

"""What is counted is counted once, whatever comes twice, late or in another order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from palimpsest.engines.dynamodb.sessions.store import DynamoDbSessions
from palimpsest.engines.dynamodb.streams import stream_record
from palimpsest.engines.dynamodb.table import connected
from palimpsest.engines.dynamodb.usages import DynamoDbUsages
from palimpsest.parallel import run_each
from palimpsest.scope import Scope
from palimpsest.usage import Row, Tally, Usages, summed
from palimpsest_local.stores.state import State
from palimpsest_local.stores.tenants import LocalUsages

from tests.contract.builders import Conversation, message
from tests.contract.tables import sessions_table

ACME = Scope("acme")
SARAH = ACME.user("sarah")
DAY = "2026-11-22"
FIRST = Tally("acme", "sarah", "s", 0, DAY, messages=2, message_tokens=20, bytes=200)
SECOND = replace(FIRST, messages=5, message_tokens=50, bytes=500)
CALL = {"model_calls": 1, "tokens_in": 10, "tokens_out": 5, "cost_nano_usd": 3_000}


@pytest.fixture
def usages(engine: str, endpoint: str | None) -> Usages:
    if engine == "in_memory":
        return LocalUsages(State())
    return DynamoDbUsages(sessions_table(endpoint), endpoint=endpoint)


def counted(usages: Usages, scope: Scope = ACME, **period: str) -> dict[str | None, dict[str, int]]:
    """What is counted, by user."""
    rows = usages.rows(scope, **{"first": DAY, "last": DAY, **period})
    return {one.user: dict(one.counts) for one in summed(rows, by="user")}


MESSAGES = {"messages": 5, "message_tokens": 50, "bytes": 500}


@pytest.mark.parametrize(
    "order", [(FIRST, SECOND), (SECOND, FIRST), (FIRST, FIRST, SECOND, SECOND, FIRST)]
)
def test_a_tally_counts_once_however_often_and_in_whatever_order_it_comes(
    usages: Usages, order: tuple[Tally, ...]
) -> None:
    gained = [usages.reach(tally) for tally in order]
    assert counted(usages) == {"sarah": MESSAGES}
    assert sum(gain.get("messages", 0) for gain in gained) == 5


def test_each_life_of_a_session_each_day_and_each_tenant_counts_by_itself(usages: Usages) -> None:
    again, other = replace(FIRST, base=9), replace(FIRST, tenant="other")
    for tally in (
        SECOND,
        again,
        replace(FIRST, day="2026-11-23"),
        replace(FIRST, user="david"),
        other,
    ):
        usages.reach(tally)
    assert {user: each["messages"] for user, each in counted(usages).items()} == {
        "sarah": 7,
        "david": 2,
    }
    assert counted(usages, last="2026-11-23")["sarah"]["messages"] == 9
    assert counted(usages, Scope("other"))["sarah"]["messages"] == 2
    assert [row.user for row in usages.rows(ACME, first=DAY, last=DAY, user="david")] == ["david"]


def test_calls_add_up_and_their_cost_by_month(usages: Usages, engine: str) -> None:
    at_once = (
        1 if engine == "moto" else 4
    )  # moto adds up wrongly when it is asked by several threads
    run_each(lambda _: usages.add(SARAH, day=DAY, used=CALL), range(4), threads=at_once)
    usages.add(ACME.user("david"), day="2026-11-30", used={"model_calls": 1, "unpriced": 1})
    usages.add(SARAH, day="2026-12-01", used=CALL)
    assert counted(usages) == {"sarah": {name: 4 * amount for name, amount in CALL.items()}}
    assert (usages.spent(ACME, month="2026-11"), usages.spent(ACME, month="2026-12")) == (
        12_000,
        3_000,
    )
    assert usages.spent(Scope("other"), month="2026-11") == 0


def test_a_forgotten_user_leaves_counts_without_a_name_and_late_ones_add_to_them(
    usages: Usages,
) -> None:
    usages.reach(FIRST)
    usages.reach(replace(FIRST, user="david"))
    usages.add(SARAH, day=DAY, used=CALL)
    assert (usages.forget(SARAH), usages.forget(SARAH)) == (2, 0)
    usages.reach(SECOND)
    usages.add(SARAH, day=DAY, used=CALL)
    left = counted(usages)
    assert left.keys() == {None, "david"}
    assert left[None] == MESSAGES | {name: 2 * amount for name, amount in CALL.items()}
    assert list(usages.rows(ACME, first=DAY, last=DAY, user="sarah")) == []
    assert usages.spent(ACME, month="2026-11") == 6_000


def test_so_many_requests_of_a_second_are_taken_and_no_more(usages: Usages) -> None:
    assert [usages.take(ACME, second=7, most=2) for _ in range(4)] == [True, True, False, False]
    assert usages.take(ACME, second=8, most=2)
    assert usages.take(Scope("other"), second=7, most=2)


def test_the_table_holds_no_name_of_a_user_in_a_key_and_lets_rows_go(
    dynoxide_endpoint: str,
) -> None:
    table = sessions_table(dynoxide_endpoint)
    usages = DynamoDbUsages(table, endpoint=dynoxide_endpoint)
    usages.reach(FIRST)
    usages.add(SARAH, day=DAY, used=CALL)
    usages.take(ACME, second=7, most=2)
    client: Any = connected(None, dynoxide_endpoint)
    items = client.scan(TableName=table)["Items"]
    assert len(items) == 4
    assert all("ttl" in item and "sarah" not in item["pk"]["S"] + item["sk"]["S"] for item in items)


def test_what_an_append_takes_in_reaches_the_counts_by_the_stream(dynoxide_endpoint: str) -> None:
    """As `dispatch` reads it: of the item that the append puts, however often."""
    table = sessions_table(dynoxide_endpoint)
    talk = Conversation(DynamoDbSessions(table, endpoint=dynoxide_endpoint), ACME.session("s"))
    usages = DynamoDbUsages(table, endpoint=dynoxide_endpoint)
    talk.begin()
    first = replace(
        talk.known, version=2, seq=2, day=DAY, day_messages=2, day_tokens=8, day_bytes=80
    )
    talk.commit(first, messages=(message(1), message(2)))
    client: Any = connected(None, dynoxide_endpoint)
    item = client.get_item(
        TableName=table, Key={"pk": {"S": "acme#s"}, "sk": {"S": "m#000000000002"}}
    )["Item"]
    shown = {
        "eventName": "INSERT",
        "dynamodb": {"Keys": {"pk": item["pk"], "sk": item["sk"]}, "NewImage": item},
    }
    for _ in range(2):
        tally = stream_record(shown).tally
        assert tally is not None
        usages.reach(tally)
    assert counted(usages) == {"sarah": {"messages": 2, "message_tokens": 8, "bytes": 80}}


def test_rows_are_summed_by_day_by_user_and_in_all() -> None:
    rows = [
        Row("2026-11-22", "sarah", {"messages": 1, "model_calls": 1}),
        Row("2026-11-21", None, {"messages": 2}),
        Row("2026-11-22", "david", {"messages": 4}),
    ]
    assert [(one.day, one.counts["messages"]) for one in summed(rows, by="day")] == [
        ("2026-11-21", 2),
        (DAY, 5),
    ]
    by_user = [(one.user, one.counts["messages"]) for one in summed(rows, by="user")]
    assert by_user == [("david", 4), ("sarah", 1), (None, 2)]
    assert [one.counts for one in summed(rows, by="tenant")] == [{"messages": 7, "model_calls": 1}]
    assert [one.counts for one in summed([], by="tenant")] == [{}]

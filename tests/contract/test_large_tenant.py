"""However many sessions one tenant has, its list spreads over partitions, and its pages are ordered
and complete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from palimpsest.conversations.ports import Sessions
from palimpsest.engines.dynamodb.lists import BUCKET, BUCKETS
from palimpsest.engines.dynamodb.memories.store import DynamoDbMemories
from palimpsest.engines.dynamodb.sessions.store import DynamoDbSessions
from palimpsest.memory.ports import MemoryCommit
from palimpsest.scope import Scope, SessionScope

from tests.contract.builders import Conversation
from tests.contract.large_tenant import PER_USER, fill
from tests.contract.memory_builders import record
from tests.contract.tables import memories_table, sessions_table

SESSIONS = 2_000  # `make bench ARGS=tenant` does the same with 100,000


@pytest.fixture(scope="module")
def filled(dynoxide_endpoint: str) -> tuple[str, Scope, list[str]]:
    """The table, the tenant, and its sessions in the order of its list."""
    table, tenant = sessions_table(dynoxide_endpoint), Scope("large")
    return table, tenant, fill(table, tenant, sessions=SESSIONS, endpoint=dynoxide_endpoint)


def pages(
    sessions: Sessions, tenant: Scope, *, limit: int, newest_first: bool
) -> Iterator[tuple[str, ...]]:
    after = None
    while True:
        page = sessions.listed(
            tenant, user=None, limit=limit, after=after, newest_first=newest_first
        )
        yield page.sessions
        after = page.after
        if after is None:
            return


def test_no_partition_of_the_list_takes_much_more_than_its_share(
    filled: tuple[str, Scope, list[str]], dynoxide_endpoint: str
) -> None:
    client: Any = boto3.client("dynamodb", endpoint_url=dynoxide_endpoint)
    found = client.get_paginator("scan").paginate(TableName=filled[0], IndexName="by_user")
    buckets = [item[BUCKET]["S"] for page in found for item in page["Items"]]
    share = Counter(bucket for bucket in buckets if bucket.startswith(f"{filled[1].tenant}#"))
    assert (len(share), share.total()) == (BUCKETS, SESSIONS)
    assert max(share.values()) < 2 * SESSIONS / BUCKETS


@pytest.mark.parametrize(("limit", "newest_first"), [(100, True), (333, False)])
def test_pages_of_a_large_tenant_join_to_the_whole_list_in_order(
    filled: tuple[str, Scope, list[str]], dynoxide_endpoint: str, limit: int, *, newest_first: bool
) -> None:
    table, tenant, expected = filled
    found = list(
        pages(
            DynamoDbSessions(table, endpoint=dynoxide_endpoint),
            tenant,
            limit=limit,
            newest_first=newest_first,
        )
    )
    assert [len(page) for page in found[:-1]] == [limit] * (len(found) - 1)
    assert [session for page in found for session in page] == (
        expected[::-1] if newest_first else expected
    )


def test_what_comes_and_goes_between_two_pages_moves_nothing_else(dynoxide_endpoint: str) -> None:
    sessions, tenant = (
        DynamoDbSessions(sessions_table(dynoxide_endpoint), endpoint=dynoxide_endpoint),
        Scope("moving"),
    )
    talks = {
        name: tenant.session(f"of-{name}")
        for name in ("ana", "ben", "eva", "kim", "mei", "tom", "zoe")
    }
    for name in ("ana", "ben", "eva", "mei", "zoe"):
        Conversation(sessions, talks[name]).begin(user=name)
    first = sessions.listed(tenant, user=None, limit=2, newest_first=False)
    assert first.sessions == ("of-ana", "of-ben")
    sessions.remove(talks["ben"], first=0, last=9, whole=True)
    sessions.remove(talks["ana"], first=0, last=9, whole=True)
    for name in ("kim", "tom"):
        Conversation(sessions, talks[name]).begin(user=name)
    rest = sessions.listed(tenant, user=None, limit=9, after=first.after, newest_first=False)
    assert (rest.sessions, rest.after) == (("of-eva", "of-kim", "of-mei", "of-tom", "of-zoe"), None)


def test_one_users_list_is_read_from_one_partition(
    filled: tuple[str, Scope, list[str]], dynoxide_endpoint: str
) -> None:
    calls: list[str] = []
    sessions = DynamoDbSessions(
        filled[0],
        endpoint=dynoxide_endpoint,
        meter=lambda operation, _capacity: calls.append(operation),
    )
    assert len(sessions.listed(filled[1], user="user-00007", limit=99).sessions) <= PER_USER
    assert calls == ["Query"]
    sessions.listed(filled[1], user=None, limit=99)
    assert calls == ["Query"] * (1 + BUCKETS)


def test_users_of_a_tenant_are_listed_in_order_from_all_partitions(dynoxide_endpoint: str) -> None:
    talk, table = sessions_table(dynoxide_endpoint), memories_table(dynoxide_endpoint)
    memories, tenant = DynamoDbMemories(table, talk, endpoint=dynoxide_endpoint), Scope("large")
    expected = [f"user-{number:03d}" for number in range(120)]
    for user in reversed(expected):
        memories.commit(tenant.user(user), MemoryCommit(epoch=0, new=[record(1)]))
    found: list[str] = []
    after = None
    while True:
        users, after = memories.users(tenant.tenant, limit=50, after=after)
        found += users
        if after is None:
            break
    assert found == expected


def test_a_session_of_another_tenant_is_on_no_page(
    filled: tuple[str, Scope, list[str]], dynoxide_endpoint: str
) -> None:
    table, tenant, _ = filled
    sessions = DynamoDbSessions(table, endpoint=dynoxide_endpoint)
    Conversation(sessions, SessionScope("large-too", "foreign")).begin(user="user-00007")
    listed = [
        session
        for page in pages(sessions, tenant, limit=1_000, newest_first=False)
        for session in page
    ]
    assert "foreign" not in listed
    assert sessions.listed(Scope("large-too"), user=None, limit=9).sessions == ("foreign",)

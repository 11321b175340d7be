from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from palimpsest.engines.dynamodb.lists import BUCKETS, bucket_of, buckets_of
from palimpsest.engines.places import SHARDS, shard_of
from palimpsest.scope import Scope

ACME = Scope("acme")


@given(partition=st.text(max_size=300))
def test_every_partition_has_one_of_the_shards(partition: str) -> None:
    assert shard_of(partition) in {str(number) for number in range(SHARDS)}


def test_shards_do_not_change_from_one_process_to_the_next() -> None:
    assert [shard_of(f"acme#job#job_{number}") for number in range(6)] == [
        "62",
        "40",
        "18",
        "4",
        "39",
        "49",
    ]


def test_every_user_of_a_tenant_is_listed_in_one_of_the_tenants_buckets() -> None:
    found = Counter(bucket_of(ACME.user(f"user-{number}")) for number in range(16_000))
    assert set(found) == set(buckets_of(ACME))
    assert max(found.values()) < 1.2 * 16_000 / BUCKETS


def test_buckets_do_not_change_from_one_process_to_the_next() -> None:
    assert [bucket_of(ACME.user(name)) for name in ("sarah", "mei", "david")] == [
        "acme#06",
        "acme#15",
        "acme#11",
    ]


def test_no_bucket_is_of_two_tenants() -> None:
    assert not set(buckets_of(ACME)) & set(buckets_of(Scope("acme1")))

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.engines.rules import SHARDS, cursor, listed_as, place_of, shard_of
from palimpsest.errors import BadRequest
from palimpsest.scope import ID_PATTERN

IDS = st.from_regex(ID_PATTERN, fullmatch=True)


@given(tenant=IDS, user=IDS, session=IDS)
def test_a_cursor_leads_back_to_its_place(tenant: str, user: str, session: str) -> None:
    place = listed_as(user=user, created_at="2026-01-01T00:00:00.000Z", session=session)
    for of in (user, None):
        assert place_of(cursor(tenant=tenant, user=of, listed=place), tenant=tenant, user=of) == place


@given(after=st.text(max_size=60))
def test_no_text_is_taken_for_a_cursor_by_chance(after: str) -> None:
    with pytest.raises(BadRequest):
        place_of(after, tenant="acme", user=None)


@given(partition=st.text(max_size=300))
def test_every_partition_has_one_of_eight_shards(partition: str) -> None:
    assert shard_of(partition) in {str(number) for number in range(SHARDS)}


def test_shards_do_not_change_from_one_process_to_the_next() -> None:
    assert [shard_of(f"acme#job#job_{number}") for number in range(6)] == ["6", "0", "2", "4", "7", "1"]

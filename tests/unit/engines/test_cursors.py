from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.engines.cursors import (
    ListCursor,
    job_cursor,
    record_cursor,
    session_cursor,
    user_cursor,
)
from palimpsest.engines.places import listed_as, session_listed_as
from palimpsest.errors import BadRequest
from palimpsest.scope import ID_PATTERN, Scope

IDS = st.from_regex(ID_PATTERN, fullmatch=True).filter(lambda name: name.strip("."))
SARAH = Scope("acme").user("sarah")
EVERY: dict[str, tuple[ListCursor, str]] = {
    "a tenant's sessions": (session_cursor(SARAH.owner, None), "2026-01-01T00:00:00.000Z#s1"),
    "a user's sessions": (
        session_cursor(SARAH.owner, "sarah"),
        "sarah#2026-01-01T00:00:00.000Z#s1",
    ),
    "users": (user_cursor(SARAH.owner), "sarah"),
    "jobs": (job_cursor(SARAH), "001700000000#job_1"),
    "records": (record_cursor(SARAH), "001700000000000#mem_1"),
}


@given(tenant=IDS, user=IDS, session=IDS)
def test_a_cursor_leads_back_to_its_place(tenant: str, user: str, session: str) -> None:
    begun = "2026-01-01T00:00:00.000Z"
    of_user, of_tenant = session_cursor(Scope(tenant), user), session_cursor(Scope(tenant), None)
    for cursor, place in (
        (of_user, listed_as(user=user, created_at=begun, session=session)),
        (of_tenant, session_listed_as(created_at=begun, session=session)),
    ):
        assert cursor.place(cursor.at(place)) == place


@given(after=st.text(max_size=60))
def test_no_text_is_taken_for_a_cursor_by_chance(after: str) -> None:
    for cursor, _ in EVERY.values():
        with pytest.raises(BadRequest):
            cursor.place(after)


@pytest.mark.parametrize("name", EVERY)
def test_every_list_takes_its_own_cursor_and_no_other_tenants_or_users(name: str) -> None:
    cursor, place = EVERY[name]
    after = cursor.at(place)
    assert cursor.place(after) == place
    other = "sarah" if cursor.user is None else None
    for tenant, user in (("other", cursor.user), (cursor.tenant, "mei"), (cursor.tenant, other)):
        with pytest.raises(BadRequest) as refused:
            ListCursor(tenant, user, cursor.places).place(after)
        assert refused.value.code == "invalid_cursor"


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    "place", ["", "sarah#x#..", "..", "1#job_1", "sarah#s1", "001700000000#a#b#c", "a\nb"]
)
def test_a_place_that_the_list_cannot_have_is_refused(name: str, place: str) -> None:
    cursor, _ = EVERY[name]
    with pytest.raises(BadRequest):
        cursor.place(cursor.at(place))


def test_without_a_cursor_a_list_begins_at_its_beginning() -> None:
    assert user_cursor(SARAH.owner).place(None) is None

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.errors import BadRequest
from palimpsest.scope import ID_PATTERN, Scope, SessionScope, checked_id

ids = st.from_regex(re.compile(ID_PATTERN), fullmatch=True).filter(lambda text: text.strip("."))


@pytest.mark.parametrize(
    "value", ["a", "A-1", "sarah@example.com", "2026:hr|x=1+1", "...a", "x" * 128]
)
def test_an_id_stays_as_it_is(value: str) -> None:
    assert checked_id(value, field="user_id") == value


@pytest.mark.parametrize(
    "value",
    [
        "",
        ".",
        "..",
        "...",
        "x" * 129,
        "x" * 2_048,
        "../x",
        "a/b",
        "a#b",
        "a b",
        "a\x00",
        "*",
        "%00",
        "a\n",
        "раypal",
        "ａ",
    ],
)
def test_what_a_key_or_a_path_could_misread_is_no_id(value: str) -> None:
    with pytest.raises(BadRequest) as refused:
        checked_id(value, field="session_id")
    assert refused.value.code == "invalid_id"
    assert refused.value.errors[0].field == "session_id"


@pytest.mark.parametrize(
    ("tenant", "session"), [("", "s"), ("a#job", "s"), ("a", ""), ("a", "job#1"), ("a#", "b")]
)
def test_no_key_is_made_from_what_is_no_id(tenant: str, session: str) -> None:
    with pytest.raises(BadRequest):
        Scope(tenant).session(session)


def test_a_job_has_a_partition_of_its_tenants() -> None:
    assert Scope("acme").job_partition("job_1") == "acme#job#job_1"
    with pytest.raises(BadRequest):
        Scope("acme").job_partition("x#y")


@given(st.tuples(ids, ids), st.tuples(ids, ids))
def test_two_sessions_never_share_a_partition_and_none_is_a_jobs(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    mine, theirs = SessionScope(*one), SessionScope(*other)
    assert (mine.partition == theirs.partition) == (one == other)
    assert mine.partition != theirs.owner.job_partition(other[1])
    assert mine.owner == Scope(one[0])

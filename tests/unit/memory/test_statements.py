from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.memory.record import Source
from palimpsest.memory.statements import DAY, Statement, confirmed, drafted, edited

from tests.unit.memory.drafts import NOW, YEAR, draft

# Drafts


def test_what_a_statement_says_of_its_time_is_never_later_than_now() -> None:
    assert draft("x", at=NOW + YEAR * 1000).valid_from == NOW
    assert draft("x", at=None).valid_from == NOW
    assert draft("x", at=-5).valid_from == 0


@given(st.none() | st.integers(-(10**15), 10**15), st.integers(0, 10**14))
def test_no_record_is_valid_from_later_than_it_was_made(at: int | None, now: int) -> None:
    assert 0 <= draft("x", at=at, now=now).valid_from <= now


def test_only_facts_and_instructions_have_topics() -> None:
    found = {
        kind: draft("x", type=kind, topic="Home Town").topic_key
        for kind in ("fact", "instruction", "event", "task")
    }
    assert found == {"fact": "home_town", "instruction": "home_town", "event": None, "task": None}


def test_everything_but_a_task_expires() -> None:
    for kind, expires_at in (("fact", 1_000 + YEAR), ("event", 1_000 + YEAR), ("task", None)):
        statement = Statement(type=kind, content="x")  # type: ignore[arg-type]
        assert (
            drafted(statement, tenant="a", user="b", now=NOW, lifetime=YEAR).expires_at
            == expires_at
        )


# Edits and confirmations


def test_an_edit_is_a_new_version_without_what_was_said_of_the_old_words() -> None:
    record = draft(
        "works at A",
        keywords=("A",),
        queries=("where?",),
        source=Source("talk", ("m1",), (1,), "at A"),
    )
    older, newer = edited(record, tenant="acme", user="sarah", content="works at B", now=NOW + 1)
    assert older == record
    assert (newer.content, newer.topic_key, newer.valid_from, newer.version) == (
        "works at B",
        "home",
        NOW + 1,
        NOW + 1,
    )
    assert (newer.keywords, newer.queries, newer.source) == ((), (), Source("talk", ("m1",), (1,)))
    assert newer.id not in (record.id, draft("works at B").id)


def test_an_edit_of_form_alone_keeps_what_was_said_of_the_words() -> None:
    record = draft("works at a", keywords=("A",))
    assert edited(record, tenant="acme", user="sarah", content="Works at A.", now=NOW)[
        1
    ].keywords == ("A",)


def test_a_record_without_a_topic_founds_one_when_it_is_edited() -> None:
    record = draft("likes tea", topic=None)
    older, newer = edited(record, tenant="acme", user="sarah", content="likes coffee", now=NOW)
    assert older == replace(record, topic_key=newer.topic_key)
    assert newer.topic_key == f"edited_{record.id}"


def test_a_confirmed_record_lives_on_from_now_and_the_index_hears_of_it() -> None:
    record = replace(draft("x"), expires_at=500, index_state="done")
    assert confirmed(record, now=NOW, lifetime=YEAR) == replace(
        record, expires_at=1_000 + YEAR, index_state="pending"
    )
    assert confirmed(record, now=NOW, lifetime=None) == replace(
        record, expires_at=None, index_state="pending"
    )


@pytest.mark.parametrize(
    ("gain", "lifetime", "is_kept"), [(3600, YEAR, True), (DAY, YEAR, False), (1800, DAY, False)]
)
def test_a_gain_too_small_for_a_write_is_none(gain: int, lifetime: int, is_kept: bool) -> None:  # noqa: FBT001
    record = replace(draft("x"), expires_at=1_000 + lifetime - gain)
    assert (confirmed(record, now=NOW, lifetime=lifetime) == record) is is_kept


def test_a_record_for_ever_stays_so_and_a_task_is_not_kept_by_being_repeated() -> None:
    assert confirmed(draft("x"), now=NOW, lifetime=None) == draft("x")
    assert confirmed(draft("x", type="task"), now=NOW, lifetime=YEAR) == draft("x", type="task")

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.memory.record import Record, RecordType, Source, record_id, said_again
from palimpsest.memory.versions import Version, as_of, versions


def said(at: int, content: str, *, known: int | None = None, seq: int = 1) -> Record:
    return Record(
        id=f"mem_{content}",
        type="fact",
        content=content,
        created_at=known if known is not None else at,
        valid_from=at,
        topic_key="home",
        source=Source("talk", seqs=(seq,)),
    )


ROME, PARIS, OSLO = said(10, "Rome"), said(20, "Paris"), said(30, "Oslo")


def an_id(
    kind: RecordType = "fact", content: str = "likes tea", user: str = "sarah", **more: object
) -> str:
    return record_id(tenant="acme", user=user, kind=kind, content=content, **more)  # type: ignore[arg-type]


def test_an_id_follows_from_owner_type_and_content() -> None:
    assert an_id() == an_id(content=" Likes TEA. ", valid_from=5)
    assert len({an_id(), an_id(content="likes coffee"), an_id(kind="task"), an_id(user="ana")}) == 4


def test_a_topics_and_an_events_id_follow_from_their_time_too() -> None:
    in_topic = [an_id(topic="drink", valid_from=at) for at in (5, 5, 6)]
    events = [an_id("event", "ran 5 km", valid_from=at) for at in (5, 5, 6)]
    assert [len(set(ids)) for ids in (in_topic, events)] == [2, 2]
    assert in_topic[0] == in_topic[1]
    assert an_id("task", valid_from=5) == an_id("task", valid_from=6)


def test_time_decides_first_then_session_message_and_place_in_it() -> None:
    plain = said(10, "x", seq=5)
    later = [
        replace(plain, rank=1), replace(plain, source=Source("talk", seqs=(3, 6))),
        replace(plain, source=Source("talk2", seqs=(1,))), said(11, "x", seq=1),
    ]  # fmt: skip
    orders = [record.order for record in (replace(plain, source=Source()), plain, *later)]
    assert orders == sorted(orders)
    assert len(set(orders)) == 6


def test_a_chain_numbers_its_versions_and_says_how_long_each_held() -> None:
    chain = versions([OSLO, ROME, PARIS], current=OSLO.id)
    assert [version.sources for version in chain] == [(one.source,) for one in (ROME, PARIS, OSLO)]
    assert tuple(replace(version, sources=()) for version in chain) == (
        Version(ROME, 1, is_current=False, valid_to=20, supersedes=None, superseded_by=PARIS.id),
        Version(PARIS, 2, is_current=False, valid_to=30, supersedes=ROME.id, superseded_by=OSLO.id),
        Version(OSLO, 3, is_current=True, valid_to=None, supersedes=PARIS.id, superseded_by=None),
    )


def test_a_record_said_again_is_one_version_as_long_as_nothing_came_between() -> None:
    again = said_again(ROME, said(15, "rome!", known=40, seq=9))
    chain = versions([again, PARIS, ROME], current=PARIS.id)
    assert [(version.record, version.valid_to) for version in chain] == [(ROME, 20), (PARIS, None)]


def test_a_record_said_earlier_than_when_it_was_written_holds_from_then() -> None:
    earlier = said_again(ROME, said(5, "rome!", known=40, seq=9))
    (only,) = versions([ROME, earlier], current=ROME.id)
    assert only.record == replace(ROME, valid_from=5)


def test_a_record_that_held_twice_is_two_versions_and_current_once() -> None:
    again = said_again(ROME, said(40, "rome!", seq=9))
    chain = versions([ROME, PARIS, again], current=ROME.id)
    assert [(version.record.valid_from, version.is_current) for version in chain] == [
        (10, False), (20, False), (40, True),
    ]  # fmt: skip


def test_a_topic_whose_newest_version_was_deleted_has_no_current_one() -> None:
    chain = versions([ROME, PARIS], current=None, retracted=30)
    assert [(version.is_current, version.valid_to) for version in chain] == [
        (False, 20),
        (False, 30),
    ]
    assert versions([], current=None, retracted=30) == ()


@pytest.mark.parametrize(
    ("moment", "held"), [(9, None), (10, ROME), (19, ROME), (20, PARIS), (99, OSLO)]
)
def test_what_held_at_a_moment_is_what_was_last_said_by_then(
    moment: int, held: Record | None
) -> None:
    assert as_of([OSLO, ROME, PARIS], moment=moment) == held


def test_what_was_not_yet_known_did_not_hold_as_far_as_was_known() -> None:
    late = replace(PARIS, created_at=100)
    assert as_of([ROME, late, OSLO], moment=25, known_at=99) == ROME
    assert as_of([ROME, late, OSLO], moment=25, known_at=100) == late
    assert as_of([ROME, late], moment=25, known_at=9) is None


def test_nothing_holds_from_when_the_deleted_version_had_begun() -> None:
    assert as_of([ROME, PARIS], moment=29, retracted=30) == PARIS
    assert as_of([ROME, PARIS], moment=30, retracted=30) is None


moments = st.lists(st.integers(0, 50), min_size=1, max_size=9, unique=True)


@given(moments, st.permutations("abcdefghi"), st.integers(0, 60))
def test_the_chain_and_what_held_agree(times: list[int], names: list[str], moment: int) -> None:
    records = [said(at, name) for at, name in zip(times, names, strict=False)]
    chain = versions(records, current=max(records, key=lambda record: record.order).id)
    at_moment = [
        v
        for v in chain
        if v.record.valid_from <= moment and (v.valid_to is None or moment < v.valid_to)
    ]
    assert [version.record for version in at_moment] == [
        held for held in [as_of(records, moment=moment)] if held
    ]
    assert [version.number for version in chain] == list(range(1, len(records) + 1))
    assert [version.is_current for version in chain] == [False] * (len(records) - 1) + [True]

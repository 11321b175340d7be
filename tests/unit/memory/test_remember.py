from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.clock import SystemClock
from palimpsest.errors import CommitLost, Unavailable
from palimpsest.idempotency import KeyedCall, Once
from palimpsest.memory.decisions import Remembered
from palimpsest.memory.manage import RecordChange
from palimpsest.memory.record import Record
from palimpsest.memory.statements import Statement

from tests.contract.memory_builders import job
from tests.service import DAY, SARAH, TENANT
from tests.unit.memory.service import MemoryService, fact, message


@pytest.fixture
def service() -> MemoryService:
    return MemoryService()


def outcomes(made: tuple[Remembered, ...]) -> list[str]:
    """The outcome of each; `replaced` for what was created in place of a current record."""
    return ["replaced" if one.displaced else one.outcome for one in made]


def stored(service: MemoryService) -> list[Record]:
    return list(service.memories.listed(SARAH, limit=999).records)


# The same text with other fields


def test_the_same_text_with_other_fields_updates_its_record(service: MemoryService) -> None:
    fields = frozenset({"importance", "metadata"})
    first = service.say("works at A", metadata={"by": "form"}, importance=0.5, subject="Sarah")
    service.memories.mark_indexed(SARAH, first.record)
    again = service.say("Works at A.", metadata={"by": "mail"}, importance=0.9, sets=fields)
    (record,) = stored(service)
    assert (again.outcome, again.record.id) == ("updated", first.record.id)
    assert (record.content, record.importance, record.metadata) == (
        "Works at A.",
        0.9,
        {"by": "mail"},
    )
    assert (record.subject, record.index_state) == ("Sarah", "pending")
    assert (
        service.say("Works at A.", metadata={"by": "mail"}, importance=0.9, sets=fields).outcome
        == "unchanged"
    )
    assert service.history(record) == [(1, "Works at A.", True)]


def test_what_was_not_given_and_what_a_conversation_says_again_change_nothing(
    service: MemoryService,
) -> None:
    before = service.say("works at A", metadata={"by": "form"}, importance=0.9).record
    heard = fact(
        "Works at A.",
        method="pattern",
        importance=0.5,
        source=message(3),
        valid_from=service.now + 5,
    )
    assert outcomes(service.remember(SARAH, [fact("works at A"), heard])) == [
        "unchanged",
        "unchanged",
    ]
    assert [(each.content, each.importance, each.metadata) for each in stored(service)] == [
        (before.content, before.importance, before.metadata)
    ]


def test_an_older_version_is_not_updated(service: MemoryService) -> None:
    service.say("works at A", valid_from=10, source=message(1))
    service.say("works at B", valid_from=20)
    again = service.say(
        "Works at A",
        valid_from=10,
        source=message(1),
        metadata={"a": 1},
        sets=frozenset({"metadata"}),
    )
    assert (again.outcome, again.record.content, again.record.metadata) == (
        "unchanged",
        "works at A",
        {},
    )


def test_twice_in_one_request_the_last_one_counts(service: MemoryService) -> None:
    batch = [
        fact("works at A", topic=None, metadata={"n": n}, sets=frozenset({"metadata"}))
        for n in (1, 2)
    ]
    assert outcomes(service.remember(SARAH, batch)) == ["created", "updated"]
    assert [record.metadata for record in stored(service)] == [{"n": 2}]


# Events


def test_twenty_identical_events_at_once_without_a_time_are_one_event() -> None:
    service = MemoryService(clock=SystemClock())
    with ThreadPoolExecutor(10) as pool:
        made = list(
            pool.map(lambda _: service.remember(SARAH, [Statement("event", "ran 5 km")]), range(20))
        )
    assert sorted(outcome for each in made for outcome in outcomes(each)) == [
        "created",
        *["unchanged"] * 19,
    ]
    assert len(stored(service)) == 1


@pytest.mark.parametrize(("seconds", "events"), [(59, 1), (61, 2)])
def test_an_event_sent_again_within_a_minute_is_the_same_one_whenever_the_minute_begins(
    service: MemoryService, seconds: int, events: int
) -> None:
    service.time.advance(31.5)
    service.remember(SARAH, [Statement("event", "ran 5 km")])
    service.time.advance(seconds)
    service.remember(
        SARAH, [Statement("event", "ran 5 km"), Statement("event", "ran 5 km", valid_from=10)]
    )
    assert len(stored(service)) == events + 1


# What is stored


def test_a_statement_is_stored_with_all_it_says(service: MemoryService) -> None:
    said = fact(
        "works at A",
        subject="Sarah",
        keywords=("job",),
        queries=("Where?",),
        importance=0.8,
        confidence=0.7,
        source=message(3),
        agent="hr",
        metadata={"a": 1},
        valid_from=service.now - 5,
        method="model",
        prompt_hash="f" * 8,
    )
    (one,) = service.remember(SARAH, [said])
    (record,) = service.memories.records(SARAH, [one.record.id])
    assert record == one.record
    assert (record.topic_key, record.source, record.valid_from, record.created_at) == (
        "employer", message(3), service.now - 5, service.now,
    )  # fmt: skip
    for name in (
        "content",
        "subject",
        "keywords",
        "queries",
        "importance",
        "confidence",
        "agent",
        "metadata",
        "method",
    ):
        assert getattr(record, name) == getattr(said, name)


def test_a_batch_has_an_outcome_for_each_in_order(service: MemoryService) -> None:
    service.say("works at A")
    batch = [
        fact("Works at A."),
        fact("works at B"),
        fact("likes tea", topic=None),
        fact("likes tea", topic=None),
        Statement("event", "moved house"),
    ]
    assert outcomes(service.remember(SARAH, batch)) == [
        "unchanged",
        "replaced",
        "created",
        "unchanged",
        "created",
    ]
    assert sorted(service.current()) == ["likes tea", "moved house", "works at B"]


def test_the_same_batch_twice_changes_nothing(service: MemoryService) -> None:
    batch = [
        fact("works at A", source=message(1), valid_from=10),
        fact("works at B", source=message(2), valid_from=20),
        fact("likes tea", topic=None, source=message(1), valid_from=10),
        Statement("event", "ran 5 km", valid_from=10),
    ]
    first = service.remember(SARAH, batch)
    version = service.memories.user(SARAH).version
    service.time.advance(60)
    again = service.remember(SARAH, batch)
    assert outcomes(again) == ["unchanged"] * 4
    assert [one.record.id for one in again] == [one.record.id for one in first]
    assert (len(stored(service)), service.memories.user(SARAH).version) == (4, version)


def test_thirty_statements_that_each_supersede_are_all_kept(service: MemoryService) -> None:
    for company in ("A", "B"):
        service.remember(
            SARAH, [fact(f"{company} {number}", topic=f"topic {number}") for number in range(30)]
        )
    assert sorted(service.current()) == sorted(f"B {number}" for number in range(30))
    made = service.remember(
        SARAH, [fact(f"C {number}", topic=f"topic {number}") for number in range(30)]
    )
    assert [one.displaced.content for one in made if one.displaced] == [
        f"B {number}" for number in range(30)
    ]


def test_what_is_displaced_is_told_to_the_index(service: MemoryService) -> None:
    first = service.say("works at A").record
    service.memories.mark_indexed(SARAH, first)
    service.say("works at B")
    (displaced,) = service.memories.records(SARAH, [first.id])
    assert (displaced.index_state, displaced.version) == ("pending", first.version + 1)


# Works at A, later at B: only the newest is current, whatever happens on the way


def test_a_fact_that_is_corrected_twice_is_current_once(service: MemoryService) -> None:
    for company in ("A", "B", "C"):
        one = service.say(f"works at {company}")
        service.time.advance(DAY)
    assert service.current() == ["works at C"]
    assert service.history(one.record) == [
        (3, "works at C", True),
        (2, "works at B", False),
        (1, "works at A", False),
    ]


def test_a_fact_that_is_reworded_is_the_same_record() -> None:
    service = MemoryService(
        near=lambda one, other: one.content.split()[-1] == other.content.split()[-1]
    )
    first = service.say("works at B")
    assert service.say("is employed by B") == Remembered(first.record, "unchanged")
    assert service.current() == ["works at B"]


def test_a_return_to_an_earlier_value_is_a_version_of_its_own(service: MemoryService) -> None:
    for company in ("A", "B", "A"):
        one = service.say(f"works at {company}")
    assert outcomes((one,)) == ["replaced"]
    assert service.history(one.record) == [
        (3, "works at A", True),
        (2, "works at B", False),
        (1, "works at A", False),
    ]


def test_what_was_said_earlier_and_arrives_late_goes_behind(service: MemoryService) -> None:
    newest = service.say("works at B", valid_from=20, source=message(2))
    late = service.say("works at A", valid_from=10, source=message(1))
    assert late.outcome == "created"
    assert service.current() == ["works at B"]
    assert service.history(newest.record) == [(2, "works at B", True), (1, "works at A", False)]


def test_a_value_that_was_said_again_before_a_late_correction_is_still_the_newest(
    service: MemoryService,
) -> None:
    service.say("works at A", valid_from=10)
    service.say("works at A", valid_from=30)
    late = service.say("works at B", valid_from=20)
    assert service.current() == ["works at A"]
    assert service.history(late.record) == [
        (3, "works at A", True),
        (2, "works at B", False),
        (1, "works at A", False),
    ]


def test_messages_that_share_one_time_are_told_apart_by_their_numbers(
    service: MemoryService,
) -> None:
    told = [
        fact(f"works at {c}", valid_from=10, source=message(seq)) for seq, c in enumerate("ABA", 1)
    ]
    made = [service.remember(SARAH, [statement])[0] for statement in told]
    assert outcomes(tuple(made)) == ["created", "replaced", "replaced"]
    assert service.current() == ["works at A"]
    assert [content for _, content, _ in service.history(made[1].record)] == [
        "works at A",
        "works at B",
        "works at A",
    ]
    assert outcomes(service.remember(SARAH, told)) == ["unchanged"] * 3
    assert service.current() == ["works at A"]


def test_a_record_that_is_current_again_is_told_to_the_index(service: MemoryService) -> None:
    for seq, company in enumerate("ABA", 1):
        one = service.say(f"works at {company}", valid_from=10, source=message(seq))
        for record in service.memories.records(SARAH, [one.record.id]):
            assert record.index_state == "pending"
            service.memories.mark_indexed(SARAH, record)


facts = st.lists(
    st.tuples(st.integers(1, 9), st.integers(1, 3), st.sampled_from("ABC")), min_size=1, max_size=7,
    unique_by=lambda fact: fact[:2],
)  # fmt: skip


@given(st.data(), facts)
def test_any_order_and_any_batches_give_the_same_chain(
    data: st.DataObject, told: list[tuple[int, int, str]]
) -> None:
    statements = [
        fact(f"works at {company}", valid_from=at, source=message(seq)) for at, seq, company in told
    ]
    statements.sort(key=lambda statement: (statement.valid_from or 0, statement.source.seqs))
    in_order, shuffled = MemoryService(), MemoryService()
    in_order.remember(SARAH, statements)
    left = list(data.draw(st.permutations(statements)))
    while left:
        size = data.draw(st.integers(1, len(left)))
        shuffled.remember(SARAH, left[:size])
        left = left[size:]
    assert shuffled.current() == in_order.current() == [statements[-1].content]
    assert _chain(shuffled) == _chain(in_order)


def _chain(service: MemoryService) -> list[tuple[int, str, int, int | None]]:
    pointer = service.memories.pointers(SARAH, ["employer"])["employer"]
    chain = service.manage.history(SARAH, str(pointer.record))
    return [(v.number, v.record.content, v.record.valid_from, v.valid_to) for v in chain]


# Time


def test_a_clients_clock_a_year_ahead_does_not_hold_a_topic(service: MemoryService) -> None:
    ahead = service.say("works at A", valid_from=service.now + 365 * DAY * 1000)
    assert ahead.record.valid_from == service.now
    service.time.advance(1)
    assert outcomes((service.say("works at B"),)) == ["replaced"]
    assert service.current() == ["works at B"]


def test_what_arrives_in_the_same_millisecond_still_comes_after(service: MemoryService) -> None:
    for company in ("A", "B", "A", "C"):
        service.say(f"works at {company}")
    assert service.current() == ["works at C"]
    service.remember(SARAH, [fact("works at D"), fact("works at E")])
    assert service.current() == ["works at E"]


# Many at once


class Together:
    """Lets no commit through before so many writers have decided on theirs."""

    def __init__(self, writers: int) -> None:
        self._barrier = threading.Barrier(writers, timeout=30)
        self._seen = threading.local()

    def __call__(self, step: str) -> None:
        if step == "before commit memories" and not getattr(self._seen, "once", False):
            self._seen.once = True
            self._barrier.wait()


@pytest.mark.parametrize("dated", [True, False])
def test_eight_identical_saves_at_once_make_one_record_a_fact(*, dated: bool) -> None:
    service = MemoryService(faults=Together(8), clock=SystemClock())
    more: dict[str, Any] = {"valid_from": 10, "source": message(1)} if dated else {}
    batch = [
        fact("works at A", **more),
        fact("likes tea", topic=None, **more),
        Statement("task", "call Bob", **more),
    ]
    with ThreadPoolExecutor(8) as writers:
        made = list(writers.map(lambda _: service.remember(SARAH, batch), range(8)))
    assert sorted(record.content for record in stored(service)) == [
        "call Bob",
        "likes tea",
        "works at A",
    ]
    assert sorted(outcomes(one)[0] for one in made) == ["created", *["unchanged"] * 7]
    assert len({one[1].record.id for one in made}) == 1


def test_one_call_made_by_eight_at_once_makes_one_event() -> None:
    service = MemoryService(faults=Together(8), clock=SystemClock())
    call = KeyedCall(TENANT.tenant, "n" * 32, "r" * 32, expires_at=2**40)
    once = Once(service.stores.calls, call, service.clock)
    ran = [Statement("event", "ran a race")]
    with ThreadPoolExecutor(8) as writers:
        made = list(
            writers.map(lambda _: service.memories_app.remember(SARAH, ran, once=once), range(8))
        )
    assert [record.content for record in stored(service)] == ["ran a race"]
    assert {one[0].record.id for one in made} == {stored(service)[0].id}
    assert {one[0].outcome for one in made} == {"created"}


def test_of_different_values_said_at_once_the_newest_is_current() -> None:
    service = MemoryService(faults=Together(6), clock=SystemClock())
    with ThreadPoolExecutor(6) as writers:
        made = list(writers.map(lambda at: service.say(f"works at {at}", valid_from=at), range(6)))
    assert service.current() == ["works at 5"]
    assert [content for _, content, _ in service.history(made[0].record)] == [
        f"works at {at}" for at in range(5, -1, -1)
    ]


def test_a_writer_who_never_gets_through_is_told_to_try_again() -> None:
    def crowd(step: str) -> None:
        if step == "before commit memories":
            raise CommitLost("Another writer changed this first; nothing was written.")

    service = MemoryService(faults=crowd)
    with pytest.raises(Unavailable):
        service.say("works at A")
    assert stored(service) == []


# Edits and deletions in between


def test_after_a_deletion_the_topic_can_be_spoken_of_again(service: MemoryService) -> None:
    first = service.say("works at A", source=message(1))
    service.manage.delete(SARAH, first.record.id)
    again = service.say("works at A", source=message(2))
    assert again.outcome == "created"
    assert service.current() == ["works at A"]


def test_an_extraction_repeated_after_a_deletion_brings_nothing_back(
    service: MemoryService,
) -> None:
    said = fact("works at A", valid_from=10, source=message(1))
    one = service.remember(SARAH, [said])[0]
    service.manage.delete(SARAH, one.record.id)
    assert set(service.memories.tombstones(SARAH, [one.record.id])) == {one.record.id}
    service.remember(SARAH, [fact("is employed by A", valid_from=10, source=message(1))])
    assert service.current() == []


def test_old_words_said_again_after_an_edit_are_a_return(service: MemoryService) -> None:
    first = service.say("likes tea", topic=None).record
    service.memories.mark_indexed(SARAH, first)
    newer = service.manage.patch(SARAH, first.id, RecordChange(content="likes coffee"))
    again = service.say("likes tea", topic=None)
    assert (again.outcome, again.displaced and again.displaced.id) == ("created", newer.id)
    assert service.current() == ["likes tea"]


def test_the_message_that_was_edited_is_not_taken_for_a_return(service: MemoryService) -> None:
    said = fact("likes tea", topic=None, valid_from=10, source=message(1))
    first = service.remember(SARAH, [said])[0].record
    service.manage.patch(SARAH, first.id, RecordChange(content="likes coffee"))
    assert outcomes(service.remember(SARAH, [said])) == ["unchanged"]
    assert service.current() == ["likes coffee"]


# Retention


def test_facts_are_kept_for_the_tenants_days_after_they_were_last_said(
    service: MemoryService,
) -> None:
    service.keep_for(100)
    service.say("works at A")
    service.say("likes tea", topic=None)
    service.time.advance(60 * DAY)
    assert service.say("works at A").outcome == "unchanged"
    assert service.say("likes tea", topic=None).outcome == "unchanged"
    service.time.advance(99 * DAY)
    assert sorted(service.current()) == ["likes tea", "works at A"]
    service.time.advance(DAY)
    assert service.current() == []


def test_what_was_said_again_is_told_to_the_index(service: MemoryService) -> None:
    first = service.say("works at A").record
    service.memories.mark_indexed(SARAH, first)
    service.time.advance(60 * DAY)
    service.say("works at A")
    (record,) = service.memories.records(SARAH, [first.id])
    assert (record.index_state, record.expires_at) == ("pending", service.now // 1000 + 365 * DAY)


def test_a_superseded_version_is_not_kept_by_its_old_message(service: MemoryService) -> None:
    said = fact("works at A", valid_from=10, source=message(1))
    service.remember(SARAH, [said])
    service.say("works at B")
    service.time.advance(60 * DAY)
    version = service.memories.user(SARAH).version
    service.remember(SARAH, [said])
    assert service.memories.user(SARAH).version == version


def test_without_a_term_nothing_expires(service: MemoryService) -> None:
    service.keep_for(None)
    one = service.say("works at A")
    assert one.record.expires_at is None


# What becomes of statements before anything is stored


def test_statements_are_decided_without_their_changes_as_with_them(service: MemoryService) -> None:
    service.say("works at A")
    said = [fact("works at B"), fact("likes tea", topic=None), fact("works at A")]
    decided = service.remember.decided(SARAH, said)
    prepared = service.remember.prepared(SARAH, said).made
    assert [one.record.id for one in decided] == [one.record.id for one in prepared]
    assert outcomes(tuple(decided)) == outcomes(prepared)
    assert service.current() == ["works at A"]


# Erasure


def test_what_was_decided_before_an_erasure_is_decided_anew_after_it(
    service: MemoryService,
) -> None:
    service.say("works at A")
    prepared = service.remember.prepared(SARAH, [fact("works at B")])
    service.memories.erase(SARAH, epoch=0, job=job(SARAH))
    with pytest.raises(CommitLost):
        service.memories.commit(SARAH, prepared.commit)
    assert service.current() == []
    assert service.say("works at C").outcome == "created"
    assert service.current() == ["works at C"]


def test_another_users_memory_is_another(service: MemoryService) -> None:
    one = service.say("works at A")
    (theirs,) = service.remember(TENANT.user("ana"), [fact("works at A")])
    assert theirs.outcome == "created"
    assert theirs.record.id != one.record.id

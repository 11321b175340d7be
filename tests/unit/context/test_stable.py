"""The part of a memory that no question changes, as it was known at a moment."""

from __future__ import annotations

from dataclasses import replace

from palimpsest.context.stable import stable_records
from palimpsest.memory.record import Record

MOMENT = 1_768_467_600_000


def record(name: str, *, topic: str | None = None, at: int = 0, **more: object) -> Record:
    made = Record(
        id=f"{name}-{at}",
        type="fact",
        content=name,
        created_at=MOMENT + at,
        valid_from=MOMENT + at,
        topic_key=topic,
    )
    return replace(made, **more)  # type: ignore[arg-type]


def names(records: tuple[Record, ...]) -> list[str]:
    return [each.content for each in records]


def test_instructions_come_first_then_preferences_then_the_most_important_facts() -> None:
    current = [
        record("ran", type="event", importance=0.9),
        record("tea", importance=0.4),
        record("name", importance=0.9),
        record("German", type="preference"),
        record("be brief", type="instruction"),
    ]
    found = stable_records(current, (), user="sarah", since=None, now=MOMENT)
    assert names(found.shown) == ["be brief", "German", "name", "tea", "ran"]


def test_the_profile_of_that_moment_begins_it() -> None:
    rome, oslo = record("Rome", topic="residence"), record("Oslo", topic="residence", at=10)
    others = [record("be brief", type="instruction"), record("ran", type="event")]
    bob = record("Bob likes tea", subject="Bob")
    found = stable_records(
        [oslo, bob, *others], [rome], user="sarah", since=MOMENT + 5, now=MOMENT + 20
    )
    lines = [(kind, each.content) for kind, each in found.profile]
    assert lines == [("who", "Rome"), ("instructions", "be brief"), ("people", "Bob likes tea")]
    assert names(found.shown) == ["be brief", "Bob likes tea", "Rome", "ran"]


def test_a_later_value_leaves_the_earlier_one_in_its_place_and_is_named_as_what_holds_now() -> None:
    rome, oslo = record("Rome", topic="city"), record("Oslo", topic="city", at=10)
    found = stable_records([oslo], [rome], user="sarah", since=MOMENT + 5, now=MOMENT + 20)
    assert names(found.shown) == ["Rome"]
    assert found.replaced == {rome.id: oslo}
    assert found.added == ()


def test_a_value_that_was_known_replaces_the_earlier_one() -> None:
    rome, oslo = record("Rome", topic="city"), record("Oslo", topic="city", at=10)
    found = stable_records([oslo], [rome], user="sarah", since=MOMENT + 10, now=MOMENT + 20)
    assert (names(found.shown), found.replaced) == (["Oslo"], {})


def test_of_several_later_values_only_the_one_that_holds_is_named() -> None:
    rome, oslo, lima = (
        record(name, topic="city", at=at) for name, at in (("Rome", 0), ("Oslo", 10), ("Lima", 20))
    )
    found = stable_records([lima], [rome, oslo], user="sarah", since=MOMENT + 5, now=MOMENT + 30)
    assert found.replaced == {rome.id: lima}


def test_a_value_that_was_said_again_replaces_nothing() -> None:
    before, after = record("Rome", topic="city"), record("rome", topic="city", at=10)
    found = stable_records([after], [before], user="sarah", since=MOMENT + 5, now=MOMENT + 20)
    assert (names(found.shown), found.replaced, found.added) == (["Rome"], {}, ())


def test_a_topic_without_a_current_value_is_left_out_at_once() -> None:
    rome, oslo = record("Rome", topic="city"), record("Oslo", topic="city", at=1)
    found = stable_records([], [rome, oslo], user="sarah", since=MOMENT + 5, now=MOMENT + 20)
    assert found == stable_records((), (), user="sarah", since=MOMENT + 5, now=MOMENT + 20)


def test_what_came_later_is_added_and_not_shown() -> None:
    found = stable_records(
        [record("tea"), record("jazz", at=10)], (), user="sarah", since=MOMENT + 5, now=MOMENT + 20
    )
    assert (names(found.shown), names(found.added)) == (["tea"], ["jazz"])


def test_what_has_expired_is_left_out() -> None:
    soon = record("a ticket", expires_at=MOMENT // 1000 + 60)
    assert names(stable_records([soon], (), user="sarah", since=MOMENT, now=MOMENT).shown) == [
        "a ticket"
    ]
    assert stable_records([soon], (), user="sarah", since=MOMENT, now=MOMENT + 60_000).shown == ()

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.memory.decisions import (
    KnownTopic,
    MemoryState,
    Remembered,
    is_same,
    taken_in,
    topic_since,
)
from palimpsest.memory.record import Order, Record, Source
from palimpsest.memory.versions import as_of, versions
from palimpsest.text.folding import normalized

from tests.unit.memory.drafts import draft


@dataclass
class Home:
    """One topic as a store would keep it: what was said, and what is current."""

    known: MemoryState = field(default_factory=lambda: MemoryState({}, {}))

    def take(self, *records: Record) -> list[str]:
        """The outcome of each; `replaced` for what was created in place of a current record."""
        made = taken_in(records, self.known)
        return ["replaced" if one.displaced else one.outcome for one in made]

    @property
    def said(self) -> list[Record]:
        return [*self.known.new, *self.known.said]

    @property
    def topic(self) -> KnownTopic:
        return self.known.topics.get("home", KnownTopic())

    @property
    def current(self) -> str | None:
        return self.topic.current.content if self.topic.current else None

    @property
    def values(self) -> list[tuple[str, int, int | None, bool]]:
        """The chain without what depends on who was first: which of two equal statements gave the
        record its id.
        """
        assert self.topic.current is not None
        chain = versions(self.said, current=self.topic.current.id)
        return [
            (normalized(v.record.content), v.record.valid_from, v.valid_to, v.is_current)
            for v in chain
        ]


# Statements that meet


def test_a_correction_supersedes_and_names_what_it_displaced() -> None:
    home = Home()
    first, second = draft("Rome", at=10), draft("Paris", at=20)
    assert taken_in([first, second], home.known) == (
        Remembered(first, "created"),
        Remembered(second, "created", displaced=first),
    )
    assert (home.current, home.topic.order) == ("Paris", second.order)


def test_the_same_batch_twice_is_unchanged_and_makes_nothing() -> None:
    home = Home()
    batch = [
        draft("Rome", at=10),
        draft("rome!", at=15),
        draft("Paris", at=20),
        draft("likes tea", topic=None),
    ]
    assert home.take(*batch) == ["created", "unchanged", "replaced", "created"]
    said = list(home.said)
    assert home.take(*batch) == ["unchanged"] * 4
    assert home.said == said


def test_what_equals_the_current_record_is_that_record() -> None:
    home = Home()
    home.take(draft("Rome", at=10))
    (one,) = taken_in([draft(" ROME. ", at=20)], home.known)
    assert (one.record, one.outcome) == (home.known.new[0], "unchanged")
    assert home.topic.order is not None
    assert home.topic.order[0] == 20


def test_what_is_near_to_the_current_record_is_that_record() -> None:
    home = Home()
    home.take(draft("lives in Rome", at=10))
    near = lambda one, other: (  # noqa: E731
        {"rome"} <= {*normalized(one.content).split()} & {*normalized(other.content).split()}
    )  # noqa: E731, RUF100
    (one,) = taken_in([draft("moved to Rome", at=20)], home.known, near=near)
    assert (one.record.content, one.outcome) == ("lives in Rome", "unchanged")


def test_a_return_to_an_earlier_value_is_a_new_version() -> None:
    home = Home()
    assert (
        home.take(draft("Rome", at=10), draft("Paris", at=20), draft("Rome", at=30))[-1]
        == "replaced"
    )
    assert [value[0] for value in home.values] == ["rome", "paris", "rome"]
    assert len({record.id for record in home.known.new}) == 3


def test_an_older_statement_that_arrives_late_does_not_displace_a_newer_one() -> None:
    home = Home()
    assert home.take(draft("Paris", at=20), draft("Rome", at=10)) == ["created", "created"]
    assert home.current == "Paris"
    assert [value[0] for value in home.values] == ["rome", "paris"]


def test_what_comes_between_two_times_that_a_value_was_said_makes_the_second_a_return() -> None:
    home = Home()
    assert home.take(draft("Rome", at=10), draft("Rome", at=30), draft("Paris", at=20)) == [
        "created", "unchanged", "created",
    ]  # fmt: skip
    assert home.values == [
        ("rome", 10, 20, False),
        ("paris", 20, 30, False),
        ("rome", 30, None, True),
    ]


def test_of_two_statements_of_one_message_the_later_one_counts() -> None:
    source = Source("talk", ("m1",), (1,))
    batch = [
        replace(draft(city, source=source), rank=rank)
        for rank, city in enumerate(["Rome", "Paris"])
    ]
    home = Home()
    assert home.take(*batch) == ["created", "replaced"]
    assert home.current == "Paris"


def test_types_and_topics_do_not_meet() -> None:
    home = Home()
    outcomes = home.take(
        draft("Rome"),
        draft("Rome", topic="birthplace"),
        draft("Rome", topic=None),
        draft("Rome", type="event"),
        draft("Rome", type="task"),
    )
    assert outcomes == ["created"] * 5


def test_events_are_the_same_only_at_the_same_time() -> None:
    home = Home()
    runs = [draft("ran 5 km", type="event", at=at) for at in (10, 10, 20)]
    assert home.take(*runs) == ["created", "unchanged", "created"]


# After a deletion


def _deleted(*remaining: Record, order: Order) -> Home:
    """The topic after its newest version was deleted."""
    return Home(
        MemoryState(
            {},
            {
                "home": KnownTopic(
                    None, order, tuple((record.order, record) for record in remaining)
                )
            },
        )
    )


def test_after_a_deletion_older_statements_go_behind_and_nothing_comes_back() -> None:
    rome, paris = draft("Rome", at=10), draft("Paris", at=20)
    home = _deleted(rome, order=paris.order)
    assert home.take(draft("Oslo", at=15)) == ["created"]
    assert home.current is None


def test_after_a_deletion_the_same_message_in_other_words_does_not_bring_it_back() -> None:
    source = Source("talk", ("m1",), (1,))
    home = _deleted(order=draft("Paris", source=source).order)
    for rank in range(3):
        home.take(replace(draft(f"in Paris {rank}", source=source), rank=rank))
    assert home.current is None


def test_after_a_deletion_a_newer_statement_founds_the_topic_anew_also_with_an_old_value() -> None:
    rome, paris = draft("Rome", at=10), draft("Paris", at=20)
    home = _deleted(rome, order=paris.order)
    assert home.take(draft("Rome", at=30)) == ["created"]
    assert home.current == "Rome"
    assert home.known.new[0].id != rome.id


# In any order

facts = st.lists(
    st.builds(
        lambda at, session, seq, city: (at, session, seq, city),
        st.integers(1, 12),
        st.sampled_from(["a", "b"]),
        st.integers(1, 3),
        st.sampled_from(["Rome", "Paris", "Oslo"]),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda fact: fact[:3],
)


def _drafts(told: Sequence[tuple[int, str, int, str]]) -> list[Record]:
    return [
        draft(city, at=at, source=Source(session, (f"m{seq}",), (seq,)))
        for at, session, seq, city in told
    ]


@given(st.data(), facts)
def test_statements_of_distinct_values_give_the_same_chain_in_any_order(
    data: st.DataObject, told: list[tuple[int, str, int, str]]
) -> None:
    records = _drafts([(*fact[:3], f"{fact[3]} {number}") for number, fact in enumerate(told)])
    home, other = Home(), Home()
    home.take(*sorted(records, key=lambda record: record.order))
    other.take(*data.draw(st.permutations(records)))
    assert (
        home.topic.current == other.topic.current == max(records, key=lambda record: record.order)
    )
    current = home.topic.current.id
    assert versions(home.said, current=current) == versions(other.said, current=current)


@given(st.data(), facts)
def test_values_that_return_give_the_same_chain_in_any_order(
    data: st.DataObject, told: list[tuple[int, str, int, str]]
) -> None:
    records = _drafts(told)
    home, other = Home(), Home()
    home.take(*sorted(records, key=lambda record: record.order))
    for record in data.draw(st.permutations(records)):
        other.take(record)
    assert home.values == other.values
    assert home.current == max(records, key=lambda record: record.order).content


@given(st.data(), facts, st.integers(0, 13))
def test_what_held_at_any_moment_is_the_last_statement_by_then(
    data: st.DataObject, told: list[tuple[int, str, int, str]], moment: int
) -> None:
    records = _drafts(told)
    home = Home()
    home.take(*data.draw(st.permutations(records)))
    expected = max(
        (r for r in records if r.valid_from <= moment),
        key=lambda record: record.order,
        default=None,
    )
    held = as_of(home.said, moment=moment)
    assert (held and held.content) == (expected and expected.content)


@given(st.data(), facts)
def test_whatever_was_taken_in_is_unchanged_when_it_comes_again(
    data: st.DataObject, told: list[tuple[int, str, int, str]]
) -> None:
    records = _drafts(told)
    home = Home()
    home.take(*data.draw(st.permutations(records)))
    before = (home.values, len(home.said))
    again = data.draw(st.permutations(records))
    assert home.take(*again) == ["unchanged"] * len(records)
    assert (home.values, len(home.said)) == before


@given(st.data(), facts)
def test_the_topic_always_names_what_was_said_last(
    data: st.DataObject, told: list[tuple[int, str, int, str]]
) -> None:
    home = Home()
    for record in data.draw(st.permutations(_drafts(told))):
        home.take(record)
        newest = max(home.said, key=lambda said: said.order)
        assert (home.topic.order, home.topic.current and home.topic.current.id) == (
            newest.order,
            newest.id,
        )


@pytest.mark.parametrize(("at", "joins"), [(9, False), (10, False), (11, True)])
def test_old_words_said_later_than_they_were_join_the_edited_topic(at: int, joins: bool) -> None:  # noqa: FBT001
    there = replace(draft("likes tea", topic=None), topic_key="edited")
    again = draft("likes tea", topic=None, at=at)
    assert topic_since(again, there, is_said_now=False) == ("edited" if joins else None)
    assert topic_since(again, there, is_said_now=True) == "edited"
    assert topic_since(again, None, is_said_now=True) is None
    assert topic_since(draft("likes tea"), there, is_said_now=True) is None


def test_words_are_the_same_whatever_their_form() -> None:
    assert is_same(draft("Likes tea."), draft("likes TEA"))
    assert not is_same(draft("likes tea"), draft("likes teas"))

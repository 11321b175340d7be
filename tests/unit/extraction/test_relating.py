"""A new statement is related to a known one by learned weights, where no rule tells it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from palimpsest.extraction.relating import MOST_COMPARED, MOST_NEWEST, compared, related
from palimpsest.memory.record import Record, Source
from palimpsest.memory.statements import Statement


def known(text: str, *, speaker: str | None = None, topic: str | None = None) -> Record:
    return Record(
        id=text,
        type="fact",
        content=text,
        created_at=0,
        valid_from=0,
        speaker=speaker,
        topic_key=topic,
    )


def relation(new: str, *before: str) -> tuple[str, str] | None:
    records = list(map(known, before))
    found = related(Statement("fact", new), records, may_repeat=True)
    return None if found is None else (found.kind, records[found.place].content)


OTHERS = ("My sister is called Ann.", "I like jazz.", "I have two cats.")


@pytest.mark.parametrize(
    ("before", "new"),
    [
        ("Our vet is Mr Hale.", "Sue Marsh looks after our animals these days."),
        ("Our electricity supplier is Bulb.", "Our power comes from EDF these days."),
        ("My favourite band is Pulp.", "My favourite band these days is Suede."),
    ],
)
def test_a_change_that_no_rule_knows_replaces_what_it_changes(before: str, new: str) -> None:
    assert relation(new, *OTHERS, before) == ("replaces", before)


@pytest.mark.parametrize(
    ("before", "new"),
    [
        ("Our vet is Mr Hale.", "Sue Marsh sat beside me at the show."),
        ("I bank with Lloyds.", "My brother has switched to Starling."),
        ("I bank with Lloyds.", "I met a friend outside Lloyds."),
        ("I can't eat soy.", "I can't eat nuts."),
        ("I live in Leeds.", "I had a lovely weekend in York."),
    ],
)
def test_what_can_be_true_beside_a_known_statement_leaves_it(before: str, new: str) -> None:
    assert relation(new, *OTHERS, before) is None


def test_one_fact_in_other_words_is_a_repetition() -> None:
    assert relation("Fflos is our collie.", "We've got a collie called Fflos.") == (
        "repeats",
        "We've got a collie called Fflos.",
    )


VET, NEW_VET = "Our vet is Mr Hale.", "Sue Marsh looks after our animals these days."


def test_statements_of_another_speaker_are_not_compared() -> None:
    new = Statement("fact", NEW_VET, speaker="omar")
    assert related(new, [known(VET)], may_repeat=True) is None
    assert related(new, [known(VET, speaker="omar")], may_repeat=True)


def test_a_statement_of_a_topic_that_has_a_value_concerns_nothing_else() -> None:
    new = Statement("fact", "I report to Thomas these days.", topic="boss")
    others = [known("My boss is Ingrid.")]
    assert related(new, others, may_repeat=True)
    assert related(new, [*others, known("Boss: Jo", topic="boss")], may_repeat=True) is None


def test_only_another_introduction_changes_a_name() -> None:
    new = Statement("fact", "I'm in York now.")
    assert related(new, [known("I'm Paula.", topic="name")], may_repeat=True) is None


def test_what_one_message_says_leaves_what_it_says_besides() -> None:
    of_one = Source(session="s", seqs=(1,))
    new = Statement("fact", NEW_VET, source=of_one)
    assert related(new, [replace(known(VET), source=of_one)], may_repeat=True) is None
    later = replace(new, source=Source(session="s", seqs=(2,)))
    assert related(later, [replace(known(VET), source=of_one)], may_repeat=True)


def test_a_number_of_something_else_leaves_a_known_number() -> None:
    assert relation("my suitcase weighs 79 pounds now", "I weigh 82 kilos.") is None


def test_few_of_many_known_statements_are_compared() -> None:
    new = Statement("fact", "My cat is called Max.")
    near = [known(f"My cat number {number} is called Tux.") for number in range(500)]
    far = [known(f"It rains in town {number}.") for number in range(500)]
    assert len(list(compared(new, [*far, *near]))) == MOST_COMPARED
    assert sorted(compared(new, far)) == list(range(MOST_NEWEST))

"""The learned ranker adds what it knows of a candidate, and says term by term what it made of it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.models.catalogue import OTHER
from palimpsest.recall.found import Candidate
from palimpsest.recall.ranker import LinearRanker, Rankers, Weight, learned, likelihood
from palimpsest.recall.ranking import ranked
from palimpsest.recall.signals import READ, SIGNALS, Signal, read_signals, signals_of

from tests.unit.splits import splits

TIMES = 10
MOST_SPLITS = 1.6  # 10 ms, which is 1 ms for each ranking; 0.9 to 1.0 were measured
PLAIN = LinearRanker(-1.0, {"meaning": Weight(0.5, 0.25, 2.0), "length": Weight(1.0, 1.0, 0.5)})


def test_the_terms_of_a_candidate_add_up_to_the_odds_of_its_score() -> None:
    terms = PLAIN.terms({"meaning": 1.0, "length": 2.0})
    assert terms == {"constant": -1.0, "meaning": 4.0, "length": 0.5}
    assert likelihood(terms) == pytest.approx(1 / (1 + math.exp(-3.5)))


def test_a_signal_that_is_missing_counts_as_its_mean() -> None:
    assert sum(PLAIN.terms({"meaning": 0.5}).values()) == -1.0
    assert sum(PLAIN.terms({}).values()) == -1.0
    assert "topic" not in PLAIN.terms({"topic": 1.0}), "it has not learned anything of it"


def test_what_a_reranker_read_is_scaled_within_what_it_read() -> None:
    read = read_signals({"a": -11.0, "b": 9.0, "c": -1.0, "d": -1.0})
    assert read["b"] == {"read": 1.0, "read_place": 0.0}
    assert read["c"] == read["d"] == {"read": 0.5, "read_place": 0.25}
    assert read["a"] == {"read": 0.0, "read_place": 0.75}
    assert read_signals({"only": 3.0})["only"]["read"] == 1.0


def test_what_was_read_is_ranked_by_the_ranker_for_it_and_the_others_by_theirs() -> None:
    found: LinearRanker[Signal] = LinearRanker(0.0, {"meaning": Weight(0.0, 1.0, 1.0)})
    read: LinearRanker[Signal] = LinearRanker(0.0, {"read": Weight(0.0, 1.0, 5.0)})
    rankers = Rankers(found, read)
    many = [Candidate(name, {"keyword": score}, said_at=0) for name, score in (("a", 9), ("b", 1))]
    assert [each.candidate.key for each in ranked(many, now=0, rankers=rankers)] == ["a", "b"]
    after = ranked(many, now=0, read={"b": 2.0}, rankers=rankers)
    assert [each.candidate.key for each in after] == ["b", "a"]
    assert {"constant": 0.0, "read": 5.0}.items() <= after[0].terms.items()
    assert "read" not in after[1].terms


def test_the_ranker_that_ships_knows_the_signals_that_recall_has() -> None:
    rankers = learned()
    assert set(rankers.read.weights) == set(SIGNALS)
    assert set(rankers.found.weights) == set(SIGNALS) - set(READ)
    assert rankers.read.weights["read_place"].weight < 0 < rankers.read.weights["read"].weight
    assert rankers.found.weights["meaning"].weight > 0 > rankers.found.weights["asks"].weight


@given(st.dictionaries(st.sampled_from(SIGNALS), st.floats(-1e9, 1e9)))
def test_any_signals_make_a_likelihood(signals: dict[str, float]) -> None:
    assert 0 <= likelihood(learned().read.terms(signals)) <= 1  # type: ignore[arg-type]


def test_a_hundred_candidates_are_ranked_in_a_millisecond_by_the_time_that_a_split_takes() -> None:
    many = [
        Candidate(
            f"{number}",
            {"keyword": float(number), "vector": 0.5 + number / 1_000},
            said_at=number,
            coverage=number / 100,
            words=number,
            own_words=number % 4,
            speaker="user",
            neighbours=(f"{number - 1}", f"{number + 1}"),
        )
        for number in range(100)
    ]
    relevance = {candidate.key: candidate.coverage for candidate in many}
    ranker = learned().read

    def rank_often() -> None:
        for _ in range(TIMES):
            reading = read_signals(relevance)
            for candidate in many:
                signals = dict(signals_of(candidate, relevance, near=OTHER))
                likelihood(ranker.terms(signals | reading[candidate.key]))

    assert splits(rank_often) < MOST_SPLITS

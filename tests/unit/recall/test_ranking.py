"""Scores of several retrievers become one order, whose rules hold whatever the scores are."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from palimpsest.recall.found import Candidate, Scores
from palimpsest.recall.ranking import Ranked, near_enough, preselected, ranked
from palimpsest.recall.recall import within_budget
from palimpsest.recall.weights import DAY
from palimpsest.text.dates import Period

NOW = 1_800_000_000_000


def candidate(
    key: str, *, keyword: float | None = None, vector: float | None = None, **more: Any
) -> Candidate:
    found = {
        name: score
        for name, score in (("keyword", keyword), ("vector", vector))
        if score is not None
    }
    return replace(Candidate(key, found, said_at=NOW), **more)  # type: ignore[arg-type]


def order(*candidates: Candidate, **more: Any) -> list[str]:
    return [one.candidate.key for one in ranked(candidates, now=NOW, **more)]


def test_what_both_retrievers_find_stands_before_what_one_finds() -> None:
    words = candidate("words", keyword=9.0, coverage=0.8)
    both = candidate("both", keyword=8.0, vector=0.7, coverage=0.7)
    meaning = candidate("meaning", vector=0.8)
    weak = candidate("weak", keyword=1.0, vector=0.1)
    assert order(words, both, meaning, weak)[0] == "both"


def test_scores_of_any_scale_are_made_one() -> None:
    small = [candidate("a", keyword=0.9, vector=0.2), candidate("b", keyword=0.1, vector=0.9)]
    large = [candidate("a", keyword=900.0, vector=0.2), candidate("b", keyword=100.0, vector=0.9)]
    assert [one.score for one in ranked(small, now=NOW)] == [
        one.score for one in ranked(large, now=NOW)
    ]


def test_second_evidence_that_says_nearly_the_same_is_kept_beside_the_first() -> None:
    first, second = (
        candidate("a1", keyword=9.0, vector=0.9),
        candidate("a2", keyword=8.9, vector=0.89),
    )
    other = candidate("b", keyword=3.0, vector=0.3)
    assert order(other, second, first) == ["a1", "a2", "b"]


def test_without_vectors_words_alone_decide() -> None:
    assert order(candidate("much", keyword=5.0), candidate("little", keyword=1.0)) == [
        "much",
        "little",
    ]
    best, other = ranked(
        [candidate("much", keyword=5.0), candidate("little", keyword=1.0)], now=NOW
    )
    assert best.signals["meaning"] > other.signals["meaning"] == 0


def test_what_is_not_indexed_yet_is_judged_by_its_words() -> None:
    new = Candidate("new", {"newest": 0.9}, said_at=NOW)
    indexed = candidate("indexed", keyword=2.0, vector=0.5)
    weak = candidate("weak", keyword=1.0, vector=0.1)
    assert order(new, indexed, weak) == ["indexed", "new", "weak"]


def test_what_is_indexed_gains_nothing_by_being_new() -> None:
    once = candidate("once", keyword=2.0, vector=0.2)
    again = replace(once, key="again", scores={**once.scores, "newest": 1.0})
    one, other = ranked([once, again, candidate("x", keyword=5.0, vector=0.9)], now=NOW)[1:]
    assert one.score == other.score


def test_a_topic_that_the_question_names_lifts_its_record() -> None:
    named = Candidate("named", {"keyword": 2.0, "topic_key": 1.0}, said_at=NOW)
    assert (
        order(candidate("other", keyword=2.2), named, candidate("weak", keyword=1.0))[0] == "named"
    )


def test_what_was_said_beside_a_hit_is_lifted() -> None:
    question = candidate("s/1", keyword=9.0, vector=0.9)
    answer = candidate("s/2", vector=0.3, neighbours=("s/1", "s/3"))
    elsewhere = candidate("t/9", vector=0.3, neighbours=("t/8", "t/10"))
    assert order(elsewhere, answer, question, candidate("u/1", vector=0.1)) == [
        "s/1",
        "s/2",
        "t/9",
        "u/1",
    ]


def test_importance_recency_and_use_decide_between_equals() -> None:
    plain = candidate("plain", keyword=5.0, said_at=NOW - 400 * DAY)
    assert order(plain, replace(plain, key="important", importance=0.9))[0] == "important"
    assert order(plain, replace(plain, key="recent", said_at=NOW))[0] == "recent"
    used = replace(plain, key="used", used_at=NOW - DAY, uses=3)
    assert order(plain, used)[0] == "used"


def test_mild_factors_do_not_turn_a_clear_order() -> None:
    right = candidate("right", keyword=9.0, vector=0.8, importance=0.5, said_at=NOW - 1_000 * DAY)
    wrong = candidate("wrong", keyword=4.0, vector=0.4, importance=1.0)
    assert order(right, wrong, candidate("weak", keyword=1.0, vector=0.1))[0] == "right"


def test_the_time_that_is_asked_for_counts() -> None:
    march = Period(NOW - 100 * DAY, NOW - 70 * DAY)
    then = candidate("then", keyword=5.0, vector=0.5, said_at=NOW - 80 * DAY)
    now = candidate("now", keyword=5.2, vector=0.52)
    weak = candidate("weak", keyword=1.0, vector=0.1)
    assert order(then, now, weak)[0] == "now"
    assert order(then, now, weak, period=march)[0] == "then"


def test_an_earlier_value_stands_behind_the_record_that_holds() -> None:
    old = candidate("s/1", keyword=9.0, vector=0.9, outdated_by="record")
    record = candidate("record", keyword=3.0, vector=0.4)
    weak = candidate("weak", keyword=1.0, vector=0.1)
    assert order(old, record, weak)[0] == "record"
    assert order(old, record, weak, shows_outdated=True)[0] == "s/1"


def test_a_question_for_something_else_that_a_message_says_puts_it_behind_no_record() -> None:
    both = candidate("s/1", keyword=9.0, vector=0.9, outdated_by="record")
    record = candidate("record", keyword=1.2, vector=0.2)
    assert (
        order(
            both, record, candidate("near", keyword=8.0, vector=0.8), candidate("weak", vector=0.1)
        )[0]
        == "s/1"
    )


def test_a_named_day_counts_more_than_the_days_beside_it() -> None:
    day = Period(NOW - 101 * DAY, NOW - 98 * DAY)  # with its margin
    named = candidate("named", keyword=5.0, vector=0.5, said_at=NOW - 100 * DAY)
    beside = replace(
        named, key="beside", said_at=NOW - 99 * DAY, scores={"keyword": 5.2, "vector": 0.52}
    )
    other = replace(
        named, key="other", said_at=NOW - 90 * DAY, scores={"keyword": 5.2, "vector": 0.52}
    )
    assert order(other, beside, named, candidate("weak", keyword=1.0, vector=0.1), period=day)[
        :3
    ] == ["named", "beside", "other"]


def test_a_task_of_an_ended_session_stands_behind_what_is_comparable_and_before_noise() -> None:
    task = candidate("task", keyword=9.0, coverage=1.0, by_words=True, is_over=True)
    comparable = candidate("comparable", keyword=8.0, vector=0.4, coverage=0.9)
    noise = candidate("noise", keyword=3.0, vector=0.1)
    weak = candidate("weak", keyword=1.0, vector=0.1)
    assert order(task, comparable, noise, weak) == ["comparable", "task", "noise", "weak"]
    assert order(replace(task, is_over=False), comparable, noise, weak)[0] == "task"


def test_a_task_is_judged_by_its_words() -> None:
    best = candidate("best", vector=0.5)
    task = candidate("task", keyword=2.0, coverage=0.3, by_words=True)
    assert sorted(shown(best, task)) == ["best", "task"]
    assert shown(best, replace(task, coverage=0.2)) == ["best"]


def test_equal_scores_come_in_the_order_of_their_keys() -> None:
    assert order(*(candidate(key, keyword=1.0) for key in "cab")) == ["a", "b", "c"]


def strongest(**more: Any) -> tuple[Ranked, ...]:
    return ranked([candidate("a", **more)], now=NOW)


def test_the_best_is_shown_however_far_it_is() -> None:
    assert not near_enough(())
    assert near_enough(strongest(vector=0.01, keyword=1.0))


def shown(*candidates: Candidate) -> list[str]:
    return [one.candidate.key for one in near_enough(ranked(candidates, now=NOW))]


def test_what_is_far_less_likely_than_the_best_is_left_out() -> None:
    best = candidate("s/1", vector=0.9, keyword=9.0, coverage=0.9, words=20)
    near, far = candidate("near", vector=0.6, words=20), candidate("far", vector=0.02)
    assert shown(best, near, far) == ["s/1", "near"]
    assert shown(best, near, replace(far, says="question")) == ["s/1", "near"]


def test_a_record_whose_topic_the_question_names_leaves_out_no_other() -> None:
    scores: Scores = {"vector": 0.6, "topic_key": 1.0}
    record = replace(candidate("record"), scores=scores, words=20)
    other = candidate("other", vector=0.55, words=20)
    assert shown(record, other) == ["record", "other"]


def test_all_words_of_the_question_are_near_enough() -> None:
    best = candidate("s/1", vector=0.9, keyword=9.0, coverage=1.0, words=20)
    other = candidate("s/2", keyword=1.0, vector=0.0, words=2, speaker="assistant", coverage=1.0)
    assert shown(best, other) == ["s/1", "s/2"]
    assert shown(best, replace(other, coverage=0.2)) == ["s/1"]


def test_what_says_nothing_stands_by_its_own_words_or_not_at_all() -> None:
    best = candidate("s/1", vector=0.5)
    empty = candidate("s/2", vector=0.25, neighbours=("s/1",), says="nothing")
    assert shown(best, empty) == ["s/1"]
    near = replace(empty, scores={"vector": 0.4}, coverage=0.2)
    assert shown(best, near) == ["s/1", "s/2"]
    assert shown(best, replace(near, coverage=0.0)) == ["s/1"], (
        "its vector has leaned to what was said before it"
    )


def test_few_words_stand_by_the_question_that_they_answer() -> None:
    short = candidate("s/2", vector=0.1, neighbours=("s/1",), says="little")
    assert shown(candidate("s/1", vector=0.5), short) == ["s/1"]
    assert sorted(shown(candidate("s/1", vector=0.5, says="question"), short)) == ["s/1", "s/2"]


def test_what_asks_or_says_nothing_comes_after_a_statement_that_is_as_near() -> None:
    asks = candidate("asks", keyword=9.0, vector=0.8, says="question", words=9)
    states = candidate("states", keyword=9.0, vector=0.8, words=9)
    empty = candidate("empty", keyword=9.0, vector=0.8, says="nothing", words=9)
    weak = candidate("weak", keyword=1.0, vector=0.1)
    first, *others = order(asks, empty, states, weak)
    assert (first, set(others)) == ("states", {"asks", "empty", "weak"})


def test_where_no_vectors_were_compared_a_shared_word_is_enough() -> None:
    assert near_enough(strongest(keyword=1.0, coverage=0.2))
    assert not near_enough(strongest(keyword=1.0))


def test_where_no_vectors_were_compared_the_record_of_a_topic_needs_no_word() -> None:
    record = replace(candidate("record"), scores={"topic_key": 1.0})
    assert shown(record, candidate("other", keyword=1.0, coverage=0.5)) == ["record", "other"]


def test_preselection_keeps_the_best_of_each_retriever() -> None:
    found: dict[str, Any] = {f"k{number}": {"keyword": float(number)} for number in range(50)}
    found |= {f"v{number}": {"vector": number / 50} for number in range(50)}
    found["topic"] = {"topic_key": 1.0}
    kept = preselected(found, most=10)
    assert len(kept) == 10
    assert {"k49", "v49", "topic"} <= set(kept)


def test_a_budget_passes_over_what_is_too_large() -> None:
    assert within_budget([50, 500, 40, 30], k=3, room=130) == [0, 2, 3]
    assert within_budget([50, 500, 40, 30], k=2, room=None) == [0, 1]
    assert within_budget([50], k=5, room=10) == []


found = st.dictionaries(
    st.sampled_from(["keyword", "vector", "topic_key", "newest"]), st.floats(0, 1), min_size=1
)
candidates = st.lists(
    st.builds(
        Candidate,
        key=st.text("abcdef", min_size=1, max_size=4),
        scores=st.dictionaries(
            st.sampled_from(["keyword", "vector", "topic_key", "newest"]),
            st.floats(0, 1),
            min_size=1,
        ),
        said_at=st.integers(0, NOW),
        coverage=st.floats(0, 1),
        importance=st.floats(0, 1),
        uses=st.integers(0, 1_000),
        used_at=st.integers(0, NOW),
        by_words=st.booleans(),
        is_over=st.booleans(),
        outdated_by=st.none() | st.text("abcdef", min_size=1, max_size=4),
    ),
    unique_by=lambda each: each.key,
    max_size=12,
)


@given(candidates)
def test_any_candidates_are_all_ranked_by_scores_between_nought_and_one(
    every: list[Candidate],
) -> None:
    placed = ranked(every, now=NOW, period=Period(0, NOW))
    assert sorted(one.candidate.key for one in placed) == sorted(one.key for one in every)
    assert all(0 <= one.score <= 1 for one in placed)
    assert placed == ranked(list(reversed(every)), now=NOW, period=Period(0, NOW))


def test_a_long_message_that_asks_is_not_taken_for_a_mere_question() -> None:
    short = candidate("short", says="question", words=9, vector=0.5)
    long = candidate("long", says="question", words=60, vector=0.5)
    signals = {each.candidate.key: each.signals for each in ranked([short, long], now=NOW)}
    assert (signals["short"]["asks"], signals["long"]["asks"]) == (1, 0)

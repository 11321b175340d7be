"""Scores say what they claim to: each is wrong in its own way where an answer is wrong in its own
way.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.retrieval.labelled.form import (
    Conversation,
    Dataset,
    Evidence,
    Message,
    NewStatement,
    OldStatement,
    Question,
    Session,
    Supersession,
)
from benchmarks.retrieval.place import Found
from benchmarks.retrieval.scores import ANOTHER, Ask, Scores, answered, by_language, scored

START = datetime(2026, 1, 1, tzinfo=UTC)
MESSAGES = tuple(
    Message(f"m{number}", "user", START + timedelta(days=number), f"said {number}")
    for number in range(30)
)


DATASET = Dataset(
    name="small",
    conversations=(Conversation("c", "anything", (Session("s", "ann", MESSAGES),)),),
    questions=(
        Question(
            "q1",
            "ann",
            "multi-hop",
            "two?",
            (Evidence("m1", "said"), Evidence("m2", "said")),
            "both",
        ),
        Question("q2", "ann", "no-answer", "none?"),
    ),
    supersessions=(
        Supersession(
            "s1",
            "ann",
            "changed",
            "topic",
            "now?",
            (OldStatement("m3", "old", "said", "old"), OldStatement("m4", "holds again", "said")),
            NewStatement("m5", "new", "said", "new"),
        ),
    ),
)


def message(name: str, *, is_outdated: bool = False) -> Found:
    return Found((name,), is_record=False, is_outdated=is_outdated)


def record(*names: str) -> Found:
    return Found(names, is_record=True, is_outdated=False)


def score(
    two: Sequence[Found] = (), none: Sequence[Found] = (), now: Sequence[Found] = ()
) -> Scores:
    answers = {"two?": two, "none?": none, "now?": now}
    ask: Ask = lambda user, question: answers[question]  # noqa: E731
    return scored(DATASET, ask)


def test_half_of_the_evidence_is_half_the_recall_at_the_place_where_it_comes() -> None:
    other = [message(f"m{number}") for number in range(10, 16)]
    found = score(two=[*other, record("m1"), message("m9"), message("m2")])
    assert found.recall == {5: 0.0, 10: 1.0, 20: 1.0}
    assert found.mrr == pytest.approx(1 / 7)
    assert score(two=[message("m2")]).recall[5] == 0.5


def test_new_must_come_and_before_what_is_wrong_now() -> None:
    assert score(now=[message("m4"), message("m5"), message("m3")]).new_first == 1
    assert score(now=[message("m3"), message("m5")]).new_first == 0
    assert score(now=[message("m9")]).new_first == 0


def test_what_changed_in_messages_alone_is_counted_by_itself() -> None:
    (by_records,) = DATASET.supersessions
    asked = replace(by_records, id="s2", question="told?", told_in="messages")
    both = replace(DATASET, supersessions=(by_records, asked))
    answers = {
        "two?": (),
        "none?": (),
        "now?": [message("m5")],
        "told?": [message("m3"), message("m5")],
    }
    scores = scored(both, lambda _, question: answers[question])
    assert (scores.new_first, scores.new_first_told) == (1, 0)


def test_an_old_record_leaks_anywhere_an_old_message_among_the_first_and_unmarked() -> None:
    others = [message(f"m{number}") for number in range(10, 15)]
    assert score(now=[*others, record("m3")]).stale_records == 1
    assert score(now=[record("m4")]).stale_records == 0
    assert score(now=[message("m3")]).stale_messages == 1
    assert score(now=[message("m3", is_outdated=True)]).stale_messages == 0
    assert score(now=[*others, message("m3")]).stale_messages == 0


def test_silence_is_right_where_nothing_answers_and_a_loss_where_something_does() -> None:
    silent = score()
    assert (silent.silent, silent.lost) == (1, 1)
    loud = score(two=[message("m9")], none=[message("m9")])
    assert (loud.silent, loud.lost) == (0, 0)


def test_a_question_counts_in_its_language_and_beside_among_those_of_another_language() -> None:
    english = DATASET.questions[0]
    german = replace(english, id="q3", language="de", cross_lingual=True)
    dataset = replace(DATASET, questions=(*DATASET.questions, german))
    scores = by_language(dataset, lambda user, question: [message("m9"), message("m1")])
    assert set(scores) == {"en", "de", ANOTHER}
    assert scores["de"] == scores[ANOTHER]
    assert (scores["en"].questions, scores["en"].recall, scores["en"].mrr) == (1, 0.5, 0.5)


def test_an_answer_is_right_by_what_it_cites() -> None:
    cited: dict[str, set[str] | None] = {"two?": {"m2"}, "none?": None, "now?": {"m5", "m3"}}
    right = answered(DATASET, lambda user, question: cited[question])
    assert (right.right, right.empty, right.spoke, right.new, right.old) == (1, 0, 0, 1, 0)
    cited = {"two?": None, "none?": {"m9"}, "now?": {"m3"}}
    wrong = answered(DATASET, lambda user, question: cited[question])
    assert (wrong.right, wrong.empty, wrong.spoke, wrong.new, wrong.old) == (0, 1, 1, 0, 1)

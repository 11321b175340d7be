"""Of two statements in messages alone, the later one that speaks of a change comes first where the
present is asked.
"""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from palimpsest.memory.record import Source
from palimpsest.recall.found import Candidate, FoundMemory
from palimpsest.recall.question import analysed
from palimpsest.recall.refine import newer_first

from tests.unit.recall.service import RecallService

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OLD = "I drive a green car to work."
NEW = "I switched: I drive a red car to work."


@pytest.fixture
def service(tmp_path: Path) -> RecallService:
    return RecallService(tmp_path)


def said(service: RecallService, *texts: str, role: str = "user", session: str = "talk-{}") -> None:
    for number, text in enumerate((*texts, "Which work?", "A car needs oil.")):
        service.say(text, session=session.format(number), role=role)
        service.time.advance(3600)
    service.index_all()


def test_the_later_statement_with_a_word_of_change_comes_first_and_the_older_is_marked(
    service: RecallService,
) -> None:
    said(service, OLD, NEW)
    first, second, *_ = service.recall("Which car do I drive to work? Is it green?").memories
    assert (first.content, second.content) == (NEW, OLD)
    assert (first.outdated_by, second.outdated_by) == (None, first.id)
    assert first.score >= second.score


@pytest.mark.parametrize(
    "question", ["Which green car did I drive to work?", "Which green car do I no longer drive?"]
)
def test_a_question_about_the_past_leaves_the_order(service: RecallService, question: str) -> None:
    said(service, OLD, NEW)
    found = service.recall(question).memories
    assert found[0].content == OLD
    assert all(one.outdated_by is None for one in found)


def test_an_older_statement_never_replaces_a_later_one(service: RecallService) -> None:
    said(service, NEW, OLD)
    found = service.recall("Which green car do I drive to work?").memories
    assert [one.content for one in found][:2] == [OLD, NEW]
    assert all(one.outdated_by is None for one in found)


def test_an_assistant_replaces_nothing(service: RecallService) -> None:
    said(service, OLD, NEW, role="assistant")
    assert service.recall("Which green car do I drive to work?").memories[0].content == OLD


@pytest.mark.parametrize(
    "later", ["I drive a red car to work.", "My boss drives to work, for 2 hours."]
)
def test_in_another_conversation_a_statement_that_says_nearly_the_same_needs_no_word_of_change(
    service: RecallService, later: str
) -> None:
    said(service, "I drive to work for 3 hours.", later)
    first, second, *_ = service.recall("How do I drive to work?").memories
    assert [first.content, second.content] == [later, "I drive to work for 3 hours."]
    assert second.outdated_by is None  # it may, but need not, have replaced it


def test_what_is_not_alike_replaces_nothing(service: RecallService) -> None:
    said(service, OLD, "My sister likes that work.")
    found = service.recall("Which green car do I drive to work?").memories
    assert found[0].content == OLD


@pytest.mark.parametrize(("later", "first"), [("I drive a red car to work.", OLD), (NEW, NEW)])
def test_in_one_conversation_a_correction_needs_a_word_of_change(
    service: RecallService, later: str, first: str
) -> None:
    said(service, OLD, later, session="talk")
    assert service.recall("Which work car do I drive? Is it green?").memories[0].content == first


def test_an_answer_does_not_quote_what_was_replaced(service: RecallService) -> None:
    said(service, OLD, NEW)
    answer = service.recall("Which green car do I drive to work?", answer=True).answer
    assert answer is not None
    assert "red" in answer
    assert "a green car" not in answer


def test_a_topics_current_record_stays_above_what_was_said_before_it(
    service: RecallService,
) -> None:
    said(service, OLD, NEW)
    service.keep("I drive a blue car to work.", topic="car", valid_from=service.now)
    service.index_all()
    every = {
        memory.content: memory
        for memory in service.recall("Which work car do I drive?", k=20).memories
    }
    old, new, current = every[OLD], every[NEW], every["I drive a blue car to work."]
    query = analysed("Which work car do I drive?", user="sarah", now=service.time.now())
    equal = [replace(one, score=1.0) for one in (old, current, new)]
    assert [one.id for one in newer_first(equal, query)] == [old.id, current.id, new.id]
    assert [one.id for one in newer_first([equal[0], equal[2]], query)] == [new.id, old.id]


def stated(key: str, text: str, *, score: float, day: int) -> FoundMemory:
    """A user's message in a conversation of its own."""
    moment = day * 24 * 3600 * 1000
    return FoundMemory(
        id=key,
        type="message",
        content=text,
        source=Source(session=key, seqs=(1,)),
        valid_from=moment,
        candidate=Candidate(key, {}, said_at=moment),
        speaker="user",
        score=score,
    )


def test_an_older_statement_gives_way_to_one_later_statement() -> None:
    old = stated("old", OLD, score=0.9, day=1)
    newest = stated("newest", "I now drive the red car.", score=0.5, day=4)
    middle = stated("middle", "I now drive the blue car.", score=0.4, day=3)
    asked = analysed("Which car do I drive?", user="sarah", now=NOW)
    found = newer_first([old, newest, middle], asked)
    assert [one.id for one in found] == ["newest", "old", "middle"]


def test_of_a_long_text_only_the_sentence_that_fits_the_question_can_replace_another() -> None:
    talk = "The meeting on Monday was long and everybody had two coffees before the break. " * 4
    old = stated("old", f"My boss is called Dana. {talk}", score=0.9, day=1)
    jest = f"My probation is over? Just kidding, three of them left the meeting. {talk}"
    asked = analysed("What is my boss called?", user="sarah", now=NOW)
    other = stated("other", jest, score=0.5, day=2)
    assert [one.id for one in newer_first([old, other], asked)] == ["old", "other"]
    new = stated("new", f"{talk} My new boss is called Theo.", score=0.5, day=2)
    assert [one.id for one in newer_first([old, new], asked)] == ["new", "old"]


@pytest.mark.parametrize("score", [0.12, 0.5, 0.9])
@pytest.mark.parametrize(
    "later",
    [
        "My probation is over? Just kidding.",
        "Finally some sun, I started painting the fence.",
        "no more standups at 9, they are at 11",
        "We got a new couch.",
    ],
)
def test_a_word_of_change_alone_replaces_nothing(later: str, score: float) -> None:
    boss = stated("boss", "My boss is called Dana.", score=0.9, day=1)
    other = stated("other", later, score=score, day=2)
    asked = analysed("What is my boss called?", user="sarah", now=NOW)
    assert newer_first([boss, other], asked) == [boss, other]


def test_two_values_are_no_evidence_unless_the_question_asks_for_such_a_value() -> None:
    def order(question: str, old: str, new: str) -> list[str]:
        found = [stated("old", old, score=0.9, day=1), stated("new", new, score=0.5, day=2)]
        return [one.id for one in newer_first(found, analysed(question, user="sarah", now=NOW))]

    boss = "My boss is Dana, room 12."
    assert order("What is my boss called?", boss, "I bought 3 apples.") == ["old", "new"]
    weight = "I weigh 71 kilos, I'd like to watch that."
    assert order("How much do I weigh?", weight, "The scales said 68 today!") == ["new", "old"]


@pytest.mark.parametrize(
    "question",
    ["What was my day rate again?", "Which day rate did I say I have?", "What is my day rate?"],
)
def test_the_past_tense_may_ask_for_the_present(question: str) -> None:
    old = stated("old", "My day rate is 420 pounds.", score=0.9, day=1)
    new = stated("new", "From April my day rate is 465 pounds.", score=0.5, day=2)
    found = newer_first([old, new], analysed(question, user="sarah", now=NOW))
    assert [one.id for one in found] == ["new", "old"]


def test_the_past_itself_may_be_asked_for() -> None:
    old = stated("old", "My day rate is 420 pounds.", score=0.9, day=1)
    new = stated("new", "From April my day rate is 465 pounds.", score=0.5, day=2)
    asked = analysed("What was my day rate in January?", user="sarah", now=NOW)
    assert [one.id for one in newer_first([old, new], asked)] == ["old", "new"]

import re
from datetime import timedelta
from itertools import pairwise

import pytest
from pydantic import ValidationError

from benchmarks.summaries.form import OURS, Conversation, Question, load
from benchmarks.summaries.run import Outcome, context_of, outcomes, table

CONVERSATIONS = load(OURS)
EACH = pytest.mark.parametrize("conversation", CONVERSATIONS, ids=lambda each: each.id)


def conversation_of(*turns: tuple[str, str], question: dict[str, object]) -> Conversation:
    return Conversation.model_validate(
        {
            "id": "tiny",
            "language": "en",
            "held_out": False,
            "turns": [
                {
                    "at": "2026-09-08T09:00:00Z",
                    "messages": [
                        {"role": "user", "content": asked},
                        {"role": "assistant", "content": answered},
                    ],
                }
                for asked, answered in turns
            ],
            "questions": [question],
        }
    )


def test_twenty_conversations_of_sixty_turns_have_ten_questions_each() -> None:
    assert [
        (len(conversation.turns), len(conversation.questions)) for conversation in CONVERSATIONS
    ] == [(60, 10)] * 20


def test_half_of_the_conversations_are_held_out_and_each_half_speaks_several_languages() -> None:
    for held_out in (False, True):
        half = [conversation for conversation in CONVERSATIONS if conversation.held_out == held_out]
        assert len(half) == 10
        assert len({each.language for each in half}) >= 2


@EACH
def test_each_answer_is_said_in_its_turn_or_is_the_day_of_relative_words(
    conversation: Conversation,
) -> None:
    for question in conversation.questions:
        near = conversation.turns[max(0, question.turn - 2) : question.turn]
        said = "\n".join(message.content for turn in near for message in turn.messages)
        is_said = question.is_answered_by(said)
        assert is_said or question.asks_for_a_day, question.question


@EACH
def test_no_pause_is_so_long_that_the_session_expires(conversation: Conversation) -> None:
    times = [turn.at for turn in conversation.turns]

    assert max(later - earlier for earlier, later in pairwise(times)) < timedelta(days=30)


@EACH
def test_all_turns_with_answers_have_left_the_window(conversation: Conversation) -> None:
    _, first = context_of(conversation)

    assert all(question.turn < first for question in conversation.questions)


def test_an_answer_is_found_in_whole_words_of_any_case() -> None:
    question = Question(question="Who, and how much?", answers=["Mara", "40"], turn=1)

    assert question.is_answered_by("mara paid 40.")
    assert not question.is_answered_by("Mara paid 400.")
    assert not question.is_answered_by("She paid 40.")


def test_a_question_counts_only_if_its_turn_has_left_the_window() -> None:
    short = conversation_of(
        ("I live in Bonn.", "Nice."),
        question={"question": "Where?", "answers": ["Bonn"], "turn": 1},
    )

    assert outcomes([short]) == []


def test_the_table_counts_by_half_and_by_what_is_asked_for() -> None:
    words = {"question": "Where?", "answers": ["Bonn"], "turn": 1}
    day = {"question": "When?", "answers": ["2026-09-07"], "turn": 1}
    by_words, by_day = (
        conversation_of(("I moved to Bonn yesterday.", "Nice."), question=question)
        for question in (words, day)
    )

    made = table(
        [
            Outcome(by_words, by_words.questions[0], answered=True),
            Outcome(by_day, by_day.questions[0], answered=False),
        ]
    )

    assert made.rows[-1] == ["all", "0.500 (1/2)", "1.000 (1/1)", "0.000 (0/1)"]


def test_a_question_about_a_turn_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValidationError, match="names a turn"):
        conversation_of(("Hi.", "Hello."), question={"question": "?", "answers": ["x"], "turn": 2})


@EACH
def test_no_conversation_repeats_the_story_of_another(conversation: Conversation) -> None:
    def long_texts(one: Conversation) -> set[str]:
        texts = [message.content for turn in one.turns for message in turn.messages]
        return {text for text in texts if len(re.findall(r"\w+", text)) > 8}

    others = [each for each in CONVERSATIONS if each.id != conversation.id]
    assert all(not long_texts(conversation) & long_texts(other) for other in others)

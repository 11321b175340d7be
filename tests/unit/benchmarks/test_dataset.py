import re

import pytest

from benchmarks.retrieval.labelled.dataset import OURS, Conversation, Dataset, Question, load

KINDS = ("single-hop", "multi-hop", "temporal", "preference", "assistant-said", "no-answer")
FOREIGN = {"de", "zh", "ja", "ko", "ar", "fr", "es"}
FUNCTION_WORDS = re.findall(
    r"[a-z]+",
    "a an and are as at be before by can could did do does for from had has have her his how i in "
    "into is it its long"
    " many me mi much my not of on one or our out she should that the their them they this to us "
    "was we were what when"
    " where which who whom whose why will with would",
)


@pytest.fixture(scope="module")
def ours() -> Dataset:
    return load()


def answerable(dataset: Dataset) -> list[Question]:
    return [question for question in dataset.questions if question.kind != "no-answer"]


def words(text: str) -> set[str]:
    """The words that carry meaning, cut to their first five letters so that inflections meet."""
    return {
        word[:5] for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in FUNCTION_WORDS
    }


def test_our_set_has_conversations_of_a_usual_length_over_several_sessions(ours: Dataset) -> None:
    sizes = [sum(len(session.messages) for session in each.sessions) for each in ours.conversations]
    assert len(sizes) >= 8
    assert all(40 <= size <= 90 for size in sizes), sizes
    assert all(len(conversation.sessions) >= 3 for conversation in ours.conversations)
    assert len({conversation.domain for conversation in ours.conversations}) == len(
        ours.conversations
    )


def test_our_set_has_enough_labels_of_each_kind(ours: Dataset) -> None:
    counts = ours.counts()
    english = [question for question in answerable(ours) if question.language == "en"]
    assert len(english) >= 120
    assert counts["supersessions"] >= 30
    assert all(counts[f"kind:{kind}"] >= 20 for kind in KINDS), counts
    assert {supersession.kind for supersession in ours.supersessions} == {
        "changed",
        "corrected-twice",
        "returned",
        "reworded",
    }


def test_our_set_asks_in_seven_more_languages_within_and_across(ours: Dataset) -> None:
    foreign = [question for question in ours.questions if question.language != "en"]
    assert len(foreign) >= 20
    assert {question.language for question in foreign} == FOREIGN
    within = [question for question in foreign if not question.cross_lingual]
    assert len(within) >= 10
    assert {question.language for question in within} == FOREIGN
    assert {question.language for question in foreign if question.cross_lingual} == FOREIGN


def test_our_set_lies_in_2025_and_2026_and_keeps_its_order(ours: Dataset) -> None:
    times = [message.timestamp for session in ours.sessions() for message in session.messages]
    assert {time.year for time in times} == {2025, 2026}
    for conversation in ours.conversations:
        said = [
            message.timestamp for session in conversation.sessions for message in session.messages
        ]
        assert said == sorted(said), conversation.id


def test_an_id_says_which_session_and_which_message_it_is(ours: Dataset) -> None:
    for session in ours.sessions():
        assert [message.id for message in session.messages] == [
            f"{session.id}-{number:03d}" for number in range(1, len(session.messages) + 1)
        ]


def test_several_of_our_conversations_use_tools(ours: Dataset) -> None:
    def uses_tools(conversation: Conversation) -> bool:
        roles = {message.role for session in conversation.sessions for message in session.messages}
        return "tool" in roles

    assert sum(map(uses_tools, ours.conversations)) >= 2


def test_two_of_our_users_talk_to_the_same_agent_and_one_user_to_two(ours: Dataset) -> None:
    pairs = {(session.user, session.agent) for session in ours.sessions()}
    assert len({user for user, agent in pairs if agent == "hr-assistant"}) == 2
    assert len({agent for user, agent in pairs if user == "sarah"}) == 2


def test_every_answer_is_said_by_its_own_user_in_the_words_quoted(ours: Dataset) -> None:
    for question in answerable(ours):
        assert 1 <= len(question.answer_ids) <= 4, question.id
        for evidence in question.evidence:
            assert ours.session_of(evidence.message).user == question.user, question.id
            assert evidence.quote in ours.message(evidence.message).text, question.id


def test_a_question_without_answer_has_no_evidence_and_often_another_user_could_answer_it(
    ours: Dataset,
) -> None:
    unanswerable = [question for question in ours.questions if question.kind == "no-answer"]
    assert all(not question.evidence and not question.answer for question in unanswerable)
    tempting = [question for question in unanswerable if question.elsewhere]
    assert len(tempting) >= 8
    for question in tempting:
        assert all(
            ours.session_of(each.message).user != question.user for each in question.elsewhere
        ), question.id


def test_what_is_superseded_was_said_before_what_holds(ours: Dataset) -> None:
    for supersession in ours.supersessions:
        at = [
            ours.message(message).timestamp
            for message in (*[old.message for old in supersession.old], supersession.new.message)
        ]
        assert at == sorted(set(at)), supersession.id
        assert supersession.stale, supersession.id


def test_a_stale_value_cannot_be_taken_for_the_current_one(ours: Dataset) -> None:
    for supersession in ours.supersessions:
        assert supersession.new.keyword in supersession.new.quote, supersession.id
        assert all(
            old.wrong not in supersession.new.quote for old in supersession.stale if old.wrong
        ), supersession.id


def test_no_question_is_asked_twice_of_one_user(ours: Dataset) -> None:
    asked = [(question.user, question.question) for question in ours.questions]
    asked += [(supersession.user, supersession.question) for supersession in ours.supersessions]
    assert len(asked) == len(set(asked))


def test_at_least_half_of_our_questions_share_little_wording_with_what_answers_them(
    ours: Dataset,
) -> None:
    english = [
        each for each in answerable(ours) if each.language == "en" and not each.cross_lingual
    ]

    def shared(question: Question) -> float:
        asked = words(question.question)
        answering = set().union(
            *(words(ours.message(message).text) for message in question.answer_ids)
        )
        return len(asked & answering) / len(asked)

    reworded = [question for question in english if shared(question) <= 1 / 3]
    assert len(reworded) >= len(english) / 2
    assert len(reworded) <= 0.9 * len(english)  # people do use the words they once used


def test_our_set_says_what_it_is_and_under_which_licence() -> None:
    readme = (OURS / "README.md").read_text(encoding="utf-8")
    assert "Apache-2.0" in readme
    assert all(f"`{kind}`" in readme for kind in KINDS)

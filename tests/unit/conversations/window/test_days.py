from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st
from palimpsest.conversations.message import Chat, Message
from palimpsest.conversations.weight import REPLY_PRIMING, weigh
from palimpsest.conversations.window.days import MOST_DATED, dated_message
from palimpsest.conversations.window.fit import Fitted, Material, fit
from palimpsest.conversations.window.render import transcript

from tests.unit.conversations.window.transcripts import (
    assistant,
    conversation,
    quarter,
    result,
    user,
)


def on_days(days: Sequence[int], *chats: Chat) -> list[Message]:
    """The messages, each said on a day of January 2026."""
    return [
        replace(message, created_at=f"2026-01-{day:02}T09:00:00.000Z")
        for day, message in zip(days, conversation(*chats), strict=True)
    ]


def fitted(messages: Sequence[Message], *, budget: int = 1_000) -> Fitted:
    return fit(Material(system=None, summary=None, messages=messages, budget=budget, count=quarter))


def test_a_window_says_a_new_day_once() -> None:
    days = (15, 15, 16, 16, 16)
    context = fitted(on_days(days, user("a"), assistant("b"), user("c"), assistant("d"), user("e")))

    assert [chat["content"] for chat in context.messages] == ["a", "b", "[2026-01-16]\nc", "d", "e"]


def test_a_day_that_begins_with_an_answer_is_said_with_the_next_question() -> None:
    messages = on_days((15, 16, 16, 16), user("a"), assistant("b"), user("c"), user("d"))

    assert [chat["content"] for chat in fitted(messages).messages] == [
        "a",
        "b",
        "[2026-01-16]\nc",
        "d",
    ]


def test_a_window_of_one_day_says_no_day() -> None:
    context = fitted(on_days((15, 15), user("a"), assistant("b")))

    assert context.messages == (user("a"), assistant("b"))


def test_content_in_parts_has_the_day_as_its_first_part() -> None:
    parts = [{"type": "text", "text": "see"}]
    context = fitted(on_days((15, 15, 16), user("a"), assistant("b"), user(parts)))

    assert context.messages[-1]["content"] == [{"type": "text", "text": "[2026-01-16]"}, *parts]


@given(st.lists(st.tuples(st.integers(0, 2), st.text(max_size=9)), min_size=1, max_size=12))
def test_days_are_counted_and_a_longer_window_begins_as_the_shorter_one(
    turns: list[tuple[int, str]],
) -> None:
    days = accumulate((later for later, _ in turns), initial=1)
    messages = on_days(list(days)[1:], *(user(text) for _, text in turns))

    context = fitted(messages, budget=4_000)

    weights = [weigh(chat, quarter) for chat in context.messages]
    assert context.tokens == REPLY_PRIMING + sum(weights)
    shorter = fitted(messages[:-1], budget=4_000).messages if messages[1:] else ()
    assert context.messages[: len(shorter)] == shorter


def test_a_transcript_tells_the_day_of_each_turn() -> None:
    said = on_days((15, 15, 17), user("a"), assistant("b"), user("c"))

    assert transcript(said).splitlines() == [
        '<message seq="1" day="2026-01-15" speaker="user">a</message>',
        '<message seq="2" speaker="assistant">b</message>',
        '<message seq="3" day="2026-01-17" speaker="user">c</message>',
    ]


def test_relative_words_of_speakers_get_their_date_and_data_stays_as_it_is() -> None:
    spoken, data = on_days((15, 15), user("I moved yesterday."), result("a", "run yesterday"))

    assert dated_message(spoken).chat["content"] == "I moved yesterday (2026-01-14)."
    assert dated_message(data) == data


def test_a_message_of_unknown_time_stays_as_it_is() -> None:
    (spoken,) = conversation(user("I moved yesterday."))
    unknown = replace(spoken, created_at="")

    assert dated_message(unknown) == unknown


def test_a_hostile_text_grows_by_no_more_than_its_beginning_can() -> None:
    (spoken,) = on_days((15,), user("yesterday " * 100_000))

    text = dated_message(spoken).chat["content"]

    assert len(text) < len(spoken.chat["content"]) + 2 * MOST_DATED

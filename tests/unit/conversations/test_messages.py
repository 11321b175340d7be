import pytest
from hypothesis import given
from palimpsest.conversations.message import Chat, call_ids, digest, text_of
from palimpsest.conversations.weight import IMAGE_TOKENS, MESSAGE_OVERHEAD, weigh, weighed_in
from palimpsest.conversations.window.render import shown

from tests.unit.conversations.window.transcripts import (
    assistant,
    calling,
    chats,
    message,
    quarter,
    result,
    user,
)


def words(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize(
    ("chat", "tokens"),
    [
        (user("one two three"), 3 + 1 + 3),
        (user("one two", name="sarah"), 3 + 1 + 2 + 1 + 1),
        (assistant("", refusal="no no"), 3 + 1 + 2),
        (result("call", "one two"), 3 + 1 + 2 + 1 + 1),
        (calling("a", "b", arguments="x y"), 3 + 1 + 2 * (3 + 1 + 1 + 2)),
        ({"role": "assistant"}, 3 + 1),
        (
            user([{"type": "text", "text": "one two"}, {"type": "image_url"}]),
            3 + 1 + 2 + IMAGE_TOKENS,
        ),
        (
            assistant(
                "",
                tool_calls=[
                    {"id": "a", "type": "custom", "custom": {"name": "n", "input": "x y z"}}
                ],
            ),
            12,
        ),
    ],
)
def test_a_message_weighs_its_texts_and_the_formats_overhead(chat: Chat, tokens: int) -> None:
    assert weigh(chat, words) == tokens


@given(chats())
def test_what_the_context_shows_of_a_message_weighs_the_same(spoken: list[Chat]) -> None:
    for chat in spoken:
        assert weigh(shown(chat), quarter) == weigh(chat, quarter) >= MESSAGE_OVERHEAD + 1


def test_the_text_of_a_message_is_that_of_its_parts() -> None:
    assert (
        text_of(
            user(
                [
                    {"type": "text", "text": "a"},
                    {"type": "image_url"},
                    {"type": "text", "text": "b"},
                ]
            )
        )
        == "a\nb"
    )
    assert text_of(user("a")) == "a"
    assert text_of({"role": "assistant"}) == ""


def test_saying_the_same_twice_gives_two_ids() -> None:
    once = digest(user("yes"), session="s", before="")
    assert digest(user("yes"), session="s", before=once) != once


@pytest.mark.parametrize(
    "other",
    [user("no"), assistant("yes"), user("yes", name="sarah"), {**user("yes"), "tool_call_id": "a"}],
)
def test_an_id_stands_for_what_was_said(other: Chat) -> None:
    assert digest(other, session="s", before="x") != digest(user("yes"), session="s", before="x")


def test_an_id_stands_for_its_session_and_all_before_it() -> None:
    one = digest(user(), session="s", before="x")
    assert one != digest(user(), session="t", before="x")
    assert one != digest(user(), session="s", before="y")
    assert one == digest(dict(reversed(list(user().items()))), session="s", before="x")


def test_an_id_does_not_depend_on_what_the_chat_api_adds_to_an_answer() -> None:
    assert digest(assistant(refusal="x"), session="s", before="") == digest(
        assistant(), session="s", before=""
    )


def test_a_weight_counted_in_another_encoding_is_counted_again() -> None:
    stored = message(1, user("one two"))
    assert weighed_in(stored, encoding="o200k_base", count=words) is stored
    assert weighed_in(stored, encoding="cl100k_base", count=words).tokens == 6


def test_the_ids_of_a_messages_calls() -> None:
    assert call_ids(calling("a", "b")) == ("a", "b")
    assert call_ids({"role": "assistant", "tool_calls": None}) == ()

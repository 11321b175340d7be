from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.conversations.messages import (
    IMAGE_TOKENS,
    MAX_MESSAGE_BYTES,
    MESSAGE_OVERHEAD,
    Chat,
    Draft,
    batch_hash,
    call_ids,
    check_size,
    digest,
    numbered,
    open_calls_after,
    open_calls_through,
    text_of,
    weigh,
    weighed_in,
)
from palimpsest.conversations.window.render import shown
from palimpsest.errors import TooLarge, Unprocessable

from tests.unit.conversations.window.transcripts import (
    assistant,
    calling,
    chats,
    message,
    quarter,
    result,
    system,
    user,
)


def words(text: str) -> int:
    return len(text.split())


def drafts(*said: Chat) -> list[Draft]:
    return [Draft(chat) for chat in said]


@pytest.mark.parametrize(
    ("chat", "tokens"),
    [
        (user("one two three"), 3 + 1 + 3),
        (user("one two", name="sarah"), 3 + 1 + 2 + 1 + 1),
        (assistant("", refusal="no no"), 3 + 1 + 2),
        (result("call", "one two"), 3 + 1 + 2 + 1 + 1),
        (calling("a", "b", arguments="x y"), 3 + 1 + 2 * (3 + 1 + 1 + 2)),
        ({"role": "assistant"}, 3 + 1),
        (user([{"type": "text", "text": "one two"}, {"type": "image_url"}]), 3 + 1 + 2 + IMAGE_TOKENS),
        (assistant("", tool_calls=[{"id": "a", "type": "custom", "custom": {"name": "n", "input": "x y z"}}]), 12),
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
        text_of(user([{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}])) == "a\nb"
    )
    assert text_of(user("a")) == "a"
    assert text_of({"role": "assistant"}) == ""


def test_saying_the_same_twice_gives_two_ids() -> None:
    once = digest(user("yes"), session="s", before="")
    assert digest(user("yes"), session="s", before=once) != once


@pytest.mark.parametrize(
    "other", [user("no"), assistant("yes"), user("yes", name="sarah"), {**user("yes"), "tool_call_id": "a"}]
)
def test_an_id_stands_for_what_was_said(other: Chat) -> None:
    assert digest(other, session="s", before="x") != digest(user("yes"), session="s", before="x")


def test_an_id_stands_for_its_session_and_all_before_it() -> None:
    one = digest(user(), session="s", before="x")
    assert one != digest(user(), session="t", before="x")
    assert one != digest(user(), session="s", before="y")
    assert one == digest(dict(reversed(list(user().items()))), session="s", before="x")


def test_an_id_does_not_depend_on_what_the_chat_api_adds_to_an_answer() -> None:
    assert digest(assistant(refusal="x"), session="s", before="") == digest(assistant(), session="s", before="")


def test_a_batch_is_the_same_request_if_everything_said_is_the_same() -> None:
    said = Draft(user(), metadata={"a": 1})
    assert batch_hash([said]) == batch_hash([Draft(user(), metadata={"a": 1})])
    assert batch_hash([said]) != batch_hash([Draft(user(), metadata={"a": 2})])
    assert batch_hash([said]) != batch_hash([said, said])


def test_messages_are_numbered_behind_what_is_there() -> None:
    said = drafts(user(), assistant(), user())
    made = numbered(said, [5, 6, 7], session="s", seq=9, turn=3, before="x", encoding="e", now="t")
    assert [(each.seq, each.turn, each.tokens) for each in made] == [(10, 4, 5), (11, 4, 6), (12, 5, 7)]
    assert made[1].id == digest(assistant(), session="s", before=made[0].id)


def test_numbering_in_two_batches_is_numbering_in_one() -> None:
    said = drafts(user(), calling("a"), result("a"))
    place: dict[str, Any] = {"session": "s", "encoding": "e", "now": "t"}
    whole = numbered(said, [1, 2, 3], seq=0, turn=0, before="", **place)
    first = numbered(said[:1], [1], seq=0, turn=0, before="", **place)
    rest = numbered(said[1:], [2, 3], seq=1, turn=1, before=first[-1].id, **place)
    assert (*first, *rest) == whole


def test_a_weight_counted_in_another_encoding_is_counted_again() -> None:
    stored = message(1, user("one two"))
    assert weighed_in(stored, encoding="o200k_base", count=words) is stored
    assert weighed_in(stored, encoding="cl100k_base", count=words).tokens == 6


@pytest.mark.parametrize(
    "spoken",
    [
        [result("a")],
        [calling("a"), result("b")],
        [calling("a"), result("a"), result("a")],
        [calling("a"), user(), result("a")],
        [calling("a"), calling("b"), result("a")],
    ],
)
def test_a_result_without_a_waiting_call_is_refused(spoken: list[Chat]) -> None:
    with pytest.raises(Unprocessable) as refused:
        open_calls_after(drafts(*spoken), b"")
    assert refused.value.code == "tool_message_without_call"
    assert refused.value.errors[0].field == f"messages.{len(spoken) - 1}.tool_call_id"


def test_calls_wait_for_their_results_across_appends() -> None:
    waiting = open_calls_after(drafts(user(), calling("a", "b")), b"")
    assert len(waiting) == 8
    waiting = open_calls_after(drafts(result("b")), waiting)
    assert len(waiting) == 4
    assert open_calls_after(drafts(result("a")), waiting) == b""


def test_a_system_message_does_not_end_the_wait() -> None:
    assert open_calls_after(drafts(calling("a"), system(), result("a")), b"") == b""


@given(chats(), st.integers(0, 40))
def test_the_calls_that_wait_are_the_same_in_one_batch_and_in_two(spoken: list[Chat], cut: int) -> None:
    at_once = open_calls_after(drafts(*spoken), b"")
    assert at_once == open_calls_through(spoken)
    assert at_once == open_calls_after(drafts(*spoken[cut:]), open_calls_after(drafts(*spoken[:cut]), b""))


def test_the_ids_of_a_messages_calls() -> None:
    assert call_ids(calling("a", "b")) == ("a", "b")
    assert call_ids({"role": "assistant", "tool_calls": None}) == ()


def test_a_message_larger_than_an_item_is_refused_by_its_number() -> None:
    check_size(drafts(user("x" * (MAX_MESSAGE_BYTES - 100))))
    with pytest.raises(TooLarge) as refused:
        check_size(drafts(user(), user("é" * (MAX_MESSAGE_BYTES // 2))))
    assert refused.value.code == "message_too_large"
    assert refused.value.errors[0].field == "messages.1"


def test_metadata_and_unknown_fields_count_too() -> None:
    with pytest.raises(TooLarge):
        check_size([Draft(user(), metadata={"x": "y" * MAX_MESSAGE_BYTES})])
    with pytest.raises(TooLarge):
        check_size([Draft(user(), extra={"x": "y" * MAX_MESSAGE_BYTES})])


def test_a_batch_larger_than_a_transaction_is_refused() -> None:
    with pytest.raises(TooLarge) as refused:
        check_size(drafts(*[user("x" * 350_000)] * 9))
    assert refused.value.code == "batch_too_large"

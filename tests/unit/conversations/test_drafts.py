from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.conversations.drafts import (
    Draft,
    batch_hash,
    check_size,
    numbered,
    open_calls_after,
    open_calls_through,
)
from palimpsest.conversations.message import MAX_MESSAGE_BYTES, Chat, digest
from palimpsest.errors import TooLarge, Unprocessable

from tests.unit.conversations.window.transcripts import (
    assistant,
    calling,
    chats,
    result,
    system,
    user,
)


def drafts(*said: Chat) -> list[Draft]:
    return [Draft(chat) for chat in said]


def test_a_batch_is_the_same_request_if_everything_said_is_the_same() -> None:
    said = Draft(user(), metadata={"a": 1})
    assert batch_hash([said]) == batch_hash([Draft(user(), metadata={"a": 1})])
    assert batch_hash([said]) != batch_hash([Draft(user(), metadata={"a": 2})])
    assert batch_hash([said]) != batch_hash([said, said])


def test_messages_are_numbered_behind_what_is_there() -> None:
    said = drafts(user(), assistant(), user())
    made = numbered(said, [5, 6, 7], session="s", seq=9, turn=3, before="x", encoding="e", now="t")
    assert [(each.seq, each.turn, each.tokens) for each in made] == [
        (10, 4, 5),
        (11, 4, 6),
        (12, 5, 7),
    ]
    assert made[1].id == digest(assistant(), session="s", before=made[0].id)


def test_numbering_in_two_batches_is_numbering_in_one() -> None:
    said = drafts(user(), calling("a"), result("a"))
    place: dict[str, Any] = {"session": "s", "encoding": "e", "now": "t"}
    whole = numbered(said, [1, 2, 3], seq=0, turn=0, before="", **place)
    first = numbered(said[:1], [1], seq=0, turn=0, before="", **place)
    rest = numbered(said[1:], [2, 3], seq=1, turn=1, before=first[-1].id, **place)
    assert (*first, *rest) == whole


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
def test_the_calls_that_wait_are_the_same_in_one_batch_and_in_two(
    spoken: list[Chat], cut: int
) -> None:
    at_once = open_calls_after(drafts(*spoken), b"")
    assert at_once == open_calls_through(spoken)
    assert at_once == open_calls_after(
        drafts(*spoken[cut:]), open_calls_after(drafts(*spoken[:cut]), b"")
    )


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

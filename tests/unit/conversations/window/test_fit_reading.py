from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from palimpsest.conversations.message import Chat, Message
from palimpsest.conversations.window.fit import READ_IN_CHAIN, newest, newest_turn
from palimpsest.conversations.window.turns import turns

from tests.unit.conversations.window.transcripts import (
    assistant,
    calling,
    chats,
    conversation,
    last_user_seq,
    result,
    shown,
    system,
    user,
)


class Reading:
    """Messages newest first, and how many of them have been read."""

    def __init__(self, messages: list[Message]) -> None:
        self._messages = messages
        self.read = 0

    def __iter__(self) -> Iterator[Message]:
        for message in reversed(self._messages):
            self.read += 1
            yield message


def seqs_read(messages: list[Message], *, budget: int) -> list[int]:
    kept = newest(iter(Reading(messages)), budget=budget, last_user_seq=last_user_seq(messages))
    return [message.seq for message in kept]


def test_a_window_that_fits_is_read_whole() -> None:
    held = conversation(user(), assistant(), user())
    assert seqs_read(held, budget=1_000) == [1, 2, 3]


def test_reading_stops_where_the_budget_is_full() -> None:
    held = Reading(conversation(*[user(), assistant("word " * 20)] * 5_000))
    newest(iter(held), budget=1_000, last_user_seq=9_999)
    assert held.read < 80


def test_reading_costs_the_same_at_any_length() -> None:
    reads = []
    for turns_ in (50, 5_000):
        held = Reading(conversation(*[user(), assistant("word " * 20)] * turns_))
        newest(iter(held), budget=1_000, last_user_seq=2 * turns_ - 1)
        reads.append(held.read)
    assert reads[0] == reads[1]


def test_a_turn_in_whose_middle_reading_stopped_is_left_out() -> None:
    held = conversation(user("old"), assistant("word " * 400), user("new"), assistant())
    assert seqs_read(held, budget=200) == [3, 4]


def test_a_huge_output_does_not_hide_the_rest_of_the_chain() -> None:
    held = conversation(
        user(),
        calling("a"),
        result("a", "word " * 9_000),
        calling("b"),
        result("b", "word " * 9_000),
    )
    assert seqs_read(held, budget=200) == [1, 2, 3, 4, 5]


def test_an_endless_chain_is_not_read_to_its_beginning() -> None:
    exchanges = [
        chat for n in range(2_000) for chat in (calling(f"c{n}"), result(f"c{n}", "word " * 900))
    ]
    held = Reading(conversation(user(), *exchanges))
    kept = newest(iter(held), budget=6_400, last_user_seq=1)
    assert held.read <= 2 * 6_400 // READ_IN_CHAIN
    assert kept[0].role == "assistant"


def test_the_newest_group_is_read_to_its_call() -> None:
    ids = [f"c{n}" for n in range(100)]
    held = conversation(user(), calling(*ids), *(result(each, "word " * 100) for each in ids))
    assert seqs_read(held, budget=500)[0] <= 2


def test_system_messages_are_read_past_but_not_without_end() -> None:
    held = Reading(conversation(user(), *[system("word " * 500)] * 10_000))
    newest(iter(held), budget=1_000, last_user_seq=1)
    assert held.read <= 250


def test_where_no_user_speaks_reading_ends_too() -> None:
    held = Reading(conversation(*[assistant("word " * 100)] * 5_000))
    kept = newest(iter(held), budget=1_000, last_user_seq=0)
    assert len(kept) == held.read <= 1 + 1_000 // READ_IN_CHAIN


@given(chats(), st.integers(100, 1_500))
def test_what_is_read_is_the_newest_part_and_begins_with_a_group(
    spoken: list[Chat], budget: int
) -> None:
    held = conversation(*spoken)
    kept = newest(iter(Reading(held)), budget=budget, last_user_seq=last_user_seq(held))
    assert list(kept) == held[len(held) - len(kept) :]
    assert not kept or kept[0].role != "tool"


@given(chats(), st.integers(100, 1_500))
def test_what_is_not_read_would_not_have_fitted(spoken: list[Chat], budget: int) -> None:
    held = [each for each in conversation(*spoken) if each.role not in ("system", "developer")]
    kept = newest(iter(Reading(held)), budget=budget, last_user_seq=last_user_seq(held))
    if len(kept) == len(held) or not kept or kept[0].seq > last_user_seq(held):
        return
    unread = [turn for turn in turns(held) if turn[0].seq < kept[0].seq][-1]
    assert sum(each.tokens for each in (*unread, *kept)) >= budget


def test_the_newest_turn_is_what_a_session_without_window_shows() -> None:
    held = conversation(user(), assistant(), user("new"), system(), calling("a"))
    assert [each.seq for each in newest_turn(held)] == [3, 5]
    assert newest_turn(conversation(system())) == ()


@given(chats())
def test_the_newest_turn_is_whole_and_never_empty(spoken: list[Chat]) -> None:
    held = shown(conversation(*spoken))
    assert list(newest_turn(held)) == (list(turns(held)[-1]) if held else [])

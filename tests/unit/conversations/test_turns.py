from hypothesis import given
from palimpsest.conversations.turns import groups, turns

from tests.unit.conversations.window.transcripts import assistant, calling, chats, conversation, result, shown, user


def seqs(parts: object) -> list[list[int]]:
    return [[message.seq for message in part] for part in parts]  # type: ignore[attr-defined]


def test_a_call_and_its_results_are_one_group() -> None:
    held = conversation(user(), calling("a", "b"), result("b"), result("a"), assistant())
    assert seqs(groups(held)) == [[1], [2, 3, 4], [5]]


def test_a_turn_begins_with_a_user_message() -> None:
    held = conversation(user(), assistant(), user(), user(), calling("a"), result("a"))
    assert seqs(turns(held)) == [[1, 2], [3], [4, 5, 6]]


def test_what_stands_before_the_first_user_message_is_a_turn() -> None:
    assert seqs(turns(conversation(assistant(), assistant(), user()))) == [[1, 2], [3]]


def test_where_no_user_speaks_each_group_is_a_turn() -> None:
    assert seqs(turns(conversation(assistant(), calling("a"), result("a")))) == [[1], [2, 3]]


def test_nothing_has_no_parts() -> None:
    assert turns([]) == groups([]) == []


@given(chats())
def test_parts_are_all_there_in_order_and_no_group_crosses_a_turn(spoken: list[dict[str, object]]) -> None:
    held = shown(conversation(*spoken))
    for parts in (groups(held), turns(held)):
        assert [message for part in parts for message in part] == held
        assert all(part[0].role != "tool" for part in parts)
    starts = {group[0].seq for group in groups(held)}
    assert all(turn[0].seq in starts for turn in turns(held))

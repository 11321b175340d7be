"""What is never split, and what gives way in a current chain that is too large."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from palimpsest.conversations.message import Chat
from palimpsest.conversations.weight import weigh
from palimpsest.conversations.window.render import Cut, WindowEntry
from palimpsest.conversations.window.turns import Chain, groups, turns

from tests.unit.conversations.validity import problems
from tests.unit.conversations.window.transcripts import (
    assistant,
    calling,
    chats,
    conversation,
    quarter,
    result,
    shown,
    user,
)


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
def test_parts_are_all_there_in_order_and_no_group_crosses_a_turn(
    spoken: list[dict[str, object]],
) -> None:
    held = shown(conversation(*spoken))
    for parts in (groups(held), turns(held)):
        assert [message for part in parts for message in part] == held
        assert all(part[0].role != "tool" for part in parts)
    starts = {group[0].seq for group in groups(held)}
    assert all(turn[0].seq in starts for turn in turns(held))


LONG = "word " * 800  # 1,000 tokens


def fitted(*spoken: Chat, room: int) -> tuple[list[Chat], list[Cut]]:
    entries = [WindowEntry(each.chat, each.tokens, each.seq) for each in conversation(*spoken)]
    kept, cuts = Chain(entries, quarter).fit(room)
    chats = [entry.chat for entry in kept]
    assert [entry.tokens for entry in kept] == [weigh(chat, quarter) for chat in chats]
    assert sum(entry.tokens for entry in kept) <= room
    assert problems(chats) == []
    return chats, cuts


def parts(cuts: Sequence[Cut]) -> list[tuple[int | None, str]]:
    return [(cut.seq, cut.part) for cut in cuts]


def test_tool_outputs_give_way_first_and_the_largest_of_them() -> None:
    small = "word " * 40
    spoken = (
        user(LONG),
        calling("a", "b", arguments=LONG),
        result("a", small),
        result("b", LONG * 9),
        assistant(LONG),
    )
    chats, cuts = fitted(*spoken, room=5_000)
    assert parts(cuts) == [(4, "content")]
    assert chats[:3] == list(spoken[:3])
    assert "tokens of message 4 left out" in chats[3]["content"]


def test_outputs_that_are_cut_are_cut_to_one_level_and_fill_the_room() -> None:
    ids = ("a", "b", "c")
    chats, _ = fitted(
        user(),
        calling(*ids),
        *(result(each, LONG * n) for n, each in enumerate(ids, 2)),
        room=1_000,
    )
    sizes = [quarter(chat["content"]) for chat in chats[2:]]
    assert max(sizes) - min(sizes) < 0.15 * max(sizes)
    assert sum(sizes) > 800


def test_then_arguments_are_replaced_by_json_the_largest_first() -> None:
    spoken = (
        user(),
        calling("a", arguments=json.dumps({"text": LONG * 3})),
        result("a", LONG),
        calling("b", arguments=json.dumps({"text": LONG})),
        result("b", LONG),
    )
    chats, cuts = fitted(*spoken, room=1_400)
    assert parts(cuts) == [(2, "arguments"), (3, "content"), (5, "content")]
    replaced = chats[1]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(replaced) == {"left out": "3003 tokens of message 2"}
    assert chats[3] == spoken[3]


def test_the_room_that_replaced_arguments_leave_goes_to_the_outputs() -> None:
    chats, _ = fitted(
        user(), calling("a", arguments=json.dumps([LONG * 5])), result("a", LONG), room=900
    )
    assert quarter(chats[2]["content"]) > 650


def test_a_custom_tools_input_is_replaced_by_text() -> None:
    call = {"id": "a", "type": "custom", "custom": {"name": "run", "input": LONG * 5}}
    chats, cuts = fitted(user(), assistant("", tool_calls=[call]), result("a"), room=300)
    assert parts(cuts) == [(2, "arguments")]
    assert chats[1]["tool_calls"][0]["custom"]["input"] == "[… 5000 tokens of message 2 left out …]"


def test_then_the_oldest_groups_go_whole() -> None:
    exchanges = [chat for n in range(20) for chat in (calling(f"c{n}"), result(f"c{n}", LONG))]
    chats, cuts = fitted(user("go on"), *exchanges, room=400)
    assert chats[0] == user("go on")
    gone = [cut.seq for cut in cuts if cut.part == "message"]
    assert gone == list(range(2, 2 + len(gone)))
    assert len(gone) % 2 == 0
    assert 0 < len(gone) < 40
    assert chats[-1]["tool_call_id"] == "c19"


def test_the_assistants_texts_stay_whole_while_groups_can_go() -> None:
    said = "word " * 100
    exchanges = [chat for n in range(20) for chat in (calling(f"c{n}"), result(f"c{n}", LONG))]
    chats, _ = fitted(user(), assistant(said), *exchanges, assistant("done"), room=300)
    assert chats == [user(), assistant(said), *chats[2:-1], assistant("done")]


def test_then_the_assistants_texts_are_cut() -> None:
    chats, cuts = fitted(
        user("why?"), assistant(LONG), calling("a"), result("a", LONG), assistant(LONG), room=400
    )
    assert chats[0] == user("why?")
    assert parts(cuts) == [(3, "message"), (4, "message"), (2, "content"), (5, "content")]


def test_a_refusal_is_a_text_of_the_assistants() -> None:
    chats, cuts = fitted(user("why?"), assistant("", refusal=LONG), room=200)
    assert parts(cuts) == [(2, "refusal")]
    assert "tokens of message 2 left out" in chats[1]["refusal"]


def test_many_texts_of_the_assistants_go_before_the_users_message_is_touched() -> None:
    question = "word " * 60
    chats, cuts = fitted(user(question), *[assistant(LONG)] * 50, room=150)
    assert chats[0] == user(question)
    assert len(chats) == 2
    assert parts(cuts)[:3] == [(2, "message"), (3, "message"), (4, "message")]


def test_last_the_users_message_is_cut_in_the_middle() -> None:
    chats, cuts = fitted(user("BEGIN" + LONG * 9 + "END"), room=200)
    assert parts(cuts) == [(1, "content")]
    assert chats[0]["content"].startswith("BEGIN")
    assert chats[0]["content"].endswith("END")
    assert weigh(chats[0], quarter) > 160


def test_a_huge_question_does_not_hide_the_newest_result() -> None:
    chats, cuts = fitted(
        user(LONG * 9), calling("a"), result("a"), calling("b"), result("b", LONG), room=400
    )
    assert [chat["role"] for chat in chats] == ["user", "assistant", "tool"]
    assert chats[2]["tool_call_id"] == "b"
    assert {(1, "content"), (2, "message"), (3, "message"), (5, "content")} == set(parts(cuts))


def test_the_newest_group_goes_where_it_would_leave_the_question_less_than_a_quarter() -> None:
    ids = [f"c{n}" for n in range(60)]
    chats, _ = fitted(user(LONG), calling(*ids), *(result(each, LONG) for each in ids), room=600)
    assert [chat["role"] for chat in chats] == ["user"]
    assert weigh(chats[0], quarter) > 500


def test_a_short_question_stands_beside_a_newest_group_that_just_fits() -> None:
    ids = [f"c{n}" for n in range(10)]
    spoken = (user("and?"), calling(*ids), *(result(each, LONG) for each in ids))
    chats, _ = fitted(*spoken, room=600)
    assert len(chats) == len(spoken)
    assert chats[0] == user("and?")


def test_where_no_user_speaks_something_of_the_newest_message_is_left() -> None:
    ids = [f"c{n}" for n in range(60)]
    chats, cuts = fitted(calling(*ids), *(result(each, LONG) for each in ids), room=97)
    assert chats == [assistant(chats[0]["content"])]
    assert parts(cuts) == [(seq, "message") for seq in range(1, 62)]
    assert "of message 1 left out" in chats[0]["content"]


def test_images_are_named_when_their_message_is_cut() -> None:
    image = {"type": "image_url", "image_url": {"url": "u"}}
    chats, _ = fitted(user([{"type": "text", "text": LONG}, image, image]), room=200)
    assert chats[0]["content"].endswith("[image_url left out]\n[image_url left out]")
    assert "tokens of message 1 left out" in chats[0]["content"]


def test_a_short_text_with_images_keeps_its_text() -> None:
    chats, cuts = fitted(user([{"type": "text", "text": "see"}, {"type": "image_url"}]), room=200)
    assert chats == [user("see\n[image_url left out]")]
    assert parts(cuts) == [(1, "content")]


def test_a_name_that_leaves_no_room_is_left_out() -> None:
    chats, _ = fitted(user("hello " * 200, name="n" * 300), room=100)
    assert set(chats[0]) == {"role", "content"}
    assert chats[0]["content"].startswith("hello")


@pytest.mark.parametrize("room", [97, 120, 200, 400, 900, 2_000, 4_000])
def test_the_least_that_a_chain_asks_for_keeps_the_question_whole(room: int) -> None:
    question = user("word " * 100)
    spoken = (
        question,
        assistant(LONG),
        calling("a"),
        result("a", LONG),
        calling("b"),
        result("b", LONG),
    )
    least = Chain(
        [WindowEntry(each.chat, each.tokens, each.seq) for each in conversation(*spoken)], quarter
    ).least
    chats, _ = fitted(*spoken, room=room)
    assert (chats[0] == question) >= (room >= least)

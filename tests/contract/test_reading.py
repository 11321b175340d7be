from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from palimpsest.conversations.message import Message
from palimpsest.scope import Scope, SessionScope
from palimpsest_testing.store import Store

from tests.contract.builders import Conversation, compaction, message

TEXTS = {
    "NUL": "a\x00b",
    "family of joiners": "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "right to left": "\u202eevil\u202c \u0634\u0643\u0631\u0627",
    "combining marks": "e\u0301 \u00e9 Z\u0351\u036b\u0343",
    "special token": "<|endoftext|>",
    "line separators": "\u2028\u2029\x85\r\n\t\x0b\x1f\x7f",
    "byte order mark": "\ufeffstart \ufffe \uffff",
    "beyond the plane": "\U0010ffff\U0001d11e",
    "quotes": "\"\\ \\u0041 {'json': [1]} \\\\n",
    "empty": "",
}
NUMBERS = [
    0,
    -1,
    0.1,
    -0.0,
    1e308,
    5e-324,
    1.7976931348623157e308,
    2**53 + 1,
    2**64,
    10**40,
    3.0,
    True,
    False,
    None,
]
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.fixture
def ten(talk: Conversation) -> Conversation:
    """A session of ten messages; those at 4 and 5 are withdrawn."""
    talk.begin()
    for number in range(10):
        talk.append(str(number + 1))
    talk.sessions.remove(talk.scope, first=4, last=5, whole=False)
    return talk


def seqs(messages: Any) -> list[int]:
    return [item.seq for item in messages]


def back(talk: Conversation, told: Message) -> Message:
    """The message as it is after it was stored as the session's next."""
    head = talk.known
    told = replace(told, seq=head.seq + 1)
    talk.commit(replace(head, seq=told.seq, version=head.version + 1), messages=(told,))
    (found,) = talk.sessions.messages(talk.scope, first=told.seq, last=told.seq)
    assert talk.sessions.messages_at(talk.scope, [told.seq]) == (found,)
    return found


@pytest.mark.parametrize("page", [None, 1, 3, 8, 100])
def test_messages_come_in_order_both_ways_whatever_the_page(
    store: Store, ten: Conversation, page: int | None
) -> None:
    kept = [1, 2, 3, 6, 7, 8, 9, 10]
    assert seqs(store.sessions.messages(ten.scope, first=1, last=10, page=page)) == kept
    assert (
        seqs(store.sessions.messages(ten.scope, first=1, last=10, page=page, newest_first=True))
        == kept[::-1]
    )


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (3, 6, [3, 6]),
        (4, 5, []),
        (0, 1, [1]),
        (-5, 2, [1, 2]),
        (10, 10**15, [10]),
        (7, 6, []),
        (11, 20, []),
    ],
)
def test_a_range_holds_its_ends_and_skips_gaps(
    store: Store, ten: Conversation, first: int, last: int, expected: list[int]
) -> None:
    assert seqs(store.sessions.messages(ten.scope, first=first, last=last)) == expected
    assert (
        seqs(store.sessions.messages(ten.scope, first=first, last=last, newest_first=True))
        == expected[::-1]
    )


def test_a_caller_may_stop_early(store: Store, ten: Conversation) -> None:
    found = store.sessions.messages(ten.scope, first=1, last=10, newest_first=True, page=2)
    assert seqs(islice(found, 3)) == [10, 9, 8]


def test_messages_are_found_by_their_numbers(store: Store, ten: Conversation) -> None:
    assert seqs(store.sessions.messages_at(ten.scope, [8, 1, 5, 8, 99])) == [1, 8]
    assert store.sessions.messages_at(ten.scope, []) == ()


def test_parts_of_several_sessions_are_read_together(store: Store, ten: Conversation) -> None:
    scope = ten.scope.owner.user("sarah")
    other = Conversation(store.sessions, ten.scope.owner.session("other"))
    other.begin()
    other.append("of the other session")
    asked = {ten.scope.session: [8, 1, 5, 99], "other": [1], "unknown": [1]}
    read = store.sessions.parts(scope, asked)
    assert read.epoch == 0
    assert {name: set(part.messages) for name, part in read.sessions.items()} == {
        ten.scope.session: {1, 8},
        "other": {1},
        "unknown": set(),
    }
    assert read.sessions["other"].messages[1].chat["content"] == "of the other session"
    heads = [read.sessions[name].head for name in asked]
    assert heads == [ten.known, other.known, None]


def test_many_parts_are_all_read(store: Store, talk: Conversation) -> None:
    head = talk.begin()
    for start in range(1, 251, 50):
        batch = tuple(message(seq) for seq in range(start, start + 50))
        head = talk.commit(replace(head, version=head.version + 1, seq=start + 49), messages=batch)
    asked = {talk.scope.session: range(1, 251)}
    read = store.sessions.parts(talk.scope.owner.user("sarah"), asked)
    assert set(read.sessions[talk.scope.session].messages) == set(range(1, 251))


def test_a_hundred_messages_are_found_by_their_numbers(store: Store, talk: Conversation) -> None:
    head = talk.begin()
    for start in (1, 51):
        batch = tuple(message(seq) for seq in range(start, start + 50))
        head = talk.commit(replace(head, version=head.version + 1, seq=start + 49), messages=batch)
    assert seqs(store.sessions.messages_at(talk.scope, list(range(100, 0, -1)))) == list(
        range(1, 101)
    )


def test_compactions_are_found_by_where_they_reach(store: Store, talk: Conversation) -> None:
    talk.begin()
    for last in (3, 5, 8):
        talk.append(compaction=compaction(1, last, summary=f"up to {last}", summary_tokens=last))

    def reach(**asked: Any) -> list[int]:
        return [found.last for found in store.sessions.compactions(talk.scope, **asked)]

    assert reach(first=1, last=8) == [3, 5, 8]
    assert reach(first=4, last=7) == [5]
    assert reach(first=1, last=8, newest_first=True, limit=2) == [8, 5]
    assert reach(first=9, last=8) == []
    assert store.sessions.compaction(talk.scope, 5) == compaction(
        1, 5, summary="up to 5", summary_tokens=5
    )


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_text_comes_back_byte_for_byte(store: Store, talk: Conversation, text: str) -> None:
    talk.begin()
    told = message(
        1,
        text,
        client_id=text,
        timestamp=text,
        extra={"x": text},
        metadata={text: [text, {"deep": text}]},
    )
    found = back(talk, told)
    assert found == told
    assert str(found.chat["content"]).encode() == text.encode()


def test_numbers_and_nested_data_come_back_as_they_were(store: Store, talk: Conversation) -> None:
    talk.begin()
    told = message(
        1,
        metadata={"numbers": NUMBERS, "deep": {"list": [[], {}, [{"a": None}]]}},
        encoding="cl100k_base",
    )
    found = back(talk, told)
    assert found == told
    assert [repr(number) for number in found.metadata["numbers"]] == [
        repr(number) for number in NUMBERS
    ]


def test_parts_and_tool_calls_come_back_as_they_were(store: Store, talk: Conversation) -> None:
    talk.begin()
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "lookup", "arguments": '{"q": "\\u00e9"}'},
    }
    parts = [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    ]
    for chat in ({"role": "assistant", "tool_calls": [call]}, {"role": "user", "content": parts}):
        assert back(talk, message(1, chat=chat)).chat == chat


def test_what_a_caller_changes_afterwards_is_not_stored(store: Store, talk: Conversation) -> None:
    talk.begin()
    chat = {"role": "user", "content": "as said"}
    talk.append()
    told = message(2, chat=chat)
    talk.commit(replace(talk.known, version=3, seq=2), messages=(told,))
    chat["content"] = "changed"
    assert [
        found.chat["content"] for found in store.sessions.messages(talk.scope, first=2, last=2)
    ] == ["as said"]


@hypothesis_settings(
    deadline=None,  # a store may be on another machine
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(metadata=st.dictionaries(st.text(st.characters(codec="utf-8")), JSON_VALUES, max_size=4))
def test_any_metadata_comes_back_as_it_was(
    store: Store, talk: Conversation, metadata: dict[str, Any]
) -> None:
    if talk.head is None:
        talk.begin()
    assert repr(back(talk, message(1, metadata=metadata)).metadata) == repr(metadata)


def test_sessions_do_not_see_each_other(store: Store, ten: Conversation) -> None:
    tenant = ten.scope.tenant
    others = [
        SessionScope(tenant, "tal"),
        SessionScope(tenant, "talk2"),
        SessionScope(tenant[:-1], "talk"),
        Scope(tenant).session("Talk"),
        SessionScope("talk", tenant),
    ]
    for other in others:
        assert store.sessions.open(other, settings=True).head is None
        assert seqs(store.sessions.messages(other, first=1, last=10)) == []

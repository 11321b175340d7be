"""What is read of a conversation, what of a finding holds, and how dates and words compare."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.conversations.message import Chat, text_of
from palimpsest.conversations.spoken import said_at, spoken
from palimpsest.extraction.checks import LEAST_IMPORTANCE, ConversationOwner, checked
from palimpsest.extraction.chunk import MOST_MESSAGES, Chunk, chunk_of, skip_reason
from palimpsest.extraction.finding import Finding, fitting

from tests.unit.conversations.window.transcripts import (
    assistant,
    calling,
    conversation,
    result,
    system,
    texts,
    user,
)

OWNER = ConversationOwner(tenant="acme", user="sarah", session="s")


def whole_chunk(*chats: Chat) -> Chunk:
    return chunk_of(conversation(*chats), first=1, last=len(chats), room=None)


def finding(content: str, *, quote: str | None = None, seqs: tuple[int, ...] = (1,)) -> Finding:
    return Finding("fact", content, seqs, content if quote is None else quote, importance=0.8)


def holds(quote: str, text: str) -> bool:
    return bool(
        checked(
            [finding("Rome is nice", quote=quote)], whole_chunk(user(text)), owner=OWNER
        ).findings
    )


# Chunks


@pytest.mark.parametrize(
    ("chat", "reason"),
    [
        (system("You help."), "system"),
        ({"role": "developer", "content": "You help."}, "system"),
        (result("c", "found"), "tool"),
        (calling("c"), "empty"),
        (user(" \n"), "empty"),
        (user([{"type": "image_url", "image_url": {"url": "x"}}]), "empty"),
        (user("<memory><static_memory>x</static_memory></memory>"), "recalled"),
        (user("[User Memory]\n- lives in Rome\n- likes jazz"), "recalled"),
        (user("[user memory]\n* one\n  that goes on\n* two\n"), "recalled"),
        (user("CONVERSATION SUMMARY: lives in Rome"), "recalled"),
        (user("I live in Rome"), None),
        (assistant("You live in Rome"), None),
    ],
)
def test_why_a_message_is_not_read(chat: Chat, reason: str | None) -> None:
    assert skip_reason(conversation(chat)[0]) == reason


def test_a_message_is_read_without_what_was_recalled_into_it() -> None:
    text = "Before.\n[User Memory]\n- old news\n\nAfter. <MEMORY>old\n</memory> And after."
    said = text_of(spoken(conversation(user(text))[0]).chat)
    assert "old" not in said
    assert said.split() == ["Before.", "After.", "And", "after."]


def test_a_chunk_fits_and_the_next_one_goes_on_behind_it() -> None:
    messages = conversation(*[user("x" * 400) for _ in range(10)])
    chunk = chunk_of(messages, first=1, last=10, room=300)
    assert [message.seq for message in chunk.messages] == [1, 2]
    assert (chunk.first, chunk.last) == (1, 2)


def test_a_message_larger_than_the_room_is_a_chunk_of_its_own() -> None:
    chunk = chunk_of(conversation(user("x" * 4000), user("y")), first=1, last=2, room=10)
    assert [message.seq for message in chunk.messages] == [1]


def test_messages_that_are_not_read_take_no_room_and_belong_to_the_chunk_before_them() -> None:
    chunk = chunk_of(
        conversation(user("one"), calling("c"), result("c", "x" * 4000), user("two")),
        first=1,
        last=4,
        room=40,
    )
    assert (chunk.last, dict(chunk.skipped)) == (3, {2: "empty", 3: "tool"})


def test_a_chunk_reaches_through_a_gap_to_the_end_of_its_range() -> None:
    assert chunk_of(conversation(user("one")), first=1, last=9, room=100).last == 9


@given(
    st.lists(
        st.sampled_from([user("x" * 90), user(""), system(), assistant("a" * 9)]), max_size=60
    ),
    st.integers(1, 500),
)
def test_chunk_by_chunk_every_message_is_read_or_skipped_once(chats: list[Chat], room: int) -> None:
    messages = conversation(*chats)
    seen: list[int] = []
    first = 1
    while first <= len(messages):
        chunk = chunk_of(messages[first - 1 :], first=first, last=len(messages), room=room)
        assert len(chunk.messages) <= MOST_MESSAGES
        seen += sorted([*(message.seq for message in chunk.messages), *chunk.skipped])
        first = chunk.last + 1
    assert seen == list(range(1, len(messages) + 1))


@given(st.lists(st.integers(1, 6), max_size=20), st.integers(1, 8))
def test_at_most_so_many_findings_come_through_unless_one_message_has_more(
    ends: list[int], most: int
) -> None:
    findings = [finding(str(number), seqs=(end,)) for number, end in enumerate(ends)]
    through = fitting(findings, most=most, last=6)
    within = [end for end in ends if end <= through]
    assert len(within) <= most or len(set(within)) == 1
    assert not ends or through >= min(ends)


@pytest.mark.parametrize(
    ("timestamp", "moment"),
    [
        ("2025-03-01T10:00:00+02:00", datetime(2025, 3, 1, 8, tzinfo=UTC)),
        ("2025-03-01", datetime(2025, 3, 1, tzinfo=UTC)),
        ("1740823200", datetime(2025, 3, 1, 10, tzinfo=UTC)),
        ("1740823200000", datetime(2025, 3, 1, 10, tzinfo=UTC)),
        ("2030-01-01T00:00:00Z", datetime(2026, 1, 15, 9, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime(2026, 1, 15, 9, tzinfo=UTC)),
        ("yesterday", datetime(2026, 1, 15, 9, tzinfo=UTC)),
        (None, datetime(2026, 1, 15, 9, tzinfo=UTC)),
    ],
)
def test_a_message_was_said_when_its_client_says_but_not_in_the_future(
    timestamp: str | None, moment: datetime
) -> None:
    assert said_at(replace(conversation(user("hi"))[0], timestamp=timestamp)) == moment


# What holds


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("I live in Rome", "Well, I live in Rome."),
        ("i LIVE\n in  rome.", "I live in Rome"),
        ('"I live in Rome…"', "I live in Rome, near the river"),
        ("it’s “nice”", 'it\'s "nice" here'),
        ("a < b & c", "we know that a < b & c"),
        ("a &lt; b &amp; c", "we know that a < b & c"),
        ("Ｒｏｍｅ", "in Rome"),
        ("住在北京", "我住在北京。"),
        ("J", "J"),
        ("7", "7"),
    ],
)
def test_a_quote_is_found_whatever_its_blanks_case_and_quotation_marks(
    quote: str, text: str
) -> None:
    assert holds(quote, text)


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("", "I live in Rome"),
        ("...", "I live in Rome..."),
        ("I", "I live in Rome"),
        ("live in Rom", "I live in Rome"),
        ("ive in Rome", "I live in Rome"),
        ("I live in Oslo", "I live in Rome"),
        ("I live Rome", "I live in Rome"),
    ],
)
def test_what_is_not_said_so_is_no_quote(quote: str, text: str) -> None:
    assert not holds(quote, text)


def test_a_quote_must_stand_in_a_message_that_is_cited() -> None:
    what = whole_chunk(user("I live in Rome"), user("I like jazz"))
    found = checked([finding("likes jazz", quote="like jazz", seqs=(1,))], what, owner=OWNER)
    assert (found.findings, found.dropped) == ((), {"unquoted": 1})


def test_what_was_recalled_into_a_message_can_t_be_quoted() -> None:
    what = whole_chunk(user("<memory>I live in Rome</memory> Hello!"))
    assert checked([finding("I live in Rome")], what, owner=OWNER).dropped == {"unquoted": 1}


def test_messages_that_came_before_help_to_understand_but_are_not_the_source() -> None:
    what = replace(
        whole_chunk(user("Yes.")), before=(replace(conversation(assistant("Rome?"))[0], seq=9),)
    )
    with_answer = finding("lives in Rome", quote="Yes", seqs=(9, 1))
    without = finding("lives in Rome", quote="Rome", seqs=(9,))
    assert checked([with_answer], what, owner=OWNER).findings[0].seqs == (1,)
    assert checked([without], what, owner=OWNER).dropped == {"not_given": 1}


def test_lists_and_names_are_kept_short() -> None:
    long = replace(
        finding("x y", quote="hello"),
        keywords=("Rome", "rome", " ", *(f"k{n}" for n in range(40)), "z" * 65),
        queries=tuple(f"q{n}?" for n in range(9)),
        subject="n" * 500,
        importance=7.0,
    )
    (kept,) = checked([long], whole_chunk(user("hello")), owner=OWNER).findings
    assert len(kept.keywords) == 12
    assert kept.keywords[0] == "Rome"
    assert (len(kept.queries), len(kept.subject or ""), kept.importance) == (5, 80, 1.0)


def test_a_repeated_keyword_keeps_its_first_place_and_form() -> None:
    numbered = [f"k{n}" for n in range(11)]
    repeated = replace(
        finding("x y", quote="hello"), keywords=("Rome", *numbered, "k11", "rome", "k0")
    )
    (kept,) = checked([repeated], whole_chunk(user("hello")), owner=OWNER).findings
    assert kept.keywords == ("Rome", *numbered)


@given(
    quotes=st.lists(texts | st.text(max_size=12), max_size=6),
    seqs=st.lists(st.integers(0, 5), min_size=1, max_size=3),
    spoken_texts=st.lists(texts | st.text(max_size=30), min_size=1, max_size=3),
)
def test_nothing_passes_that_no_cited_message_says(
    quotes: list[str], seqs: list[int], spoken_texts: list[str]
) -> None:
    what = whole_chunk(*(user(text) for text in spoken_texts))
    findings = [
        finding(f"number {n}", quote=quote, seqs=tuple(seqs)) for n, quote in enumerate(quotes)
    ]
    for kept in checked(findings, what, owner=OWNER).findings:
        cited = [
            _letters(text_of(message.chat)) for message in what.messages if message.seq in kept.seqs
        ]
        assert kept.importance >= LEAST_IMPORTANCE
        assert _letters(kept.quote)
        assert any(
            _letters(kept.quote) in text or _letters(unescape(kept.quote)) in text for text in cited
        )


def _letters(text: str) -> str:
    """The text without all that a quote may lack."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(letter for letter in folded if letter.isalnum())

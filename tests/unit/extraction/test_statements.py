"""How dates become absolute, words compare, and a finding becomes a statement."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.conversations.message import Message
from palimpsest.extraction.checks import statement_of
from palimpsest.extraction.finding import Finding
from palimpsest.text.dates import dated, relative_dates

from tests.unit.conversations.window.transcripts import conversation, user

THURSDAY = date(2026, 1, 15)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("yesterday", "2026-01-14"), ("the day before yesterday", "2026-01-13"), ("tonight", "2026-01-15"),
        ("the day after tomorrow", "2026-01-17"), ("last week", "week of 2026-01-05"), ("next month", "2026-02"),
        ("last year", "2025"), ("three days ago", "2026-01-12"), ("2 months ago", "2025-11"), ("in two years", "2028"),
        ("last Friday", "2026-01-09"), ("next Thursday", "2026-01-22"), ("last Thursday", "2026-01-08"),
        ("vorgestern", "2026-01-13"), ("übermorgen", "2026-01-17"), ("letzten Montag", "2026-01-12"),
        ("vor drei Wochen", "week of 2025-12-22"), ("nächstes Jahr", "2027"), ("anteayer", "2026-01-13"),
        ("hace 2 días", "2026-01-13"), ("la semana que viene", "week of 2026-01-19"), ("el lunes pasado", "2026-01-12"),
        ("avant-hier", "2026-01-13"), ("il y a deux mois", "2025-11"), ("l'année dernière", "2025"),
        ("vendredi prochain", "2026-01-16"), ("前天", "2026-01-13"), ("上周三", "2026-01-07"), ("3天前", "2026-01-12"),
        ("下个月", "2026-02"), ("一昨日", "2026-01-13"), ("先週の月曜日", "2026-01-05"), ("3ヶ月前", "2025-10"),
    ],
)  # fmt: skip
def test_a_relative_date_is_what_it_was_on_that_day(text: str, label: str) -> None:
    assert dated(text, at=THURSDAY) == f"{text} ({label})"


@pytest.mark.parametrize(
    "text",
    [
        "Guten Morgen", "Ich wohne hier", "por la mañana", "yesterday (2026-01-14)", ("yesterday, "
                                                                                     "2026-01-14"),
        "todayish", "in 1999", "vor 9999 Jahren", "999 years ago, in a galaxy", "a week", "五十天",
    ],
)  # fmt: skip
def test_what_is_no_relative_date_stays_as_it_is(text: str) -> None:
    expected = text.replace("999 years ago", "999 years ago (1027)")
    assert dated(text, at=THURSDAY) == expected


def test_a_date_that_no_calendar_has_is_left_out() -> None:
    assert dated("999 years ago", at=date(500, 1, 1)) == "999 years ago"


@given(
    st.lists(
        st.sampled_from(["yesterday ", "last week ", "昨天", "x", "in 2 days ", "(", "\n"]),
        max_size=12,
    ),
    st.dates(),
)
def test_the_text_itself_is_never_changed(parts: list[str], at: date) -> None:
    text = "".join(parts)
    written = dated(text, at=at)
    assert re.sub(r" \((?:week of )?[\d-]+\)", "", written) == text
    assert written.count(")") <= len(relative_dates(text, at=at))


def stated(message: Message, content: str = "hello", **more: object) -> object:
    found = replace(Finding("fact", content, (1,), " hello "), **more)  # type: ignore[arg-type]
    return statement_of(
        found, {1: message}, session="s", agent="a", method="model", prompt_hash="h"
    )


def test_short_notes_of_messages_are_kept_with_what_they_say() -> None:
    noted = {"channel": "mail", "n": 3, "long": "x" * 300, "deep": {"a": 1}, "none": None}
    message = replace(conversation(user("hello"))[0], metadata=noted)
    statement = stated(message)
    assert statement.metadata == {"channel": "mail", "n": 3}  # type: ignore[attr-defined]
    assert statement.source.quote == "hello"  # type: ignore[attr-defined]

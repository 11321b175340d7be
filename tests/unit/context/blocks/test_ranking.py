"""Records ranked without a model: importance, words shared with the message, recency."""

from __future__ import annotations

from typing import Any

import pytest
from palimpsest.context.blocks.ports import Item
from palimpsest.context.blocks.ranking import RecordRanking
from palimpsest.memory.record import Record, Source

NOW = 1_768_467_600_000
DAY = 24 * 3600 * 1000


def record(name: str, content: str = "", *, days: int = 0, **more: Any) -> Record:
    said_at = NOW - days * DAY
    told: dict[str, Any] = {"type": "fact", "created_at": said_at, "valid_from": said_at, **more}
    return Record(id=name, content=content or name, **told)


def ranked(*records: Record, message: str | None = None, session: str = "s") -> list[str]:
    return [
        item.id
        for item in RecordRanking(records).ranked(message, user="sarah", session=session, now=NOW)
    ]


def test_what_matters_more_comes_first() -> None:
    assert ranked(record("a", importance=0.5), record("b", importance=0.9)) == ["b", "a"]


def test_of_equal_importance_the_newer_comes_first() -> None:
    assert ranked(record("a", days=60), record("b", days=1)) == ["b", "a"]


def test_words_shared_with_the_message_bring_a_record_forward() -> None:
    records = (
        record("a", "Likes green tea", importance=0.6),
        record("b", "Works in Marketing", importance=0.7),
    )
    assert ranked(*records) == ["b", "a"]
    assert ranked(*records, message="Which tea shall I order?") == ["a", "b"]


def test_a_rare_word_says_more_than_one_that_every_record_has() -> None:
    many = [record(f"m{number}", f"Sarah said thing {number}") for number in range(9)]
    assert (
        ranked(
            *many, record("z", "The dentist is Dr. Wu"), message="When does Sarah see the dentist?"
        )[0]
        == "z"
    )


@pytest.mark.parametrize("field", ["subject", "topic_key", "keywords", "queries"])
def test_a_record_is_known_by_what_is_said_about_it_too(field: str) -> None:
    told: Any = ("vacation days",) if field in ("keywords", "queries") else "vacation_days"
    records = (record("a", importance=0.6), record("b", importance=0.5, **{field: told}))
    assert ranked(*records, message="How many days of vacation are left?") == ["b", "a"]


def test_words_of_scripts_without_spaces_are_shared_too() -> None:
    records = (record("a", "好きな食べ物は寿司です"), record("b", "住所は東京です", importance=0.6))
    assert ranked(*records, message="寿司の店を探して") == ["a", "b"]


def test_tasks_of_other_sessions_come_last() -> None:
    source = Source(session="other", seqs=(1,))
    task = record("t", type="task", importance=1.0, source=source)
    assert ranked(task, record("f", importance=0.1)) == ["f", "t"]
    assert ranked(task, record("f", importance=0.1), session="other") == ["t", "f"]


def test_what_has_expired_is_not_ranked() -> None:
    seconds = NOW // 1000
    assert ranked(
        record("a", expires_at=seconds), record("b", expires_at=seconds + 1), record("c")
    ) == ["b", "c"]


def test_an_item_says_where_it_comes_from_and_how_well_it_fits() -> None:
    source = Source(session="s", message_ids=("m",), seqs=(3,), quote="I'm Sarah")
    (item,) = RecordRanking(
        (record("a", "Is called Sarah", importance=0.9, source=source, agent="hr"),)
    ).ranked(None, user="sarah", session="s", now=NOW)
    assert item == Item(
        id="a",
        kind="fact",
        text="Is called Sarah",
        score=0.65,
        said_at=NOW,
        source=source,
        agent="hr",
    )


@pytest.mark.parametrize(
    ("user", "said", "who"),
    [
        ("sarah", record("a", "I live in Hamburg."), "Sarah"),
        (
            "sarah.de-vries",
            record("a", "Ich wohne in Hamburg.", method="pattern"),
            "Sarah De Vries",
        ),
        ("user-4711", record("a", "My dog is called Rex."), "User"),
        ("sarah", record("a", "Sarah lives in Hamburg."), None),
    ],
)
def test_a_record_in_the_users_own_words_says_who_speaks(
    user: str, said: Record, who: str | None
) -> None:
    (item,) = RecordRanking((said,)).ranked(None, user=user, session="s", now=NOW)
    assert item.who == who

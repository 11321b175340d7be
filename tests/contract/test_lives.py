"""What is deleted, and a session that is made again under its id."""

from __future__ import annotations

from dataclasses import replace

import pytest
from palimpsest.errors import CommitLost
from palimpsest_testing.store import Store

from tests.contract.builders import NOW, Conversation, compaction, key, settings


@pytest.fixture
def buried(talk: Conversation) -> Conversation:
    """A deleted session of three messages, one of them folded, one with a key; its tombstone has
    number 4.
    """
    talk.begin(due_at=NOW)
    talk.append("old 1")
    talk.append("old 2", compaction=compaction(1, 1))
    talk.append("old 3", key=key("k", 3))
    talk.mark_deleted()
    return talk


def contents(talk: Conversation) -> list[str]:
    return [
        str(message.chat["content"])
        for message in talk.sessions.messages(talk.scope, first=0, last=99)
    ]


def test_a_tombstone_is_read_as_it_is(store: Store, buried: Conversation) -> None:
    opened = store.sessions.open(buried.scope, settings=True)
    assert opened.head == buried.head
    assert opened.settings == settings(due_at=NOW)


def test_removing_takes_everything_but_the_head(store: Store, buried: Conversation) -> None:
    assert store.sessions.remove(buried.scope, first=0, last=4, whole=True) == 6
    opened = store.sessions.open(buried.scope, settings=True, key="k")
    assert (opened.head, opened.settings, opened.key) == (buried.head, None, None)
    assert contents(buried) == []
    assert store.sessions.compactions(buried.scope, first=0, last=99) == ()
    assert store.sessions.listed(buried.scope.owner, user=None, limit=9).sessions == ()


def test_removing_twice_does_no_harm(store: Store, buried: Conversation) -> None:
    store.sessions.remove(buried.scope, first=0, last=4, whole=True)
    assert store.sessions.remove(buried.scope, first=0, last=4, whole=True) == 0
    assert store.sessions.open(buried.scope).head == buried.head


@pytest.mark.not_in_process
def test_removing_a_range_keeps_the_rest(store: Store, talk: Conversation) -> None:
    talk.begin()
    for number in range(1, 36):
        talk.append(
            str(number), compaction=compaction(number, number), key=key(f"k{number}", number)
        )
    assert store.sessions.remove(talk.scope, first=3, last=33, whole=False) == 62
    assert contents(talk) == ["1", "2", "34", "35"]
    assert [found.last for found in store.sessions.compactions(talk.scope, first=1, last=99)] == [
        1,
        2,
        34,
        35,
    ]
    assert store.sessions.open(talk.scope, settings=True, key="k5").key == key("k5", 5)
    assert store.sessions.open(talk.scope, settings=True).settings == settings()


def test_removing_nothing_is_nothing(store: Store, talk: Conversation) -> None:
    assert store.sessions.remove(talk.scope, first=1, last=9, whole=True) == 0
    talk.begin()
    assert store.sessions.remove(talk.scope, first=5, last=4, whole=False) == 0


def test_a_session_made_again_goes_on_after_its_tombstone(
    store: Store, buried: Conversation
) -> None:
    buried.begin(base=4)
    buried.append("new 5")
    opened = store.sessions.open(buried.scope, settings=True)
    assert opened.head == buried.head
    assert opened.head is not None
    assert (opened.head.base, opened.head.seq, opened.head.status) == (4, 5, "active")
    assert opened.settings == settings(base=4)


def test_a_late_removal_of_the_old_life_does_not_meet_the_new(
    store: Store, buried: Conversation
) -> None:
    buried.begin(base=4)
    buried.append("new 5", key=key("k", 5), compaction=compaction(5, 5))
    store.sessions.remove(buried.scope, first=0, last=4, whole=True)
    opened = store.sessions.open(buried.scope, settings=True, key="k")
    assert (opened.head, opened.settings, opened.key) == (
        buried.head,
        settings(base=4),
        key("k", 5),
    )
    assert contents(buried) == ["new 5"]
    assert [found.last for found in store.sessions.compactions(buried.scope, first=0, last=99)] == [
        5
    ]


def test_an_empty_life_is_told_from_the_next_one(store: Store, talk: Conversation) -> None:
    talk.begin()
    talk.mark_deleted()
    talk.begin(base=1)
    assert store.sessions.remove(talk.scope, first=0, last=1, whole=True) == 0
    assert store.sessions.open(talk.scope, settings=True).settings == settings(base=1)


def test_a_key_of_an_earlier_life_does_not_block(store: Store, buried: Conversation) -> None:
    buried.begin(base=4)
    buried.append("new 5", key=key("k", 5))
    assert store.sessions.open(buried.scope, key="k").key == key("k", 5)
    with pytest.raises(CommitLost):
        buried.append("again", key=key("k", 6))


def test_a_writer_of_the_old_life_is_lost_in_the_new(store: Store, buried: Conversation) -> None:
    late = Conversation(store.sessions, buried.scope)
    late.head = replace(buried.known, status="active", version=buried.known.version - 1)
    buried.begin(base=4)
    with pytest.raises(CommitLost):
        late.append("late")
    assert contents(buried) == ["old 1", "old 2", "old 3"]


def test_rescheduling_moves_settings_in_the_list_of_what_is_due(
    store: Store, talk: Conversation
) -> None:
    talk.begin(due_at=NOW)
    store.sessions.reschedule(talk.scope, settings(due_at=NOW), due_at=NOW + 50)
    assert list(store.jobs.due(now=NOW + 49, limit=5)) == []
    assert [due.session_id for due in store.jobs.due(now=NOW + 50, limit=5)] == ["talk"]
    store.sessions.reschedule(talk.scope, settings(due_at=NOW + 50), due_at=None)
    assert list(store.jobs.due(now=NOW + 99, limit=5)) == []
    assert store.sessions.open(talk.scope, settings=True).settings == settings()


def test_a_commit_can_move_the_next_visit_alone(store: Store, talk: Conversation) -> None:
    talk.begin(due_at=NOW)
    talk.commit(replace(talk.known, version=talk.known.version + 1), visit_at=NOW + 50)
    assert list(store.jobs.due(now=NOW + 49, limit=5)) == []
    assert [due.session_id for due in store.jobs.due(now=NOW + 50, limit=5)] == ["talk"]
    assert store.sessions.open(talk.scope, settings=True).settings == settings(due_at=NOW + 50)


def test_a_visit_that_was_moved_meanwhile_is_not_moved_back(
    store: Store, talk: Conversation
) -> None:
    talk.begin(due_at=NOW)
    talk.commit(replace(talk.known, version=talk.known.version + 1), visit_at=NOW + 50)
    store.sessions.reschedule(talk.scope, settings(due_at=NOW), due_at=None)
    assert store.sessions.open(talk.scope, settings=True).settings == settings(due_at=NOW + 50)


def test_rescheduling_another_life_or_nothing_does_nothing(
    store: Store, talk: Conversation
) -> None:
    store.sessions.reschedule(talk.scope, settings(), due_at=NOW)
    assert store.sessions.open(talk.scope, settings=True).settings is None
    talk.begin(base=4, due_at=NOW)
    store.sessions.reschedule(talk.scope, settings(due_at=NOW), due_at=NOW + 50)
    assert store.sessions.open(talk.scope, settings=True).settings == settings(base=4, due_at=NOW)

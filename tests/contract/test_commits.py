from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import Any

import pytest
from palimpsest.conversations.overflow.semantic import prune
from palimpsest.conversations.ports import HeadMoved
from palimpsest.conversations.session import Commit, Head
from palimpsest.errors import CommitLost
from palimpsest.scope import SessionScope
from palimpsest_testing.store import Store

from tests.contract.builders import (
    NOW,
    STAMP,
    Conversation,
    compaction,
    job,
    key,
    message,
    settings,
)


@pytest.mark.parametrize(
    "text",
    ["word ", "äöü ", "記憶する", "😀", '"\\\n'],
    ids=["ascii", "2", "3", "4 bytes", "escapes"],
)
def test_fifty_large_messages_are_one_commit_in_any_script(
    store: Store, talk: Conversation, text: str
) -> None:
    talk.begin()
    head = talk.append("first")
    size = len(json.dumps(text, ensure_ascii=False).encode()) - 2
    said = tuple(message(seq, text * (58_000 // size)) for seq in range(2, 52))
    talk.commit(replace(head, version=head.version + 1, seq=51), messages=said)
    assert tuple(talk.sessions.messages(talk.scope, first=2, last=51)) == said


def test_a_commit_is_read_back_whole(store: Store, talk: Conversation, scope: SessionScope) -> None:
    due = NOW + 60
    head = Head(
        user="sarah",
        agent="hr",
        version=7,
        status="ended",
        base=3,
        seq=9,
        last_id="f" * 32,
        turn=2,
        last_user_seq=8,
        open_calls=b"\x00\xff\x10abcd!",
        window_start=4,
        window_tokens=11,
        window_messages=2,
        system_tokens=6,
        summary=3,
        summary_tokens=4,
        encoding="cl100k_base",
        max_tokens=1000,
        trigger=800,
        raised=100,
        job="job_1",
        compaction="pending",
        attempts=2,
        not_before=NOW,
        total_messages=9,
        total_tokens=99,
        batch="b" * 32,
        batch_first=9,
        updated_at=NOW * 1000,
        retention=60,
        expires_at=due,
        withdrawn=((5, 6), (8, 8)),
    )
    told = settings(
        base=3,
        system={"role": "system", "content": "Be brief."},
        system_seq=4,
        metadata={"a": [1]},
        due_at=due,
        memory={"strategy": "trim", "max_tokens": 900, "trigger_ratio": 0.8, "model": None},
    )
    talk.commit(head, settings=told, messages=(message(9),), key=key("k", 9))
    opened = store.sessions.open(scope, settings=True, key="k")
    assert (opened.head, opened.settings, opened.key) == (head, told, key("k", 9))
    assert store.sessions.open(scope).head == head


def test_a_redacted_message_replaces_the_stored_one_and_no_other(
    store: Store, talk: Conversation
) -> None:
    talk.begin()
    head = talk.append("My card is 4711")
    old = message(1, "My card is 4711")
    new = replace(
        old,
        chat={"role": "user", "content": "[redacted]"},
        tokens=4,
        redacted_at="2026-01-02T00:00:00.000Z",
    )
    after = replace(head, version=head.version + 1, redactions=1)
    with pytest.raises(CommitLost):
        store.sessions.commit(
            talk.scope, Commit(before=head, after=after, redacted=replace(new, seq=9))
        )
    store.sessions.commit(talk.scope, Commit(before=head, after=after, redacted=new))
    assert store.sessions.messages_at(talk.scope, [1, 9]) == (new,)
    assert store.sessions.open(talk.scope).head == after


def test_a_marked_message_replaces_the_stored_one_with_its_marks(
    store: Store, talk: Conversation
) -> None:
    talk.begin()
    head = talk.append("I own 40 horses")
    marked = replace(message(1, "I own 40 horses"), is_material=True, hidden=((2, 5),))
    after = replace(head, version=head.version + 1)
    store.sessions.commit(talk.scope, Commit(before=head, after=after, marked=(marked,)))
    assert store.sessions.messages_at(talk.scope, [1]) == (marked,)


def test_fields_that_go_back_to_their_defaults_are_read_as_such(
    store: Store, talk: Conversation
) -> None:
    talk.begin()
    talk.commit(
        replace(
            talk.known,
            version=2,
            job="job_1",
            open_calls=b"abcd",
            expires_at=NOW,
            withdrawn=((1, 2),),
        )
    )
    plain = talk.commit(
        replace(
            talk.known,
            version=3,
            job=None,
            open_calls=b"",
            expires_at=None,
            withdrawn=(),
            agent=None,
        )
    )
    assert store.sessions.open(talk.scope).head == plain


def test_a_window_pruned_by_meaning_keeps_its_pins_beside_appends_until_they_go(
    store: Store, talk: Conversation
) -> None:
    talk.begin()
    for text in ("My dog is called Rex.", "How are you?", "What is his name?"):
        talk.append(text)
    window = tuple(talk.sessions.messages(talk.scope, first=1, last=3))
    pruned = prune(
        replace(talk.known, max_tokens=100),
        window,
        budget=3 + 2 * 5,
        topic="dog name",
        near={1: 0.9},
        created_at=STAMP,
    )
    assert pruned is not None
    assert (pruned.head.pins, pruned.head.window_start) == (((1, 5),), 3)
    kept = talk.commit(
        replace(pruned.head, version=talk.known.version + 1), compaction=pruned.compaction
    )
    assert store.sessions.open(talk.scope).head == kept
    assert store.sessions.messages_at(talk.scope, [seq for seq, _ in kept.pins]) == window[:1]
    assert store.sessions.compaction(talk.scope, 2) == pruned.compaction
    assert talk.append("More.").pins == ((1, 5),)
    read = store.sessions.open(talk.scope).head
    assert read is not None
    assert (read.pins, read.tokens) == (((1, 5),), 3 + 3 * 5)
    folded = talk.commit(replace(talk.known, version=talk.known.version + 1, pins=()))
    assert store.sessions.open(talk.scope).head == folded


def test_settings_replace_those_before_whole(store: Store, talk: Conversation) -> None:
    talk.begin(due_at=NOW, system={"role": "system", "content": "Be brief."})
    plain = settings(agent=None, metadata={"plan": "b"})
    talk.commit(replace(talk.known, version=2), settings=plain)
    assert store.sessions.open(talk.scope, settings=True).settings == plain
    assert not list(store.jobs.due(now=NOW + 1, limit=5))


def test_what_is_not_there_is_none(store: Store, scope: SessionScope) -> None:
    opened = store.sessions.open(scope, settings=True, key="k")
    assert (opened.head, opened.settings, opened.key) == (None, None, None)
    assert store.sessions.open(scope).head is None
    assert store.sessions.compaction(scope, 5) is None


def test_what_is_not_asked_for_is_not_read(store: Store, talk: Conversation) -> None:
    talk.begin()
    talk.append(key=key("k", 1))
    opened = store.sessions.open(talk.scope, key="other")
    assert (opened.settings, opened.key) == (None, None)
    assert store.sessions.open(talk.scope, key="k").key == key("k", 1)


def test_only_one_of_two_beginnings_is_kept(store: Store, talk: Conversation) -> None:
    talk.begin()
    rival = Conversation(store.sessions, talk.scope)
    with pytest.raises(CommitLost):
        rival.begin(system={"role": "system", "content": "mine"})
    assert store.sessions.open(talk.scope, settings=True).settings == settings()


def test_a_commit_on_an_older_version_is_lost(store: Store, talk: Conversation) -> None:
    talk.begin()
    rival = Conversation(store.sessions, talk.scope)
    rival.head = talk.append("first")
    rival.append("second")
    with pytest.raises(CommitLost):
        talk.append("late")
    contents = [
        found.chat["content"] for found in store.sessions.messages(talk.scope, first=1, last=9)
    ]
    assert contents == ["first", "second"]


def test_a_commit_that_another_writer_came_before_tells_the_newest_head(
    store: Store, talk: Conversation
) -> None:
    before = talk.begin()
    newest = talk.append("theirs", key=key("k", 1))
    mine = replace(before, version=before.version + 1, seq=1, status="ended")
    with pytest.raises(HeadMoved) as lost:
        store.sessions.commit(
            talk.scope, Commit(before=before, after=mine, messages=(message(1, "mine"),))
        )
    assert lost.value.head == newest == store.sessions.open(talk.scope).head
    again = Commit(
        before=newest, after=replace(newest, version=newest.version + 1), key=key("k", 2)
    )
    with pytest.raises(CommitLost) as blocked:
        store.sessions.commit(talk.scope, again)
    assert not isinstance(
        blocked.value, HeadMoved
    )  # the head is as it was read: it is the key that is there


def test_a_commit_on_a_session_that_is_not_there_is_lost(store: Store, talk: Conversation) -> None:
    talk.head = Head(user="sarah", version=3)
    with pytest.raises(CommitLost):
        talk.append()
    assert store.sessions.open(talk.scope).head is None


def test_a_lost_commit_leaves_nothing_behind(store: Store, talk: Conversation) -> None:
    talk.begin()
    talk.append("kept")
    before = talk.known
    lost = Commit(
        before=before,
        after=replace(before, version=3, seq=2),
        settings=settings(agent="other"),
        messages=(message(2, "lost"), message(1, "lost: there already")),
        compaction=compaction(1, 1),
        key=key("k", 2),
        jobs=(job(talk.scope),),
    )
    with pytest.raises(CommitLost):
        store.sessions.commit(talk.scope, lost)
    opened = store.sessions.open(talk.scope, settings=True, key="k")
    assert (opened.head, opened.settings, opened.key) == (before, settings(), None)
    assert [
        found.chat["content"] for found in store.sessions.messages(talk.scope, first=1, last=9)
    ] == ["kept"]
    assert store.sessions.compactions(talk.scope, first=1, last=9) == ()
    assert store.jobs.get(talk.scope.owner, job(talk.scope).id) is None


@pytest.mark.parametrize("part", ["key", "jobs"])
def test_a_commit_is_lost_if_what_it_puts_is_there(
    store: Store, talk: Conversation, part: str
) -> None:
    parts = {"key": key("k", 1), "jobs": (job(talk.scope),)}
    told: dict[str, Any] = {part: parts[part]}
    talk.begin()
    before = talk.append(**told)
    with pytest.raises(CommitLost):
        talk.append(**told)
    assert store.sessions.open(talk.scope).head == before


def test_a_compaction_takes_the_place_of_one_that_stands_no_more(
    store: Store, talk: Conversation
) -> None:
    talk.begin()
    talk.append(compaction=compaction(1, 1, summary="first", summary_tokens=3))
    talk.append(compaction=compaction(1, 1))
    assert store.sessions.compactions(talk.scope, first=1, last=9) == (compaction(1, 1),)


def test_a_window_commit_comes_through_although_appends_came_between(
    store: Store, talk: Conversation
) -> None:
    talk.begin()
    for _ in range(4):
        talk.append()
    read = talk.commit(
        replace(talk.known, version=talk.known.version + 1, job="job_1", compaction="pending")
    )
    newest = talk.append("meanwhile")
    folded = replace(
        read,
        version=read.version + 1,
        window_start=4,
        window_tokens=read.window_tokens - 15,
        window_messages=read.window_messages - 3,
        summary=3,
        summary_tokens=7,
        job=None,
        compaction="none",
    )
    commit = Commit(before=read, after=folded, guard="window", compaction=compaction(1, 3))
    store.sessions.commit(talk.scope, commit)
    assert store.sessions.open(talk.scope).head == replace(
        newest,
        version=newest.version + 1,
        window_start=4,
        window_tokens=10,
        window_messages=2,
        summary=3,
        summary_tokens=7,
        job=None,
        compaction="none",
    )
    assert store.sessions.compaction(talk.scope, 3) == compaction(1, 3)


def test_an_append_that_read_before_a_window_commit_is_lost(
    store: Store, talk: Conversation
) -> None:
    talk.begin()
    talk.commit(replace(talk.known, version=2, job="job_1"))
    folded = replace(talk.known, version=3, window_start=5, job=None)
    store.sessions.commit(talk.scope, Commit(before=talk.known, after=folded, guard="window"))
    with pytest.raises(CommitLost):
        talk.append()


@pytest.mark.parametrize("change", [{"job": None}, {"job": "job_2"}, {"window_start": 2}])
def test_a_window_commit_is_lost_if_the_window_or_its_job_changed(
    store: Store, talk: Conversation, change: dict[str, object]
) -> None:
    talk.begin()
    read = talk.commit(replace(talk.known, version=2, job="job_1"))
    changed = talk.commit(replace(read, version=3, **change))  # type: ignore[arg-type]
    lost = Commit(
        before=read,
        after=replace(read, version=3, summary=1),
        guard="window",
        compaction=compaction(1, 1),
    )
    with pytest.raises(CommitLost):
        store.sessions.commit(talk.scope, lost)
    assert store.sessions.open(talk.scope).head == changed
    assert store.sessions.compaction(talk.scope, 1) is None


def test_of_two_window_commits_on_one_range_one_wins(store: Store, talk: Conversation) -> None:
    talk.begin()
    read = talk.commit(replace(talk.known, version=2, job="job_1"))
    folded = replace(read, version=3, window_start=2, job=None)
    commit = Commit(before=read, after=folded, guard="window", compaction=compaction(1, 1))
    store.sessions.commit(talk.scope, commit)
    with pytest.raises(CommitLost):
        store.sessions.commit(talk.scope, commit)
    assert store.sessions.open(talk.scope).head == folded


def test_a_window_commit_without_a_job_holds_while_there_is_none(
    store: Store, talk: Conversation
) -> None:
    read = talk.begin()
    folded = replace(read, version=2, window_start=2)
    store.sessions.commit(talk.scope, Commit(before=read, after=folded, guard="window"))
    assert store.sessions.open(talk.scope).head == folded


def test_a_key_blocks_until_it_has_expired(store: Store, talk: Conversation) -> None:
    talk.begin()
    talk.append(key=key("k", 1, expires_at=NOW + 1))
    with pytest.raises(CommitLost):
        talk.append(key=key("k", 2))
    later = replace(talk.known, version=talk.known.version + 1, seq=2, updated_at=(NOW + 1) * 1000)
    talk.commit(later, messages=(message(2),), key=key("k", 2))
    assert store.sessions.open(talk.scope, key="k").key == key("k", 2)


def write(talk: Conversation, contents: list[str]) -> None:
    """Append one after the other, each until it is through."""
    for content in contents:
        while True:
            talk.head = talk.sessions.open(talk.scope).head
            try:
                talk.append(content)
            except CommitLost:
                continue
            break


@pytest.mark.not_in_process
def test_writers_at_once_lose_nothing_and_keep_their_order(
    store: Store, talk: Conversation
) -> None:
    talk.begin()
    told = [[f"{name}:{number}" for number in range(5)] for name in range(6)]
    threads = [
        threading.Thread(target=write, args=(Conversation(store.sessions, talk.scope), contents))
        for contents in told
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [
        str(item.chat["content"]) for item in store.sessions.messages(talk.scope, first=1, last=100)
    ]
    assert [
        [content for content in found if content.startswith(mine[0][:2])] for mine in told
    ] == told
    head = store.sessions.open(talk.scope).head
    assert head is not None
    assert (head.seq, head.total_messages, head.window_tokens, len(found)) == (30, 30, 150, 30)

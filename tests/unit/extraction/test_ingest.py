"""Ingest: a transcript is stored once and extracted once, however often and from however many sides it comes."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palimpsest.clock import SystemClock
from palimpsest.conversations.messages import MAX_MESSAGE_BYTES, Draft
from palimpsest.errors import Conflict, TooLarge, Unprocessable
from palimpsest.jobs.job import armed
from palimpsest.jobs.kinds import RemovalPayload

from tests.unit.extraction.extraction_world import SARAH, TENANT, ExtractionWorld, transcript


def stored(world: ExtractionWorld, session: str) -> list[str]:
    found = world.sessions.messages(world.session(session), first=1, last=10**6)
    return [str(message.chat["content"]) for message in found]


def texts(number: int) -> list[str]:
    return [f"fact: number {each}" for each in range(number)]


def test_a_transcript_is_stored_and_its_job_extracts_it() -> None:
    world = ExtractionWorld()
    done = world.ingest("fact: one", "Good to know.", "fact: two")
    assert (done.created, done.appended) == (True, 3)
    assert stored(world, done.session) == ["fact: one", "Good to know.", "fact: two"]
    world.drain()
    assert world.contents() == ["one", "two"]
    assert world.report(world.job(done.job_id)).ledger.received == 3


def test_a_long_transcript_is_stored_in_batches_and_extracted_by_one_job() -> None:
    world = ExtractionWorld()
    done = world.ingest(*texts(1000))
    assert stored(world, done.session) == texts(1000)
    assert len(world.outbox) == 1
    job = world.job(done.job_id)
    assert (job.first, job.last) == (1, 1000)


def test_batches_hold_fifty_messages_and_three_megabytes() -> None:
    world = ExtractionWorld()
    sizes = []
    commit = world.sessions.commit

    def counting(scope: object, change: object) -> None:
        messages = change.messages  # type: ignore[attr-defined]
        sizes.append((len(messages), sum(len(message.chat["content"]) for message in messages)))
        commit(scope, change)  # type: ignore[arg-type]

    world.sessions.commit = counting  # type: ignore[method-assign, assignment]
    world.ingest(*[f"{each} " * 30_000 for each in range(100, 120)], *texts(60))
    assert max(number for number, _ in sizes) <= 50
    assert max(size for _, size in sizes) <= 3_000_000
    assert sum(number for number, _ in sizes) == 80


def test_the_same_transcript_again_adds_nothing_and_names_the_same_job() -> None:
    world = ExtractionWorld()
    first = world.ingest(*texts(120))
    world.drain()
    again = world.ingest(*texts(120))
    assert again == replace(first, created=False, appended=0)
    read = len(world.extractor.read)
    world.drain()
    assert len(world.extractor.read) == read


def test_a_transcript_that_goes_on_appends_only_what_is_new() -> None:
    world = ExtractionWorld()
    world.ingest(*texts(3), session="s")
    world.drain()
    done = world.ingest(*texts(5), session="s")
    world.drain()
    assert done.appended == 2
    assert stored(world, "s") == texts(5)
    assert world.extractor.read == [(1, 2, 3), (4, 5)]
    assert world.report(world.job(done.job_id)).ledger.received == 2


def test_the_beginning_of_what_is_stored_adds_nothing() -> None:
    world = ExtractionWorld()
    world.ingest(*texts(5), session="s")
    done = world.ingest(*texts(2), session="s")
    assert done.appended == 0
    assert stored(world, "s") == texts(5)


def test_a_transcript_goes_on_from_what_was_appended_message_by_message() -> None:
    world = ExtractionWorld()
    for draft in transcript(texts(3)):
        world.put(draft.chat)
    assert world.ingest(*texts(4), session="s").appended == 1
    assert stored(world, "s") == texts(4)


@pytest.mark.parametrize("other", [["fact: number 0", "else"], ["else", *texts(4)], [*texts(2), "else"]])
def test_another_history_is_a_conflict_and_nothing_is_written(other: list[str]) -> None:
    world = ExtractionWorld()
    world.ingest(*texts(3), session="s")
    with pytest.raises(Conflict) as caught:
        world.ingest(*other, session="s")
    assert caught.value.code == "transcript_diverged"
    assert stored(world, "s") == texts(3)


def test_an_append_in_between_is_a_conflict_and_not_a_mixture() -> None:
    world = ExtractionWorld()
    world.ingest(*texts(3), session="s")

    def slip_in(step: str) -> None:
        if step == "before commit":
            world.sessions.state.faults = lambda _: None
            world.say("meanwhile")

    world.sessions.state.faults = slip_in
    with pytest.raises(Conflict) as caught:
        world.ingest(*texts(5), session="s")
    assert caught.value.code == "transcript_diverged"
    assert stored(world, "s") == [*texts(3), "meanwhile"]


def test_withdrawn_messages_are_no_part_of_the_history() -> None:
    world = ExtractionWorld()
    world.ingest(*texts(4), session="s")
    partition = world.sessions.state.partitions["acme", "s"]
    assert partition.head is not None
    second = partition.messages.get(2)
    assert second is not None
    partition.head = replace(partition.head, withdrawn=((3, 4),), last_id=second.id)
    done = world.ingest(*texts(4), session="s")
    assert done.appended == 2
    assert stored(world, "s") == [*texts(4), *texts(4)[2:]]
    assert world.ingest(*texts(3), session="s").appended == 0


def test_another_s_session_is_refused() -> None:
    world = ExtractionWorld()
    world.ingest(*texts(2), session="s")
    with pytest.raises(Conflict) as caught:
        world.ingest_transcript(TENANT.user("bob"), transcript(texts(2)), session_id="s")
    assert caught.value.code == "owner_mismatch"


def test_two_users_with_the_same_transcript_share_nothing() -> None:
    world = ExtractionWorld()
    sarah = world.ingest(*texts(2))
    bob = world.ingest_transcript(TENANT.user("bob"), transcript(texts(2)))
    assert sarah.session != bob.session
    world.drain()
    assert len(world.records()) == 2


def test_eight_identical_ingests_at_once_end_as_one() -> None:
    world = ExtractionWorld(clock=SystemClock())
    together = threading.Barrier(8)

    def ingest(_: int) -> object:
        together.wait(5)
        return world.ingest(*texts(120))

    with ThreadPoolExecutor(8) as callers:
        done = list(callers.map(ingest, range(8)))
    with ThreadPoolExecutor(8) as workers:
        list(workers.map(world.handle, world.outbox * 8))
    world.drain()
    assert len({each.job_id for each in done}) == 1  # type: ignore[attr-defined]
    assert sum(each.appended for each in done) == 120  # type: ignore[attr-defined]
    assert stored(world, done[0].session) == texts(120)  # type: ignore[attr-defined]
    assert world.contents() == sorted(text[6:] for text in texts(120))
    assert len(world.outbox) == len({job.id for job in world.outbox})


def test_a_crash_between_batches_is_mended_by_the_next_ingest() -> None:
    world = ExtractionWorld()
    commits = 0

    def crash(step: str) -> None:
        nonlocal commits
        commits += step == "after commit"
        if commits == 2:
            raise RuntimeError("killed")

    world.sessions.state.faults = crash
    with pytest.raises(RuntimeError):
        world.ingest(*texts(120))
    world.sessions.state.faults = lambda _: None
    done = world.ingest(*texts(120))
    world.drain()
    assert stored(world, done.session) == texts(120)
    assert len(world.contents()) == 120


def test_nothing_is_written_of_a_transcript_that_can_t_be() -> None:
    world = ExtractionWorld()
    good = transcript(texts(60))
    orphan = Draft({"role": "tool", "tool_call_id": "c", "content": "?"})
    huge = Draft({"role": "user", "content": "x" * MAX_MESSAGE_BYTES})
    for last, error in ((orphan, Unprocessable), (huge, TooLarge)):
        with pytest.raises(error) as caught:
            world.ingest_transcript(SARAH, [*good, last], session_id="s")
        assert caught.value.errors[0].field.startswith("messages.60")
    for length in (0, 1001):
        with pytest.raises(Unprocessable):
            world.ingest_transcript(SARAH, transcript(texts(length)), session_id="s")
    assert stored(world, "s") == []


def test_tool_calls_may_be_cut_between_batches() -> None:
    world = ExtractionWorld()
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    drafts = [
        *transcript(texts(49)),
        Draft({"role": "assistant", "content": "", "tool_calls": [call]}),
        Draft({"role": "tool", "tool_call_id": "c1", "content": "found"}),
    ]
    done = world.ingest_transcript(SARAH, drafts, session_id="s")
    assert done.appended == 51


def erase(world: ExtractionWorld) -> None:
    world.memories.erase(
        SARAH,
        epoch=0,
        job=armed(tenant="acme", kind="delete", payload=RemovalPayload(), session="all", first=0, last=0, now=0),
    )


def test_a_user_who_was_erased_may_come_back_with_the_same_transcript() -> None:
    world = ExtractionWorld()
    old = world.ingest(*texts(3))
    named = world.ingest("fact: in a named one", session="s")
    erase(world)
    new = world.ingest(*texts(3))
    again = world.ingest("fact: in a named one", session="s")
    for job in world.outbox:
        world.handle(job)
    assert new.session != old.session
    assert (new.appended, again.appended) == (3, 1)
    assert world.job(old.job_id).error == world.job(named.job_id).error == "erased"
    assert len(world.contents()) == 4


@settings(max_examples=60, deadline=None)
@given(lengths=st.lists(st.integers(1, 12), min_size=1, max_size=6), room=st.sampled_from([50, 120, 10_000]))
def test_a_transcript_that_comes_in_any_lengths_is_stored_and_extracted_once(lengths: list[int], room: int) -> None:
    world = ExtractionWorld()
    world.extractor.room = room
    for length in lengths:
        world.ingest(*texts(length), session="s")
        if length % 2:
            world.drain()
    world.drain()
    longest = texts(max(lengths))
    assert stored(world, "s") == longest
    assert sorted(seq for chunk in world.extractor.read for seq in chunk) == list(range(1, len(longest) + 1))
    assert world.contents() == sorted(text[6:] for text in longest)

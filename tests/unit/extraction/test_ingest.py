"""Ingest: a transcript is stored once and extracted once, however often and from however many sides
it comes.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palimpsest.clock import SystemClock
from palimpsest.conversations.drafts import Draft
from palimpsest.conversations.message import MAX_MESSAGE_BYTES
from palimpsest.conversations.payloads import RemovalPayload
from palimpsest.errors import Conflict, TooLarge, Unprocessable
from palimpsest.jobs.job import armed

from tests.service import SARAH, TENANT
from tests.unit.extraction.service import ExtractionService, transcript


def stored(service: ExtractionService, session: str) -> list[str]:
    found = service.sessions.messages(service.session(session), first=1, last=10**6)
    return [str(message.chat["content"]) for message in found]


def texts(number: int) -> list[str]:
    return [f"fact: number {each}" for each in range(number)]


def test_a_transcript_is_stored_and_its_job_extracts_it() -> None:
    service = ExtractionService()
    done = service.ingest("fact: one", "Good to know.", "fact: two")
    assert (done.created, done.appended) == (True, 3)
    assert stored(service, done.session) == ["fact: one", "Good to know.", "fact: two"]
    service.drain()
    assert service.contents() == ["one", "two"]
    assert service.report(service.job(done.job_id)).ledger.received == 3


def test_a_long_transcript_is_stored_in_batches_and_extracted_by_one_job() -> None:
    service = ExtractionService()
    done = service.ingest(*texts(1000))
    assert stored(service, done.session) == texts(1000)
    assert len(service.outbox) == 1
    job = service.job(done.job_id)
    assert (job.first, job.last) == (1, 1000)


def test_batches_hold_fifty_messages_and_three_megabytes() -> None:
    service = ExtractionService()
    sizes = []
    commit = service.sessions.commit

    def counting(scope: object, change: object) -> None:
        messages = change.messages  # type: ignore[attr-defined]
        sizes.append((len(messages), sum(len(message.chat["content"]) for message in messages)))
        commit(scope, change)  # type: ignore[arg-type]

    service.sessions.commit = counting  # type: ignore[method-assign, assignment]
    service.ingest(*[f"{each} " * 30_000 for each in range(100, 120)], *texts(60))
    assert max(number for number, _ in sizes) <= 50
    assert max(size for _, size in sizes) <= 3_000_000
    assert sum(number for number, _ in sizes) == 80


def test_without_a_session_a_transcript_that_grew_is_the_same_session() -> None:
    service = ExtractionService()
    first = service.ingest(*texts(3))
    grown = service.ingest(*texts(5))
    assert (grown.session, grown.created, grown.appended) == (first.session, False, 2)
    assert stored(service, first.session) == texts(5)


def test_transcripts_that_only_begin_alike_are_sessions_of_their_own_and_grow_apart() -> None:
    service = ExtractionService()
    one = service.ingest("Hi", "Hello!", "fact: one")
    two = service.ingest("Hi", "Hello!", "fact: two")
    three = service.ingest("Hi", "Good morning!", "fact: three")
    assert len({one.session, two.session, three.session}) == 3
    for done, said in ((one, "fact: one"), (two, "fact: two")):
        grown = service.ingest("Hi", "Hello!", said, "Noted.")
        assert (grown.session, grown.appended) == (done.session, 1)
        assert stored(service, done.session) == ["Hi", "Hello!", said, "Noted."]


def test_the_same_transcript_again_adds_nothing_and_names_the_same_job() -> None:
    service = ExtractionService()
    first = service.ingest(*texts(120))
    service.drain()
    again = service.ingest(*texts(120))
    assert again == replace(first, created=False, appended=0)
    read = len(service.extractor.read)
    service.drain()
    assert len(service.extractor.read) == read


def test_a_transcript_that_goes_on_appends_only_what_is_new() -> None:
    service = ExtractionService()
    service.ingest(*texts(3), session="s")
    service.drain()
    done = service.ingest(*texts(5), session="s")
    service.drain()
    assert done.appended == 2
    assert stored(service, "s") == texts(5)
    assert service.extractor.read == [(1, 2, 3), (4, 5)]
    assert service.report(service.job(done.job_id)).ledger.received == 2


def test_the_beginning_of_what_is_stored_adds_nothing() -> None:
    service = ExtractionService()
    service.ingest(*texts(5), session="s")
    done = service.ingest(*texts(2), session="s")
    assert done.appended == 0
    assert stored(service, "s") == texts(5)


def test_a_transcript_goes_on_from_what_was_appended_message_by_message() -> None:
    service = ExtractionService()
    for draft in transcript(texts(3)):
        service.put(draft.chat)
    assert service.ingest(*texts(4), session="s").appended == 1
    assert stored(service, "s") == texts(4)


@pytest.mark.parametrize(
    "other", [["fact: number 0", "else"], ["else", *texts(4)], [*texts(2), "else"]]
)
def test_another_history_is_a_conflict_and_nothing_is_written(other: list[str]) -> None:
    service = ExtractionService()
    service.ingest(*texts(3), session="s")
    with pytest.raises(Conflict) as caught:
        service.ingest(*other, session="s")
    assert caught.value.code == "transcript_diverged"
    assert stored(service, "s") == texts(3)


def test_an_append_in_between_is_a_conflict_and_not_a_mixture() -> None:
    service = ExtractionService()
    service.ingest(*texts(3), session="s")

    def slip_in(step: str) -> None:
        if step == "before commit":
            service.sessions.state.faults = lambda _: None
            service.say("meanwhile")

    service.sessions.state.faults = slip_in
    with pytest.raises(Conflict) as caught:
        service.ingest(*texts(5), session="s")
    assert caught.value.code == "transcript_diverged"
    assert stored(service, "s") == [*texts(3), "meanwhile"]


def test_withdrawn_messages_are_no_part_of_the_history() -> None:
    service = ExtractionService()
    service.ingest(*texts(4), session="s")
    partition = service.sessions.state.partitions["acme", "s"]
    assert partition.head is not None
    second = partition.messages.get(2)
    assert second is not None
    partition.head = replace(partition.head, withdrawn=((3, 4),), last_id=second.id)
    done = service.ingest(*texts(4), session="s")
    assert done.appended == 2
    assert stored(service, "s") == [*texts(4), *texts(4)[2:]]
    assert service.ingest(*texts(3), session="s").appended == 0


def test_another_s_session_is_refused() -> None:
    service = ExtractionService()
    service.ingest(*texts(2), session="s")
    with pytest.raises(Conflict) as caught:
        service.ingest_transcript(TENANT.user("bob"), transcript(texts(2)), session_id="s")
    assert caught.value.code == "owner_mismatch"


def test_two_users_with_the_same_transcript_share_nothing() -> None:
    service = ExtractionService()
    sarah = service.ingest(*texts(2))
    bob = service.ingest_transcript(TENANT.user("bob"), transcript(texts(2)))
    assert sarah.session != bob.session
    service.drain()
    assert len(service.records()) == 2


def test_eight_identical_ingests_at_once_end_as_one() -> None:
    service = ExtractionService(clock=SystemClock())
    together = threading.Barrier(8)

    def ingest(_: int) -> object:
        together.wait(30)
        return service.ingest(*texts(120))

    with ThreadPoolExecutor(8) as callers:
        done = list(callers.map(ingest, range(8)))
    with ThreadPoolExecutor(8) as workers:
        list(workers.map(service.handle, service.outbox * 8))
    service.drain()
    assert len({each.job_id for each in done}) == 1  # type: ignore[attr-defined]
    assert sum(each.appended for each in done) == 120  # type: ignore[attr-defined]
    assert stored(service, done[0].session) == texts(120)  # type: ignore[attr-defined]
    assert service.contents() == sorted(text[6:] for text in texts(120))
    assert len(service.outbox) == len({job.id for job in service.outbox})


def test_a_crash_between_batches_is_mended_by_the_next_ingest() -> None:
    service = ExtractionService()
    commits = 0

    def crash(step: str) -> None:
        nonlocal commits
        commits += step == "after commit"
        if commits == 2:
            raise RuntimeError("killed")

    service.sessions.state.faults = crash
    with pytest.raises(RuntimeError):
        service.ingest(*texts(120))
    service.sessions.state.faults = lambda _: None
    done = service.ingest(*texts(120))
    service.drain()
    assert stored(service, done.session) == texts(120)
    assert len(service.contents()) == 120


def test_nothing_is_written_of_a_transcript_that_can_t_be() -> None:
    service = ExtractionService()
    good = transcript(texts(60))
    orphan = Draft({"role": "tool", "tool_call_id": "c", "content": "?"})
    huge = Draft({"role": "system", "content": "x" * MAX_MESSAGE_BYTES})
    for last, error in ((orphan, Unprocessable), (huge, TooLarge)):
        with pytest.raises(error) as caught:
            service.ingest_transcript(SARAH, [*good, last], session_id="s")
        assert caught.value.errors[0].field.startswith("messages.60")
    for length in (0, 1001):
        with pytest.raises(Unprocessable):
            service.ingest_transcript(SARAH, transcript(texts(length)), session_id="s")
    assert stored(service, "s") == []


def test_tool_calls_may_be_cut_between_batches() -> None:
    service = ExtractionService()
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    drafts = [
        *transcript(texts(49)),
        Draft({"role": "assistant", "content": "", "tool_calls": [call]}),
        Draft({"role": "tool", "tool_call_id": "c1", "content": "found"}),
    ]
    done = service.ingest_transcript(SARAH, drafts, session_id="s")
    assert done.appended == 51


def erase(service: ExtractionService) -> None:
    service.memories.erase(
        SARAH,
        epoch=0,
        job=armed(
            tenant="acme",
            kind="delete",
            payload=RemovalPayload(),
            session="all",
            first=0,
            last=0,
            now=0,
        ),
    )


def test_a_user_who_was_erased_may_come_back_with_the_same_transcript() -> None:
    service = ExtractionService()
    old = service.ingest(*texts(3))
    named = service.ingest("fact: in a named one", session="s")
    erase(service)
    new = service.ingest(*texts(3))
    again = service.ingest("fact: in a named one", session="s")
    for job in service.outbox:
        service.handle(job)
    assert new.session != old.session
    assert (new.appended, again.appended) == (3, 1)
    assert service.job(old.job_id).error == service.job(named.job_id).error == "erased"
    assert len(service.contents()) == 4


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=6),
    room=st.sampled_from([50, 120, 10_000]),
)
def test_a_transcript_that_comes_in_any_lengths_is_stored_and_extracted_once(
    lengths: list[int], room: int
) -> None:
    service = ExtractionService()
    service.extractor.room = room
    for length in lengths:
        service.ingest(*texts(length), session="s")
        if length % 2:
            service.drain()
    service.drain()
    longest = texts(max(lengths))
    assert stored(service, "s") == longest
    assert sorted(seq for chunk in service.extractor.read for seq in chunk) == list(
        range(1, len(longest) + 1)
    )
    assert service.contents() == sorted(text[6:] for text in longest)

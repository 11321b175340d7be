"""What an extraction may remember: what the messages bear out, of nobody else, when it was said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from palimpsest.extraction.finding import Finding
from palimpsest.jobs.job import Job
from palimpsest.memory.filters import MemoryFilter
from palimpsest.memory.ports import MemoryCommit
from palimpsest.offline.extractor import PatternExtractor
from palimpsest.text.analyser import topic_key

from tests.service import SARAH, TENANT
from tests.unit.extraction.service import ExtractionService, asked


def finding(
    content: str, *, quote: str | None = None, seqs: tuple[int, ...] = (1,), **more: object
) -> Finding:
    return Finding("fact", content, seqs, quote or content, importance=0.8, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (finding("likes rock", quote="I like rock"), "unquoted"),
        (finding("likes jazz", quote="I like jazz", seqs=(9,)), "not_given"),
        (finding("likes jazz", quote="I like jazz", seqs=(1, 9)), "not_given"),
        (finding("user_id: bob likes jazz", quote="I like jazz"), "another_user"),
        (finding("likes jazz", quote="I like jazz", subject="user #42"), "another_user"),
        (finding("likes jazz", quote="I like jazz", claims={"user_id": "bob"}), "another_user"),
        (finding("likes jazz", quote="I like jazz", claims={"tenant": "other"}), "another_user"),
        (finding("likes jazz", quote="I like jazz", claims={"session_id": "t"}), "another_user"),
        (replace(finding("likes jazz", quote="I like jazz"), importance=0.4), "unimportant"),
        (replace(finding("likes jazz", quote="I like jazz"), type="delete"), "malformed"),
        (finding("...", quote="I like jazz"), "malformed"),
        (finding("x" * 4001, quote="I like jazz"), "too_long"),
    ],
)
def test_what_the_messages_do_not_bear_out_is_dropped_and_counted(
    found: Finding, reason: str
) -> None:
    service, job = asked("I like jazz")
    service.extractor.finds = lambda _: [found]
    service.drain()
    assert service.records() == []
    assert service.report(job).ledger.dropped == {reason: 1}
    assert service.report(job).ledger.extracted == 1


def test_whose_memory_it_is_comes_from_the_job_alone() -> None:
    """A finding that says its own user's ids says nothing new; there is no way to say another's."""
    service, _ = asked("I like jazz")
    claims = {"user_id": "sarah", "tenant": "acme", "session": "s"}
    service.extractor.finds = lambda _: [finding("likes jazz", quote="like jazz", claims=claims)]
    service.drain()
    assert service.contents() == ["likes jazz"]
    assert service.memories.listed(TENANT.user("bob"), limit=10).records == ()


def test_the_same_is_said_once_in_a_batch() -> None:
    service, job = asked("I like jazz. I like Jazz!")
    service.extractor.finds = lambda _: [
        finding("likes jazz", quote="like jazz"),
        finding("Likes  jazz.", quote="Jazz"),
    ]
    service.drain()
    assert len(service.records()) == 1
    assert service.report(job).ledger.dropped == {"repeated": 1}


def test_recalled_text_that_is_fed_back_is_not_remembered_again() -> None:
    service = ExtractionService()
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "search_memory_tool", "arguments": "{}"},
    }
    recalled = "[User Memory]\n- fact: lives in Rome\n- fact: likes jazz"
    service.put(
        {"role": "user", "content": "What do you know of me?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": recalled},
        {"role": "user", "content": f"{recalled}\n\nfact: new"},
        {
            "role": "user",
            "content": "<memory><static_memory>fact: old</static_memory></memory> fact: newer",
        },
        {"role": "assistant", "content": "<memory>fact: never closed"},
        {"role": "user", "content": "CONVERSATION SUMMARY: fact: summed up"},
    )
    job = service.ask()
    service.drain()
    assert service.contents() == ["new", "newer"]
    assert service.report(job).ledger.reasons == {"empty": 1, "tool": 1, "recalled": 2}


def test_what_was_removed_is_not_extracted_again_from_the_same_messages() -> None:
    service, _ = asked("fact: one", "fact: two")
    service.drain()
    gone = service.records()[0]
    service.memories.commit(SARAH, MemoryCommit(epoch=0, removed=(gone,)))
    state = service.memories.known["acme", "sarah"].era
    state.progress["s"] = replace(
        state.progress["s"], through=0
    )  # as if the table had been restored
    service.sessions.state.jobs.clear()
    service.handle(_armed_again(service))
    assert gone.content not in service.contents()
    assert service.memories.lines(SARAH, "s", first=1, last=1)[0].dropped == {"removed": 1}


def _armed_again(service: ExtractionService) -> Job:
    partition = service.sessions.state.partitions["acme", "s"]
    assert partition.head is not None
    partition.head = replace(partition.head, armed_seq=0)
    return service.ask()


def test_what_was_removed_may_be_said_anew() -> None:
    service, _ = asked("fact: one")
    service.drain()
    service.memories.commit(SARAH, MemoryCommit(epoch=0, removed=tuple(service.records())))
    service.say("fact: one")
    service.handle(service.ask())
    assert service.contents() == ["one"]


def test_a_relative_date_becomes_absolute_from_when_it_was_said() -> None:
    service = ExtractionService()
    service.say("event: ran a marathon yesterday", timestamp="2025-11-03T08:00:00+01:00")
    service.handle(service.ask())
    (record,) = service.records()
    assert record.content == "ran a marathon yesterday (2025-11-02)"
    assert record.keywords == ("2025-11-02",)
    assert record.valid_from == 1_762_153_200_000


@pytest.mark.parametrize(
    "timestamp", ["2027-01-01T00:00:00Z", "soon", "", None, "-1", "9999999999999"]
)
def test_a_client_s_clock_never_sets_a_time_after_the_server_s(timestamp: str | None) -> None:
    service = ExtractionService()
    service.say("fact[residence]: lives in Rome", timestamp=timestamp)
    service.handle(service.ask())
    service.time.advance(1)
    service.say("fact[residence]: lives in Oslo")
    service.handle(service.ask())
    assert service.records()[0].valid_from == int(service.clock.now().timestamp() - 1) * 1000
    assert service.current("residence") == "lives in Oslo"


def test_works_at_a_later_b_corrected_twice_and_reworded_leaves_the_newest_current() -> None:
    service = ExtractionService()
    said = [
        "works at Acme",
        "works at Bolt",
        "is working at Bolt",
        "works at Core",
        "works at Acme",
    ]
    for content in said:
        service.time.advance(60)
        service.say(f"fact[employer]: {content}")
        service.handle(service.ask())
    assert service.current("employer") == "works at Acme"
    chain = [
        record.content for record in service.memories.versions(SARAH, topic_key("employer") or "")
    ]
    assert chain == [
        "works at Acme",
        "works at Bolt",
        "works at Bolt",
        "works at Core",
        "works at Acme",
    ]


def test_conversations_that_arrive_out_of_order_leave_the_newest_statement_current() -> None:
    service = ExtractionService()
    for month, city in ((3, "Rome"), (1, "Oslo"), (2, "Bern")):
        service.say(
            f"fact[residence]: lives in {city}",
            session=city,
            timestamp=f"2025-0{month}-01T00:00:00Z",
        )
        service.handle(service.ask(city))
    assert service.current("residence") == "lives in Rome"
    assert [record.content[9:] for record in service.memories.versions(SARAH, "residence")] == [
        "Oslo",
        "Bern",
        "Rome",
    ]


def test_a_correction_of_one_half_of_a_sentence_leaves_the_other_half() -> None:
    service = ExtractionService()
    service.extractor = PatternExtractor()
    service.wire_workers()
    first = "I live in Hamburg and my dog is called Rex. I like tea and coffee."
    for said in (first, "I moved to Bremen.", "I don't like coffee."):
        service.say(said)
        service.handle_to_the_end(service.ask())
        service.time.advance(60)
    records, _ = service.memories_app.manage_memories.listed(
        SARAH, where=MemoryFilter(), limit=9, newest_first=False
    )
    assert {record.content for record in records} == {
        "My dog is called Rex.", "I like tea.", "I moved to Bremen.", "I don't like coffee."
    }  # fmt: skip


def test_my_flight_is_at_another_time_not_the_one_before_supersedes_it() -> None:
    service = ExtractionService()
    service.extractor = PatternExtractor()
    service.wire_workers()
    for said in ("My flight is at 8:30.", "My flight is at 9:30, not 8:30"):
        service.say(said)
        service.handle_to_the_end(service.ask())
        service.time.advance(60)
    assert service.current("time_flight") == "My flight is at 9:30, not 8:30"
    versions = [record.content for record in service.memories.versions(SARAH, "time_flight")]
    assert versions == ["My flight is at 8:30.", "My flight is at 9:30, not 8:30"]

"""Extraction by a session's own rule: armed within appends, one job at a time, whatever the model does."""

from __future__ import annotations

from palimpsest.errors import ModelOutputInvalid, ModelUnavailable
from palimpsest.jobs.ports import JobNotice

from tests.unit.extraction.extraction_world import ExtractionWorld


def world_of(turns: int = 2) -> ExtractionWorld:
    """A session that is extracted after so many turns."""
    return ExtractionWorld(extract="auto", max_buffer_turns=turns)


def turn(world: ExtractionWorld, number: int) -> None:
    world.put({"role": "user", "content": f"fact: number {number}"}, {"role": "assistant", "content": "ok"})


def test_after_every_few_turns_an_append_arms_a_job_in_its_own_transaction() -> None:
    world = world_of(2)
    commits = []
    commit = world.sessions.commit

    def counted(scope: object, change: object) -> None:
        commits.append(len(change.jobs))  # type: ignore[attr-defined]
        commit(scope, change)  # type: ignore[arg-type]

    world.sessions.commit = counted  # type: ignore[method-assign, assignment]
    for number in range(6):
        turn(world, number)
        world.drain()
    assert commits == [0, 1, 0, 1, 0, 1]
    assert [(job.first, job.last) for job in world.outbox] == [(1, 4), (5, 8), (9, 12)]
    assert len(world.contents()) == 6


def test_a_turn_counts_when_it_is_whole() -> None:
    world = world_of(1)
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    for chat in (
        {"role": "user", "content": "fact: one"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
    ):
        assert world.outbox == []
        world.put(chat)
    assert [(job.first, job.last) for job in world.outbox] == [(1, 3)]


def test_users_who_get_no_answer_are_extracted_all_the_same() -> None:
    world = world_of(2)
    world.say("fact: one")
    world.say("fact: two")
    assert world.outbox == []
    world.say("fact: three")
    assert len(world.outbox) == 1


def test_while_a_job_is_under_way_no_other_is_armed_and_its_end_arms_the_next() -> None:
    world = world_of(2)
    for number in range(9):
        turn(world, number)
    assert [(job.first, job.last) for job in world.outbox] == [(1, 4)]
    world.drain()
    assert [(job.first, job.last) for job in world.outbox] == [(1, 4), (5, 18)]
    assert len(world.contents()) == 9


def test_a_model_that_is_down_is_asked_by_one_job_at_a_time() -> None:
    """An hour of appends, and a job for each attempt: not one for each append."""
    world = world_of(1)
    world.extractor.failure = ModelUnavailable("down")
    for number in range(900):
        turn(world, number)
        world.time.advance(4)
        world.drain()
        world.sweep()
    assert len(world.outbox) == 6
    assert len(world.extractor.read) == 4 * 6
    world.extractor.failure = None
    for _ in range(2):
        world.time.advance(3_700)
        world.sweep()
        world.drain()
    assert len(world.contents()) == 900


def test_a_poison_message_does_not_keep_what_is_said_later_from_being_extracted() -> None:
    world = world_of(1)
    world.extractor.failure = ModelOutputInvalid("prose")
    turn(world, 0)
    world.drain()
    world.extractor.failure = None
    turn(world, 1)
    world.drain()
    assert world.contents() == ["number 1"]


def test_a_crash_before_the_next_is_armed_is_mended_by_the_next_delivery() -> None:
    world = world_of(1)
    for number in range(3):
        turn(world, number)
    (job,) = world.outbox
    crashes = iter([RuntimeError("killed")])

    def crash(step: str) -> None:
        if step == "before commit":
            for error in crashes:
                raise error

    world.sessions.state.faults = crash
    try:
        world.handle(job)
    except RuntimeError:
        world.handle(job)
    world.delivered = 1
    world.drain()
    assert len(world.contents()) == 3


def test_a_session_that_asks_for_nothing_reads_nothing_and_arms_nothing() -> None:
    world = ExtractionWorld(extract="auto")
    head = world.put({"role": "user", "content": "hi"}, {"role": "assistant", "content": "ok"}).head
    assert (head.armed_seq, head.extract_job, world.outbox) == (0, None, [])


def test_after_a_failure_the_rest_waits_until_the_model_is_up_again() -> None:
    world = world_of(1)
    turn(world, 0)
    (job,) = world.outbox
    world.give_up(JobNotice(job.tenant, job.id, job.kind), error="model_unavailable")
    turn(world, 1)
    assert len(world.outbox) == 1
    world.time.advance(61)
    world.sweep()
    world.delivered = 1
    world.drain()
    assert world.contents() == ["number 0", "number 1"]

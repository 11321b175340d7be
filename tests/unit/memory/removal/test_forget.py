"""A forgetting in steps: what is left goes to the next, what fails or gets stuck begins again, an erasure ends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from palimpsest.engines.places import job_partition
from palimpsest.errors import DamagedJob, Unavailable
from palimpsest.jobs.job import OVERDUE_SECONDS, Job, on_user, retry_delay
from palimpsest.jobs.kinds import DamagedPayload, ErasePayload
from palimpsest.jobs.ports import JobNotice
from palimpsest.memory.filters import Filter
from palimpsest.memory.statements import Statement
from palimpsest.scope import Scope

from tests.service import Service

SARAH = Scope("acme").user("sarah")
FACTS = Filter(types=frozenset({"fact"}))


class World(Service):
    """The service over stores in memory. `at_write` is told of each write and may raise there."""

    def __init__(self) -> None:
        self.at_write: Callable[[str], None] = lambda step: None
        super().__init__(faults=self.write)
        self.remembering, self.managing = self.memories_app.remember, self.memories_app.manage_memories
        self.forgetting, self.work, self.sweep = self.memories_app.forget, self.removal, self.sweep_all

    def write(self, step: str) -> None:
        self.at_write(step)

    def remember(self, count: int) -> None:
        for start in range(0, count, 30):
            told = [Statement("fact", f"no {number}") for number in range(start, min(count, start + 30))]
            self.remembering(SARAH, told)
            self.time.advance(0.001)

    def forget(self) -> Job:
        self.forgetting(SARAH, FACTS)
        return self.sessions.outbox[-1]

    def deliver(self, job: Job) -> None:
        self.work.step(JobNotice(job.tenant, job.id, job.kind))

    def drain(self) -> None:
        while self.delivered < len(self.sessions.outbox):
            self.delivered += 1
            self.deliver(self.sessions.outbox[self.delivered - 1])

    def left(self) -> int:
        return self.managing.counts(SARAH)["fact"]

    def state(self, job: Job) -> Job:
        found = self.jobs.get(SARAH.owner, job.id)
        assert found is not None
        return found

    def takes(self, seconds: float) -> None:
        """Every commit takes so long."""
        self.at_write = lambda step: self.time.advance(seconds) if step == "after commit memories" else None


@pytest.fixture
def world() -> World:
    return World()


def test_a_long_forgetting_goes_on_step_by_step_and_ends_the_job_that_was_asked_for(world: World) -> None:
    world.remember(100)
    world.takes(60)
    job = world.forget()
    world.deliver(job)
    assert 0 < world.left() < 100
    assert world.state(job).state == "running"
    world.drain()
    assert world.left() == 0
    assert len(world.sessions.outbox) > 2
    assert {world.state(each).state for each in world.sessions.outbox} == {"done"}
    assert world.state(job).result == {"forgotten": 100}


def test_a_topic_with_more_versions_than_a_transaction_holds_is_forgotten_whole(world: World) -> None:
    for number in range(60):
        world.remembering(SARAH, [Statement("fact", f"works at {number}", topic="employer")])
        world.time.advance(1)
    job = world.forget()
    world.drain()
    assert (world.left(), world.memories.versions(SARAH, "employer")) == (0, ())
    assert world.state(job).result == {"forgotten": 1}


def test_many_topics_are_forgotten_though_they_are_too_many_for_one_transaction(world: World) -> None:
    for version in range(4):
        told = [Statement("fact", f"{topic} is {version}", topic=f"topic {topic}") for topic in range(20)]
        world.remembering(SARAH, told)
        world.time.advance(1)
    world.forget()
    world.drain()
    assert world.left() == 0


@pytest.mark.parametrize("step", ["before commit memories", "after commit memories", "before finish", "after finish"])
def test_a_crash_anywhere_is_made_good_by_the_next_delivery(world: World, step: str) -> None:
    world.remember(40)
    job = world.forget()

    def crash(at: str) -> None:
        if at == step:
            world.at_write = lambda _: None
            raise Unavailable("crash")

    world.at_write = crash
    with pytest.raises(Unavailable):
        world.deliver(job)
    world.deliver(job)
    assert world.left() == 0
    assert world.state(job).state == "done"


def test_a_message_delivered_twice_changes_nothing(world: World) -> None:
    world.remember(5)
    job = world.forget()
    world.drain()
    world.time.advance(1)
    world.remember(5)
    world.deliver(job)
    assert world.left() == 5
    assert world.state(job).result == {"forgotten": 5}


def test_a_step_that_is_handed_over_twice_is_one_step(world: World) -> None:
    world.remember(100)
    world.takes(60)
    job = world.forget()
    world.deliver(job)
    world.deliver(job)
    assert len(world.sessions.outbox) == 2
    world.drain()
    assert world.left() == 0


def test_a_failed_forgetting_is_begun_again_by_the_sweep(world: World) -> None:
    world.remember(5)
    job = world.forget()
    world.work.give_up(JobNotice(job.tenant, job.id, job.kind), error="unavailable")
    assert (world.state(job).state, world.state(job).error) == ("failed", "unavailable")
    world.sweep()
    assert len(world.sessions.outbox) == 1
    world.time.advance(retry_delay(0))
    world.sweep()
    world.sweep()
    again = world.sessions.outbox[-1]
    assert (len(world.sessions.outbox), again.attempt, again.parent) == (2, 1, None)
    world.drain()
    assert (world.left(), world.state(again).state, world.state(job).state) == (0, "done", "failed")


def test_a_stuck_forgetting_is_begun_again_and_ends_what_was_asked_for(world: World) -> None:
    world.remember(5)
    job = world.forget()
    world.delivered += 1  # its message is lost
    world.time.advance(OVERDUE_SECONDS)
    world.sweep()
    world.drain()
    assert (world.left(), world.state(job).state, world.state(job).result) == (0, "done", {"forgotten": 5})


def test_a_stuck_step_is_begun_again_under_the_job_that_was_asked_for(world: World) -> None:
    world.remember(100)
    world.takes(60)
    job = world.forget()
    world.deliver(job)
    world.delivered = 2  # the step's message is lost
    world.takes(0)
    world.time.advance(OVERDUE_SECONDS)
    world.sweep()
    world.drain()
    assert (world.left(), world.state(job).state, world.state(job).result) == (0, "done", {"forgotten": 100})
    assert world.state(world.sessions.outbox[1]).error == "stuck"


def test_a_redriven_message_of_a_failed_forgetting_begins_it_again(world: World) -> None:
    world.remember(5)
    job = world.forget()
    world.work.give_up(JobNotice(job.tenant, job.id, job.kind), error="unavailable")
    world.drain()
    assert world.left() == 0


def test_a_forgetting_of_a_user_who_was_erased_does_nothing(world: World) -> None:
    world.remember(5)
    job = world.forget()
    erasure = on_user(SARAH, kind="erase", epoch=0, payload=ErasePayload(), now=job.created_at)
    world.memories.erase(SARAH, epoch=0, job=replace(erasure, kind="forget", payload=job.payload))
    world.remember(3)
    world.deliver(job)
    assert world.left() == 3
    assert (world.state(job).state, world.state(job).error) == ("done", "erased")


def test_what_is_corrected_meanwhile_is_judged_as_it_is_now(world: World) -> None:
    (one,) = world.remembering(SARAH, [Statement("fact", "works at A", topic="employer")])
    world.time.advance(1)
    corrected = False

    def correct(step: str) -> None:
        nonlocal corrected
        if step == "before commit memories" and not corrected:
            corrected = True
            world.time.advance(1)
            world.remembering(SARAH, [Statement("fact", "works at B", topic="employer")])

    job = world.forget()
    world.at_write = correct
    world.deliver(job)
    assert world.left() == 1
    assert world.managing.read(SARAH, one.record.id).superseded_by is not None


def damaged(world: World, job: Job) -> Job:
    """The job as a table gives it whose item was spoiled."""
    found = replace(world.state(job), payload=DamagedPayload())
    world.sessions.state.jobs[job_partition(job)] = found
    return found


def test_a_forgetting_that_cannot_be_read_forgets_nothing_and_fails_for_good() -> None:
    world = World()
    world.remember(5)
    job = damaged(world, world.forget())
    with pytest.raises(DamagedJob):
        world.deliver(job)
    world.work.give_up(JobNotice(job.tenant, job.id, job.kind), error="damaged_job")
    world.time.advance(2 * OVERDUE_SECONDS)
    world.sweep()
    left = world.state(job)
    assert (world.left(), left.state, left.error, left.due_at) == (5, "failed", "damaged_job", None)
    assert len(world.sessions.outbox) == 1


def test_a_job_that_cannot_be_read_and_is_stuck_holds_up_no_other() -> None:
    world = World()
    world.remember(1)
    stuck = damaged(world, world.forget())
    world.time.advance(1)
    world.forget()
    world.time.advance(2 * OVERDUE_SECONDS)
    world.sweep()
    assert (world.state(stuck).state, world.state(stuck).error) == ("failed", "damaged_job")
    world.deliver(world.sessions.outbox[-1])  # the other one, begun again
    assert (len(world.sessions.outbox), world.left()) == (3, 0)

"""A forgetting in steps: what is left goes to the next, what fails or gets stuck begins again, an
erasure ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from palimpsest.engines.places import job_partition
from palimpsest.errors import DamagedJob, Unavailable
from palimpsest.jobs.attempts import retry_delay
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import OVERDUE_SECONDS, Job, on_user
from palimpsest.jobs.payloads import DamagedPayload
from palimpsest.memory.filters import MemoryFilter
from palimpsest.memory.removal.payloads import ErasePayload
from palimpsest.memory.statements import Statement
from palimpsest.scope import Scope

from tests.service import Service

SARAH = Scope("acme").user("sarah")
FACTS = MemoryFilter(types=frozenset({"fact"}))


class Forgetting(Service):
    """The service over stores in memory. `at_write` is told of each write and may raise there."""

    def __init__(self) -> None:
        self.at_write: Callable[[str], None] = lambda step: None
        super().__init__(faults=self.write)
        self.remembering, self.managing = (
            self.memories_app.remember,
            self.memories_app.manage_memories,
        )
        self.forgetting, self.work, self.sweep = (
            self.memories_app.forget,
            self.removal,
            self.sweep_all,
        )

    def write(self, step: str) -> None:
        self.at_write(step)

    def remember(self, count: int) -> None:
        for start in range(0, count, 30):
            told = [
                Statement("fact", f"no {number}") for number in range(start, min(count, start + 30))
            ]
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
        self.at_write = lambda step: (
            self.time.advance(seconds) if step == "after commit memories" else None
        )


@pytest.fixture
def service() -> Forgetting:
    return Forgetting()


def test_a_long_forgetting_goes_on_step_by_step_and_ends_the_job_that_was_asked_for(
    service: Forgetting,
) -> None:
    service.remember(100)
    service.takes(60)
    job = service.forget()
    service.deliver(job)
    assert 0 < service.left() < 100
    assert service.state(job).state == "running"
    service.drain()
    assert service.left() == 0
    assert len(service.sessions.outbox) > 2
    assert {service.state(each).state for each in service.sessions.outbox} == {"done"}
    assert service.state(job).result == {"forgotten": 100}


def test_a_topic_with_more_versions_than_a_transaction_holds_is_forgotten_whole(
    service: Forgetting,
) -> None:
    for number in range(60):
        service.remembering(SARAH, [Statement("fact", f"works at {number}", topic="employer")])
        service.time.advance(1)
    job = service.forget()
    service.drain()
    assert (service.left(), service.memories.versions(SARAH, "employer")) == (0, ())
    assert service.state(job).result == {"forgotten": 1}


def test_many_topics_are_forgotten_though_they_are_too_many_for_one_transaction(
    service: Forgetting,
) -> None:
    for version in range(4):
        told = [
            Statement("fact", f"{topic} is {version}", topic=f"topic {topic}")
            for topic in range(20)
        ]
        service.remembering(SARAH, told)
        service.time.advance(1)
    service.forget()
    service.drain()
    assert service.left() == 0


@pytest.mark.parametrize(
    "step", ["before commit memories", "after commit memories", "before finish", "after finish"]
)
def test_a_crash_anywhere_is_made_good_by_the_next_delivery(service: Forgetting, step: str) -> None:
    service.remember(40)
    job = service.forget()

    def crash(at: str) -> None:
        if at == step:
            service.at_write = lambda _: None
            raise Unavailable("crash")

    service.at_write = crash
    with pytest.raises(Unavailable):
        service.deliver(job)
    service.deliver(job)
    assert service.left() == 0
    assert service.state(job).state == "done"


def test_a_message_delivered_twice_changes_nothing(service: Forgetting) -> None:
    service.remember(5)
    job = service.forget()
    service.drain()
    service.time.advance(1)
    service.remember(5)
    service.deliver(job)
    assert service.left() == 5
    assert service.state(job).result == {"forgotten": 5}


def test_a_step_that_is_handed_over_twice_is_one_step(service: Forgetting) -> None:
    service.remember(100)
    service.takes(60)
    job = service.forget()
    service.deliver(job)
    service.deliver(job)
    assert len(service.sessions.outbox) == 2
    service.drain()
    assert service.left() == 0


def test_a_failed_forgetting_is_begun_again_by_the_sweep(service: Forgetting) -> None:
    service.remember(5)
    job = service.forget()
    service.work.give_up(JobNotice(job.tenant, job.id, job.kind), error="unavailable")
    assert (service.state(job).state, service.state(job).error) == ("failed", "unavailable")
    service.sweep()
    assert len(service.sessions.outbox) == 1
    service.time.advance(retry_delay(0))
    service.sweep()
    service.sweep()
    again = service.sessions.outbox[-1]
    assert (len(service.sessions.outbox), again.attempt, again.parent) == (2, 1, None)
    service.drain()
    assert (service.left(), service.state(again).state, service.state(job).state) == (
        0,
        "done",
        "failed",
    )


def test_a_stuck_forgetting_is_begun_again_and_ends_what_was_asked_for(service: Forgetting) -> None:
    service.remember(5)
    job = service.forget()
    service.delivered += 1  # its message is lost
    service.time.advance(OVERDUE_SECONDS)
    service.sweep()
    service.drain()
    assert (service.left(), service.state(job).state, service.state(job).result) == (
        0,
        "done",
        {"forgotten": 5},
    )


def test_a_stuck_step_is_begun_again_under_the_job_that_was_asked_for(service: Forgetting) -> None:
    service.remember(100)
    service.takes(60)
    job = service.forget()
    service.deliver(job)
    service.delivered = 2  # the step's message is lost
    service.takes(0)
    service.time.advance(OVERDUE_SECONDS)
    service.sweep()
    service.drain()
    assert (service.left(), service.state(job).state, service.state(job).result) == (
        0,
        "done",
        {"forgotten": 100},
    )
    assert service.state(service.sessions.outbox[1]).error == "stuck"


def test_a_redriven_message_of_a_failed_forgetting_begins_it_again(service: Forgetting) -> None:
    service.remember(5)
    job = service.forget()
    service.work.give_up(JobNotice(job.tenant, job.id, job.kind), error="unavailable")
    service.drain()
    assert service.left() == 0


def test_a_forgetting_of_a_user_who_was_erased_does_nothing(service: Forgetting) -> None:
    service.remember(5)
    job = service.forget()
    erasure = on_user(SARAH, kind="erase", epoch=0, payload=ErasePayload(), now=job.created_at)
    service.memories.erase(SARAH, epoch=0, job=replace(erasure, kind="forget", payload=job.payload))
    service.remember(3)
    service.deliver(job)
    assert service.left() == 3
    assert (service.state(job).state, service.state(job).error) == ("done", "erased")


def test_what_is_corrected_meanwhile_is_judged_as_it_is_now(service: Forgetting) -> None:
    (one,) = service.remembering(SARAH, [Statement("fact", "works at A", topic="employer")])
    service.time.advance(1)
    corrected = False

    def correct(step: str) -> None:
        nonlocal corrected
        if step == "before commit memories" and not corrected:
            corrected = True
            service.time.advance(1)
            service.remembering(SARAH, [Statement("fact", "works at B", topic="employer")])

    job = service.forget()
    service.at_write = correct
    service.deliver(job)
    assert service.left() == 1
    assert service.managing.read(SARAH, one.record.id).superseded_by is not None


def damaged(service: Forgetting, job: Job) -> Job:
    """The job as a table gives it whose item was spoiled."""
    found = replace(service.state(job), payload=DamagedPayload())
    service.sessions.state.jobs[job_partition(job)] = found
    return found


def test_a_forgetting_that_cannot_be_read_forgets_nothing_and_fails_for_good() -> None:
    service = Forgetting()
    service.remember(5)
    job = damaged(service, service.forget())
    with pytest.raises(DamagedJob):
        service.deliver(job)
    service.work.give_up(JobNotice(job.tenant, job.id, job.kind), error="damaged_job")
    service.time.advance(2 * OVERDUE_SECONDS)
    service.sweep()
    left = service.state(job)
    assert (service.left(), left.state, left.error, left.due_at) == (
        5,
        "failed",
        "damaged_job",
        None,
    )
    assert len(service.sessions.outbox) == 1


def test_a_job_that_cannot_be_read_and_is_stuck_holds_up_no_other() -> None:
    service = Forgetting()
    service.remember(1)
    stuck = damaged(service, service.forget())
    service.time.advance(1)
    service.forget()
    service.time.advance(2 * OVERDUE_SECONDS)
    service.sweep()
    assert (service.state(stuck).state, service.state(stuck).error) == ("failed", "damaged_job")
    service.deliver(service.sessions.outbox[-1])  # the other one, begun again
    assert (len(service.sessions.outbox), service.left()) == (3, 0)

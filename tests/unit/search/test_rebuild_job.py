"""A reindexing is one job at a time: killed at any write it goes on, stuck or failed it begins
again, and it says how far it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from palimpsest.errors import NotFound, Unavailable
from palimpsest.jobs.attempts import retry_delay
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import OVERDUE_SECONDS, Job
from palimpsest.jobs.steps import RestartSteps, UserSteps
from palimpsest.models.ports import Embedder
from palimpsest.scope import UserScope
from palimpsest.search import rebuild as reindex
from palimpsest.search.embed import Embed
from palimpsest.search.payloads import ReindexPayload
from palimpsest.search.ports import SearchIndex
from palimpsest.search.rebuild import (
    OWNER,
    SETTLING,
    STEP,
    GiveUpReindexStep,
    Reindex,
    ReindexStep,
    StartReindex,
)
from palimpsest_local.embedded.index import EmbeddedIndex

from tests.doubles.failing_index import FailingIndex
from tests.doubles.meanings import Meanings
from tests.doubles.owned_index import OwnedIndex
from tests.unit.recall.service import RecallService

MESSAGES, RECORDS = 15, 6


class Killed(Exception):
    """The process ended there."""


class Rebuilding(RecallService):
    """With the operator's job; `at_write` is told of each write to the tables and may raise
    there.
    """

    def __init__(self, folder: Path) -> None:
        self.at_write: Callable[[str], None] = lambda step: None
        super().__init__(folder, faults=self.write)
        self.folder = folder
        self.begin = StartReindex(self.jobs, self.time)
        self.give_up = GiveUpReindexStep(self.jobs, self.time)
        restart = RestartSteps(self.jobs, self.time)
        self.sweep = self.sweep_all
        self.steps = UserSteps(self.jobs, restart, self.time)
        self.step = self.step_of(self.index, self.embedder)

    def write(self, step: str) -> None:
        self.at_write(step)

    def step_of(self, index: SearchIndex, embedder: Embedder) -> ReindexStep:
        embed = Embed(self.memories, self.sessions, index, embedder, self.time)
        use = Reindex(self.owners, self.memories, self.sessions, index, embed)
        return ReindexStep(use, self.jobs, self.steps, self.time, embedder.space.model)

    def slow(self) -> None:
        """Every write to the index takes as long as a step: so each step does a page, and hands
        over.
        """
        self.index.before_write = lambda: self.time.advance(STEP.total_seconds())

    def deliver(self, job: Job) -> None:
        self.step(JobNotice(job.tenant, job.id, job.kind))

    def drain(self) -> None:
        while self.delivered < len(self.outbox):
            self.delivered += 1
            self.deliver(self.outbox[self.delivered - 1])

    def kept(self, job: Job) -> Job:
        return self.begin.look(job.id)

    def everything(self) -> set[str]:
        part = OwnedIndex(self.index, UserScope("acme", "sarah"))
        return {hit.key for text in ("message", "fact") for hit in part.by_words(text, k=100)}


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rebuilding:
    monkeypatch.setattr(reindex, "PAGE", 4)
    service = Rebuilding(tmp_path)
    for number in range(5):
        service.say(
            *(f"message {number} {place}" for place in range(number + 1)), session=f"s{number}"
        )
    for number in range(RECORDS):
        service.keep(f"fact number {number}")
    service.index_all()
    return service


def test_it_goes_on_step_by_step_and_the_job_that_was_asked_for_says_how_far_it_is(
    service: Rebuilding,
) -> None:
    before, (old,) = service.everything(), service.index.indexes()
    job, is_new = service.begin()
    assert is_new
    service.slow()
    told = []
    while service.kept(job).state != "done":
        service.delivered += 1
        service.deliver(service.outbox[service.delivered - 1])
        told.append((service.kept(job).state, service.kept(job).result["indexed"]))
    assert told == sorted(told, key=lambda one: one[1])
    assert {state for state, _ in told[:-1]} == {"running"}
    assert service.kept(job).result == {"indexed": MESSAGES + RECORDS, "left_out": 0}
    assert len(service.outbox) > 5
    assert {each.state for each in map(service.kept, service.outbox)} == {"done"}
    assert (service.everything(), old in service.index.indexes()) == (before, False)


def test_jobs_hold_no_text(service: Rebuilding) -> None:
    service.begin()
    service.slow()
    service.drain()
    assert "message 3" not in repr(service.outbox)
    assert "fact number" not in repr(service.outbox)


def test_what_nobody_has_stored_yet_in_a_list_is_waited_for(service: Rebuilding) -> None:
    service.begin()
    begun = service.time.now()
    service.deliver(service.outbox[0])
    assert (service.time.now() - begun).total_seconds() >= SETTLING


def test_there_is_one_at_a_time(service: Rebuilding) -> None:
    job, _ = service.begin()
    assert service.begin() == (service.kept(job), False)
    service.slow()
    service.deliver(job)
    assert service.begin() == (service.kept(job), False)
    service.drain()
    another, is_new = service.begin()
    assert (is_new, another.id == job.id) == (True, False)


def test_of_two_that_start_at_once_one_begins_it(service: Rebuilding) -> None:
    service.at_write = lambda step: begin_elsewhere() if step == "before put job" else None

    def begin_elsewhere() -> None:
        service.at_write = lambda step: None
        service.begin()

    job, is_new = service.begin()
    assert (is_new, len(service.outbox), job.id) == (False, 1, service.outbox[0].id)


def test_killed_at_any_write_it_goes_on_where_it_was(service: Rebuilding) -> None:
    service.slow()
    before = service.everything()
    job, _ = service.begin()
    kills = 0
    while service.kept(job).state != "done":
        assert kills < 200
        waiting = [each for each in service.outbox if not service.kept(each).has_ended]
        service.at_write = dies_after(kills % 17)
        kills += 1
        for each in waiting:
            try:
                service.deliver(each)
            except Killed:
                break
    service.at_write = lambda step: None
    for each in list(service.outbox):
        service.deliver(each)  # what a kill left of its message
    assert service.everything() == before
    assert service.kept(job).result["indexed"] == MESSAGES + RECORDS
    assert kills > 10
    assert {service.kept(each).state for each in service.outbox} == {"done"}
    assert len(service.index.indexes()) == 1


def dies_after(writes: int) -> Callable[[str], None]:
    left = iter(range(writes))

    def die(step: str) -> None:
        if next(left, None) is None:
            raise Killed(step)

    return die


def test_every_message_delivered_twice_changes_nothing(service: Rebuilding) -> None:
    service.slow()
    before = service.everything()
    job, _ = service.begin()
    while service.delivered < len(service.outbox):
        service.delivered += 1
        for _ in range(2):
            service.deliver(service.outbox[service.delivered - 1])
    assert service.kept(job).result["indexed"] == MESSAGES + RECORDS
    assert service.everything() == before
    for each in service.outbox:
        service.deliver(each)
    assert len(service.index.indexes()) == 1


def test_a_step_that_fails_is_shown_waits_and_begins_again(service: Rebuilding) -> None:
    service.slow()
    job, _ = service.begin()
    service.deliver(job)
    service.index.down = True
    step = service.outbox[-1]
    with pytest.raises(Unavailable):
        service.deliver(step)
    service.give_up(JobNotice(step.tenant, step.id, step.kind), error="unavailable")
    assert (service.kept(job).state, service.kept(job).error) == ("running", "unavailable")
    assert service.kept(step).state == "failed"
    service.index.down = False
    service.time.advance(retry_delay(0) + 1)
    service.sweep()
    service.deliver(service.outbox[-1])
    assert (service.kept(job).state, service.kept(job).error) == ("running", None)
    service.delivered = len(service.outbox) - 1
    service.drain()
    assert service.kept(job).state == "done"
    assert service.kept(job).result["indexed"] == MESSAGES + RECORDS


def test_one_whose_first_step_failed_begins_again_at_the_operators_word(
    service: Rebuilding,
) -> None:
    job, _ = service.begin()
    service.give_up(JobNotice(job.tenant, job.id, job.kind), error="model_unavailable")
    assert (service.kept(job).state, service.kept(job).error) == ("failed", "model_unavailable")
    again, is_new = service.begin()
    assert is_new
    assert service.begin() == (again, False)
    service.time.advance(retry_delay(0) + 1)
    service.sweep()  # nothing is begun a third time
    assert len(service.outbox) == 2
    service.drain()
    assert service.kept(again).state == "done"


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_one_that_is_stuck_is_begun_again_by_the_sweep(service: Rebuilding, steps: int) -> None:
    service.slow()
    job, _ = service.begin()
    for _ in range(steps):
        service.deliver(service.outbox[-1])
    lost = service.outbox[-1]  # its message never arrives
    service.time.advance(OVERDUE_SECONDS + 1)
    service.sweep()
    assert service.outbox[-1].id != lost.id
    service.delivered = len(service.outbox) - 1
    service.drain()
    assert service.kept(job).state == "done"
    assert service.kept(job).result["indexed"] == MESSAGES + RECORDS


def test_a_chain_that_was_only_slow_does_not_switch_to_what_the_next_reindexing_has_half_built(
    service: Rebuilding,
) -> None:
    service.slow()
    service.begin()
    service.deliver(service.outbox[-1])
    slow = service.outbox[-1]
    service.time.advance(OVERDUE_SECONDS + 1)
    service.sweep()
    service.delivered = len(service.outbox) - 1
    service.drain()  # the chain that the sweep began
    before = service.everything()
    (read,) = service.index.indexes()
    service.begin()
    service.deliver(service.outbox[-1])
    last = replace(
        slow.payload_as(ReindexPayload), phase="switch", after=None, within=None, page=None
    )
    late = replace(slow, id="job_late", payload=last)
    service.jobs.put(late)
    service.deliver(slow)
    service.deliver(late)
    assert service.index.indexes()[0] == read
    assert service.everything() == before


def test_for_another_model_it_begins_anew_and_vectors_are_never_mixed(service: Rebuilding) -> None:
    service.slow()
    job, _ = service.begin()
    for _ in range(4):
        service.deliver(service.outbox[-1])
    newer = Meanings("newer-model", 64)
    index = FailingIndex(EmbeddedIndex(service.folder / "index.sqlite", space=newer.space))
    service.step = service.step_of(index, newer)  # deployed meanwhile
    service.delivered = len(service.outbox) - 1
    service.drain()
    assert service.kept(job).state == "done"
    assert [name.startswith("newer-model-64.") for name in index.indexes()] == [True]
    hits = index.by_vector(UserScope("acme", "sarah"), newer.embed(["fact number 3"])[0], k=100)
    assert len(hits) == MESSAGES + RECORDS
    with pytest.raises(Unavailable):
        service.index.by_vector(
            UserScope("acme", "sarah"), service.embedder.embed(["fact"])[0], k=1
        )


def test_a_job_that_is_none_is_not_found(service: Rebuilding) -> None:
    with pytest.raises(NotFound):
        service.begin.look("job_0")
    service.step(JobNotice(OWNER.tenant, "job_0", "reindex"))
    assert service.outbox == []

"""A reindexing is one job at a time: killed at any write it goes on, stuck or failed it begins again, and it says how
far it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from palimpsest.engines.embedded import EmbeddedIndex
from palimpsest.errors import NotFound, Unavailable
from palimpsest.jobs.job import OVERDUE_SECONDS, Job, retry_delay
from palimpsest.jobs.kinds import ReindexPayload
from palimpsest.jobs.ports import JobNotice
from palimpsest.jobs.restart import RestartSteps
from palimpsest.jobs.steps import UserSteps
from palimpsest.models.ports import Embedder
from palimpsest.scope import UserScope
from palimpsest.search import rebuild as reindex
from palimpsest.search.embed import Embed
from palimpsest.search.ports import SearchIndex
from palimpsest.search.rebuild import OWNER, SETTLING, STEP, GiveUpReindexStep, Reindex, ReindexStep, StartReindex

from tests.doubles.failing_index import FailingIndex
from tests.doubles.meanings import Meanings
from tests.doubles.owned_index import OwnedIndex
from tests.unit.recall.recall_world import RecallWorld

MESSAGES, RECORDS = 15, 6


class Killed(Exception):
    """The process ended there."""


class World(RecallWorld):
    """With the operator's job; `at_write` is told of each write to the tables and may raise there."""

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
        """Every write to the index takes as long as a step: so each step does a page, and hands over."""
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
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(reindex, "PAGE", 4)
    world = World(tmp_path)
    for number in range(5):
        world.say(*(f"message {number} {place}" for place in range(number + 1)), session=f"s{number}")
    for number in range(RECORDS):
        world.keep(f"fact number {number}")
    world.index_all()
    return world


def test_it_goes_on_step_by_step_and_the_job_that_was_asked_for_says_how_far_it_is(world: World) -> None:
    before, (old,) = world.everything(), world.index.indexes()
    job, is_new = world.begin()
    assert is_new
    world.slow()
    told = []
    while world.kept(job).state != "done":
        world.delivered += 1
        world.deliver(world.outbox[world.delivered - 1])
        told.append((world.kept(job).state, world.kept(job).result["indexed"]))
    assert told == sorted(told, key=lambda one: one[1])
    assert {state for state, _ in told[:-1]} == {"running"}
    assert world.kept(job).result == {"indexed": MESSAGES + RECORDS, "left_out": 0}
    assert len(world.outbox) > 5
    assert {each.state for each in map(world.kept, world.outbox)} == {"done"}
    assert (world.everything(), old in world.index.indexes()) == (before, False)


def test_jobs_hold_no_text(world: World) -> None:
    world.begin()
    world.slow()
    world.drain()
    assert "message 3" not in repr(world.outbox)
    assert "fact number" not in repr(world.outbox)


def test_what_nobody_has_stored_yet_in_a_list_is_waited_for(world: World) -> None:
    world.begin()
    begun = world.time.now()
    world.deliver(world.outbox[0])
    assert (world.time.now() - begun).total_seconds() >= SETTLING


def test_there_is_one_at_a_time(world: World) -> None:
    job, _ = world.begin()
    assert world.begin() == (world.kept(job), False)
    world.slow()
    world.deliver(job)
    assert world.begin() == (world.kept(job), False)
    world.drain()
    another, is_new = world.begin()
    assert (is_new, another.id == job.id) == (True, False)


def test_of_two_that_start_at_once_one_begins_it(world: World) -> None:
    world.at_write = lambda step: begin_elsewhere() if step == "before put job" else None

    def begin_elsewhere() -> None:
        world.at_write = lambda step: None
        world.begin()

    job, is_new = world.begin()
    assert (is_new, len(world.outbox), job.id) == (False, 1, world.outbox[0].id)


def test_killed_at_any_write_it_goes_on_where_it_was(world: World) -> None:
    world.slow()
    before = world.everything()
    job, _ = world.begin()
    kills = 0
    while world.kept(job).state != "done":
        assert kills < 200
        waiting = [each for each in world.outbox if not world.kept(each).has_ended]
        world.at_write = dies_after(kills % 17)
        kills += 1
        for each in waiting:
            try:
                world.deliver(each)
            except Killed:
                break
    world.at_write = lambda step: None
    for each in list(world.outbox):
        world.deliver(each)  # what a kill left of its message
    assert world.everything() == before
    assert world.kept(job).result["indexed"] == MESSAGES + RECORDS
    assert kills > 10
    assert {world.kept(each).state for each in world.outbox} == {"done"}
    assert len(world.index.indexes()) == 1


def dies_after(writes: int) -> Callable[[str], None]:
    left = iter(range(writes))

    def die(step: str) -> None:
        if next(left, None) is None:
            raise Killed(step)

    return die


def test_every_message_delivered_twice_changes_nothing(world: World) -> None:
    world.slow()
    before = world.everything()
    job, _ = world.begin()
    while world.delivered < len(world.outbox):
        world.delivered += 1
        for _ in range(2):
            world.deliver(world.outbox[world.delivered - 1])
    assert world.kept(job).result["indexed"] == MESSAGES + RECORDS
    assert world.everything() == before
    for each in world.outbox:
        world.deliver(each)
    assert len(world.index.indexes()) == 1


def test_a_step_that_fails_is_shown_waits_and_begins_again(world: World) -> None:
    world.slow()
    job, _ = world.begin()
    world.deliver(job)
    world.index.down = True
    step = world.outbox[-1]
    with pytest.raises(Unavailable):
        world.deliver(step)
    world.give_up(JobNotice(step.tenant, step.id, step.kind), error="unavailable")
    assert (world.kept(job).state, world.kept(job).error) == ("running", "unavailable")
    assert world.kept(step).state == "failed"
    world.index.down = False
    world.time.advance(retry_delay(0) + 1)
    world.sweep()
    world.deliver(world.outbox[-1])
    assert (world.kept(job).state, world.kept(job).error) == ("running", None)
    world.delivered = len(world.outbox) - 1
    world.drain()
    assert world.kept(job).state == "done"
    assert world.kept(job).result["indexed"] == MESSAGES + RECORDS


def test_one_whose_first_step_failed_begins_again_at_the_operators_word(world: World) -> None:
    job, _ = world.begin()
    world.give_up(JobNotice(job.tenant, job.id, job.kind), error="model_unavailable")
    assert (world.kept(job).state, world.kept(job).error) == ("failed", "model_unavailable")
    again, is_new = world.begin()
    assert is_new
    assert world.begin() == (again, False)
    world.time.advance(retry_delay(0) + 1)
    world.sweep()  # nothing is begun a third time
    assert len(world.outbox) == 2
    world.drain()
    assert world.kept(again).state == "done"


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_one_that_is_stuck_is_begun_again_by_the_sweep(world: World, steps: int) -> None:
    world.slow()
    job, _ = world.begin()
    for _ in range(steps):
        world.deliver(world.outbox[-1])
    lost = world.outbox[-1]  # its message never arrives
    world.time.advance(OVERDUE_SECONDS + 1)
    world.sweep()
    assert world.outbox[-1].id != lost.id
    world.delivered = len(world.outbox) - 1
    world.drain()
    assert world.kept(job).state == "done"
    assert world.kept(job).result["indexed"] == MESSAGES + RECORDS


def test_a_chain_that_was_only_slow_does_not_switch_to_what_the_next_reindexing_has_half_built(world: World) -> None:
    world.slow()
    world.begin()
    world.deliver(world.outbox[-1])
    slow = world.outbox[-1]
    world.time.advance(OVERDUE_SECONDS + 1)
    world.sweep()
    world.delivered = len(world.outbox) - 1
    world.drain()  # the chain that the sweep began
    before = world.everything()
    (read,) = world.index.indexes()
    world.begin()
    world.deliver(world.outbox[-1])
    last = replace(slow.payload_as(ReindexPayload), phase="switch", after=None, within=None, page=None)
    late = replace(slow, id="job_late", payload=last)
    world.jobs.put(late)
    world.deliver(slow)
    world.deliver(late)
    assert world.index.indexes()[0] == read
    assert world.everything() == before


def test_for_another_model_it_begins_anew_and_vectors_are_never_mixed(world: World) -> None:
    world.slow()
    job, _ = world.begin()
    for _ in range(4):
        world.deliver(world.outbox[-1])
    newer = Meanings("newer-model", 64)
    index = FailingIndex(EmbeddedIndex(world.folder / "index.sqlite", space=newer.space))
    world.step = world.step_of(index, newer)  # deployed meanwhile
    world.delivered = len(world.outbox) - 1
    world.drain()
    assert world.kept(job).state == "done"
    assert [name.startswith("newer-model-64.") for name in index.indexes()] == [True]
    hits = index.by_vector(UserScope("acme", "sarah"), newer.embed(["fact number 3"])[0], k=100)
    assert len(hits) == MESSAGES + RECORDS
    with pytest.raises(Unavailable):
        world.index.by_vector(UserScope("acme", "sarah"), world.embedder.embed(["fact"])[0], k=1)


def test_a_job_that_is_none_is_not_found(world: World) -> None:
    with pytest.raises(NotFound):
        world.begin.look("job_0")
    world.step(JobNotice(OWNER.tenant, "job_0", "reindex"))
    assert world.outbox == []

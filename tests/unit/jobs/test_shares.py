"""One tenant's backlog holds up nobody else: a simulated queue with workers whose steps take
time.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pytest
from palimpsest.clock import FakeClock
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import Job
from palimpsest.jobs.ports import Queues
from palimpsest.jobs.shares import FairQueues
from palimpsest.scope import Scope
from palimpsest_local.stores.jobs import LocalJobs
from palimpsest_local.stores.shares import LocalShares
from palimpsest_local.stores.state import State

from infra.config import STAGES, tenant_jobs_at_once
from tests.contract.builders import NOW, job
from tests.doubles.queues import InMemoryQueues

WITHIN_SECONDS = 10


class Waits(InMemoryQueues):
    """A queue that hands out its messages in the order in which they came."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: deque[JobNotice] = deque()

    def send(self, notices: Sequence[JobNotice]) -> None:
        self.waiting.extend(notices)


@dataclass
class Simulated:
    """Workers of one queue. Jobs come at their times, in seconds; `ended` says when each was
    done.
    """

    workers: int
    seconds: float
    most: int | None
    jobs: LocalJobs = field(default_factory=lambda: LocalJobs(State()))
    queue: Waits = field(default_factory=Waits)
    ended: dict[str, float] = field(default_factory=dict)

    def run(self, arrivals: Sequence[tuple[float, Job]]) -> None:
        shares = None
        if self.most is not None:
            shares = FairQueues(self.queue, LocalShares(), self.jobs, self.most, FakeClock())
        queues: Queues = shares or self.queue
        order, free = count(), self.workers
        events: list[tuple[float, int, Job, str]] = [
            (at, next(order), one, "comes") for at, one in arrivals
        ]
        heapq.heapify(events)
        while events:
            now, _, one, what = heapq.heappop(events)
            notice = JobNotice(one.tenant, one.id, one.kind)
            if what == "comes":
                self.jobs.put(one)
                queues.send([notice])
            else:
                free += 1
                self.jobs.finish(replace(one, state="done", due_at=None))
                self.ended[one.id] = now
                if shares is not None:
                    shares.free_place(notice)
            while free and self.queue.waiting:
                told = self.queue.waiting.popleft()
                free -= 1
                begun = self.jobs.get(Scope(told.tenant), told.job_id)
                assert begun is not None
                heapq.heappush(events, (now + self.seconds, next(order), begun, "ends"))


def extract(tenant: str, number: int) -> Job:
    scope = Scope(tenant).session("s")
    return job(
        scope, id=f"job_{tenant}_{number}", kind="extract", due_at=NOW + 60, created_at=NOW + number
    )


def backlog(tenant: str = "acme", jobs: int = 500) -> list[tuple[float, Job]]:
    return [(number / 100, extract(tenant, number)) for number in range(jobs)]


@pytest.mark.parametrize(
    ("workers", "step"),
    [
        (STAGES["local"]().sizes.worker_concurrency, 0.5),
        (STAGES["prod"]().sizes.worker_concurrency, 5.0),
        (100, 8.0),
    ],
)
def test_five_hundred_jobs_of_one_tenant_let_another_tenants_job_be_done_within_ten_seconds(
    workers: int, step: float
) -> None:
    simulated = Simulated(workers, step, tenant_jobs_at_once(workers))
    simulated.run([*backlog(), (6.0, extract("other", 1))])
    assert simulated.ended["job_other_1"] - 6.0 <= WITHIN_SECONDS
    assert len(simulated.ended) == 501


def test_without_shares_the_other_tenant_would_wait_for_the_whole_backlog() -> None:
    simulated = Simulated(5, 5.0, most=None)
    simulated.run([*backlog(), (6.0, extract("other", 1))])
    assert simulated.ended["job_other_1"] > 400


def test_tenants_with_backlogs_take_turns() -> None:
    simulated = Simulated(5, 1.0, most=4)
    simulated.run([*backlog("acme"), *backlog("second", 40), *backlog("third", 40)])
    assert max(simulated.ended[f"job_{tenant}_39"] for tenant in ("second", "third")) < 40
    assert simulated.ended["job_acme_499"] <= 580 / 5 * 1.25


def test_a_tenants_jobs_are_begun_in_the_order_in_which_they_came() -> None:
    simulated = Simulated(1, 1.0, most=4)
    simulated.run(backlog(jobs=30))
    assert list(simulated.ended) == [f"job_acme_{number}" for number in range(30)]


class Killed(BaseException):
    """The process ends here."""


@dataclass
class KillsAt:
    """Shares whose process is killed right before, or right after, its n-th call."""

    shares: LocalShares
    at: int
    is_after: bool
    calls: int = 0

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any, **more: Any) -> Any:
            self.calls += 1
            if self.calls == self.at and not self.is_after:
                raise Killed
            answer = getattr(self.shares, name)(*given, **more)
            if self.calls == self.at:
                raise Killed
            return answer

        return call


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize("at", range(1, 26))
def test_wherever_a_process_is_killed_the_sweep_brings_every_job_to_its_end(
    at: int, *, is_after: bool
) -> None:
    jobs, queue, shares, clock = LocalJobs(State()), Waits(), LocalShares(), FakeClock()
    killing = FairQueues(queue, KillsAt(shares, at, is_after), jobs, most=2, clock=clock)
    waiting = [extract("acme", number) for number in range(5)]
    for one in waiting:
        jobs.put(one)
        try_to(lambda notice: killing.send([notice]), one)
    work(jobs, queue, killing)
    sweeping = FairQueues(queue, shares, jobs, most=2, clock=clock, heals=True)
    for _ in range(2):  # two rounds of the sweep, which sees what is still pending
        clock.advance(60)
        for one in waiting:
            if jobs.get(Scope("acme"), one.id) == one:
                sweeping.send([JobNotice(one.tenant, one.id, one.kind)])
        work(jobs, queue, sweeping)
    assert {
        one.id for one in waiting if (found := jobs.get(Scope("acme"), one.id)) and found.has_ended
    } == {one.id for one in waiting}


def test_a_waiting_job_that_the_sweep_sends_is_not_sent_once_more_when_another_is_done() -> None:
    jobs, queue, shares, clock = LocalJobs(State()), Waits(), LocalShares(), FakeClock()
    queues = FairQueues(queue, shares, jobs, most=1, clock=clock)
    first, second = (extract("acme", number) for number in range(2))
    for one in (first, second):
        jobs.put(one)
        queues.send([JobNotice(one.tenant, one.id, one.kind)])
    jobs.finish(replace(first, state="done", due_at=None))  # its worker is killed before it leaves
    notice = JobNotice(second.tenant, second.id, second.kind)
    FairQueues(queue, shares, jobs, most=1, clock=clock, heals=True).send([notice])
    FairQueues(queue, shares, jobs, most=2, clock=clock).free_place(
        JobNotice(first.tenant, first.id, first.kind)
    )
    assert [each.job_id for each in queue.waiting] == [first.id, second.id]


def try_to(do: Any, one: Job) -> None:
    with suppress(Killed):
        do(JobNotice(one.tenant, one.id, one.kind))


def work(jobs: LocalJobs, queue: Waits, queues: FairQueues) -> None:
    while queue.waiting:
        notice = queue.waiting.popleft()
        found = jobs.get(Scope(notice.tenant), notice.job_id)
        assert found is not None
        if not found.has_ended:
            jobs.finish(replace(found, state="done", due_at=None))
        try_to(queues.free_place, found)


def test_the_operators_rebuild_of_the_index_waits_for_no_tenant() -> None:
    queue, shares = InMemoryQueues(), LocalShares()
    queues = FairQueues(queue, shares, LocalJobs(State()), most=1, clock=FakeClock())
    notices = [JobNotice("acme", f"job_{number}", "reindex") for number in range(3)]
    queues.send(notices)
    assert queue.sent == notices
    assert shares.under_way(Scope("acme"), "reindex") == frozenset()

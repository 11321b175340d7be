from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from palimpsest.clock import FakeClock, SystemClock
from palimpsest.jobs.events import MessageChanged
from palimpsest.scope import Scope
from palimpsest_local.stores.jobs import LocalJobs
from palimpsest_local.stores.sessions import LocalSessions

from tests.contract.builders import NOW, Conversation, job, message, settings

SCOPE = Scope("acme").session("talk")


class Crash(Exception):
    """The process dies here."""


class CrashAt:
    """Lets everything pass until the named step."""

    def __init__(self, step: str = "") -> None:
        self.step = step
        self.seen: list[str] = []

    def __call__(self, step: str) -> None:
        self.seen.append(step)
        if step == self.step:
            raise Crash(step)


@pytest.fixture
def faults() -> CrashAt:
    return CrashAt()


@pytest.fixture
def talk(faults: CrashAt) -> Conversation:
    talk = Conversation(LocalSessions(faults=faults), SCOPE)
    talk.begin()
    faults.seen.clear()
    return talk


@pytest.mark.parametrize(("step", "kept"), [("before commit", []), ("after commit", [1])])
def test_a_crash_comes_before_a_commit_or_after_it(
    talk: Conversation, faults: CrashAt, step: str, kept: list[int]
) -> None:
    faults.step = step
    with pytest.raises(Crash):
        talk.append()
    assert [found.seq for found in talk.sessions.messages(SCOPE, first=1, last=9)] == kept


def test_a_removal_that_crashes_between_its_pages_has_noted_the_first(
    talk: Conversation, faults: CrashAt
) -> None:
    batch = tuple(message(seq) for seq in range(1, 41))
    talk.commit(replace(talk.known, version=2, seq=40), messages=batch)
    assert isinstance(talk.sessions, LocalSessions)
    noted = len(talk.sessions.state.changes)
    faults.step = "after remove"
    with pytest.raises(Crash):
        talk.sessions.remove(SCOPE, first=1, last=40, whole=True)
    left = [found.seq for found in talk.sessions.messages(SCOPE, first=1, last=40)]
    assert left == list(range(26, 41))
    assert talk.sessions.state.changes[noted:] == [
        MessageChanged(SCOPE.tenant, SCOPE.session, seq) for seq in range(1, 26)
    ]


def test_every_write_is_announced(faults: CrashAt) -> None:
    sessions = LocalSessions(faults=faults)
    jobs = LocalJobs(sessions.state)
    talk, made = Conversation(sessions, SCOPE), job(SCOPE)
    talk.begin()
    talk.append(jobs=(made,))
    jobs.start(made.begun(now=NOW))
    jobs.settle(made, due_at=None)
    jobs.finish(replace(made, state="done"))
    sessions.reschedule(SCOPE, settings(), due_at=None)
    steps = ["commit", "commit", "start", "settle", "finish", "reschedule"]
    assert faults.seen == [f"{when} {step}" for step in steps for when in ("before", "after")]


def test_the_outbox_holds_each_job_once_in_order() -> None:
    sessions = LocalSessions()
    talk = Conversation(sessions, SCOPE)
    talk.begin()
    first, second = job(SCOPE), job(SCOPE, id="job_2")
    talk.append(jobs=(first,))
    talk.append(jobs=(second,), finished=replace(first, state="done"))
    assert sessions.outbox == [first, second]


def test_time_moves_only_when_told() -> None:
    clock = FakeClock(datetime(2026, 1, 1, tzinfo=UTC))
    clock.sleep(0.5)
    clock.advance(60)
    assert clock.now() == datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=60.5)


def test_the_systems_clock_tells_utc() -> None:
    clock = SystemClock()
    before = clock.now()
    clock.sleep(0.001)
    assert before < clock.now()
    assert before.tzinfo is UTC

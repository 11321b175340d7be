"""A changed retention reaches the sessions and memories that exist, by a job of bounded steps, and
says so.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from palimpsest.clock import seconds
from palimpsest.conversations.drafts import Draft
from palimpsest.conversations.listing import ListSessions
from palimpsest.conversations.payloads import RetainPayload
from palimpsest.jobs.job import OVERDUE_SECONDS, Job
from palimpsest.memory.record import Record
from palimpsest.memory.removal import retention
from palimpsest.scope import Scope
from palimpsest.tenants.settings import TenantSettings

from tests.service import DAY, SARAH, TENANT
from tests.unit.memory.service import MemoryService, fact


class Retaining(MemoryService):
    """`at_write` is told of each write and may raise or do something there."""

    def __init__(self) -> None:
        self.at_write: Callable[[str], None] = lambda step: None
        super().__init__(faults=self.write)

    def write(self, step: str) -> None:
        self.at_write(step)

    def keep(self, *, sessions: int | None = 30, memories: int | None = 365) -> None:
        """What `PUT settings` does, without the work that follows."""
        self.app.settings.replace(
            TENANT, TenantSettings(retention_days=sessions, memory_days=memories)
        )

    def talk(self, session: str) -> None:
        said = [Draft({"role": "user", "content": "hi"})]
        self.app.append(self.session(session), said, user="sarah", allow_repeat=True)

    def job_of_settings(self) -> Job:
        _, job = self.app.settings.read(TENANT)
        assert job is not None
        return job

    def expiry_of_session(self, session: str = "s") -> int | None:
        """In days after its last activity, as its next visit by the sweep."""
        head, settings = (
            self.head(session),
            self.sessions.open(self.session(session), settings=True).settings,
        )
        assert settings is not None
        assert settings.due_at == head.next_visit
        return None if head.expires_at is None else (head.expires_at - head.updated_second) // DAY

    def lifetimes(self) -> list[int | None]:
        """In days after each record was written or confirmed."""
        return [
            None if record.expires_at is None else _age(record, record.expires_at)
            for record in self.records()
        ]


def _age(record: Record, at: int) -> int:
    assert record.confirmed_at is not None
    return (at - record.confirmed_at) // DAY


@pytest.fixture
def service() -> Retaining:
    return Retaining()


@pytest.mark.parametrize("days", [7, 90, None])
def test_a_changed_retention_reaches_what_exists(service: Retaining, days: int | None) -> None:
    service.talk("s")
    service.say("works in Rome")
    service.time.advance(DAY)
    service.keep(sessions=days, memories=days)
    assert (service.expiry_of_session(), service.lifetimes()) == (30, [365])
    service.drain()
    assert (service.expiry_of_session(), service.lifetimes()) == (days, [days])
    job = service.job_of_settings()
    assert (job.kind, job.state, job.result) == ("retain", "done", {"sessions": 1, "memories": 1})


def test_what_a_shorter_retention_ends_is_gone_at_once_and_removed_by_the_sweep(
    service: Retaining,
) -> None:
    service.talk("s")
    service.say("works in Rome")
    service.time.advance(8 * DAY)
    service.talk("newer")
    service.say("lives in Ulm", topic="home")
    service.keep(sessions=7, memories=7)
    service.drain()
    assert [
        found.id
        for found in ListSessions(service.sessions, service.clock).opened(TENANT, ["s", "newer"])
    ] == ["newer"]
    assert service.current() == ["lives in Ulm"]
    service.time.advance(60)
    service.sweep_all()
    service.drain()
    assert service.head("s").status == "deleted"
    assert service.contents() == ["lives in Ulm"]


def test_a_longer_retention_wakes_nothing_that_has_expired(service: Retaining) -> None:
    service.talk("s")
    service.keep_for(10)
    service.say("works in Rome")
    service.time.advance(31 * DAY)
    service.keep(sessions=None, memories=None)
    service.drain()
    assert service.head().is_gone(seconds(service.time.now()))
    assert service.current() == []
    assert service.job_of_settings().result == {"sessions": 0, "memories": 0}


def test_a_memory_counts_from_when_it_was_last_confirmed_also_where_it_was_kept_for_ever(
    service: Retaining,
) -> None:
    service.keep_for(None)
    service.say("works in Rome")
    service.say("likes tea", topic="drink")
    service.remember(SARAH, [fact("buy milk", type="task", topic=None)])
    service.time.advance(20 * DAY)
    service.say("works in Rome")
    service.keep(memories=10)
    service.drain()
    assert service.current() == ["buy milk", "works in Rome"]
    assert {record.content: record.expires_at is None for record in service.records()}["buy milk"]


def test_settings_without_other_days_begin_nothing(service: Retaining) -> None:
    service.keep()
    assert service.app.settings.read(TENANT)[1] is None
    service.keep(sessions=7)
    job = service.job_of_settings()
    service.app.settings.replace(TENANT, TenantSettings({"strategy": "trim"}, retention_days=7))
    assert service.job_of_settings() == job
    assert [each.kind for each in service.outbox] == ["retain"]


def test_another_tenant_keeps_what_it_has(service: Retaining) -> None:
    other = Scope("other").session("s")
    service.app.append(other, [Draft({"role": "user", "content": "hi"})], user="sarah")
    before = service.sessions.open(other, settings=True)
    service.keep(sessions=7)
    service.drain()
    assert service.sessions.open(other, settings=True) == before


def test_of_two_changes_the_later_one_holds_in_whatever_order_their_jobs_run(
    service: Retaining,
) -> None:
    service.talk("s")
    service.say("works in Rome")
    service.keep(sessions=7, memories=7)
    service.keep(sessions=90, memories=90)
    first, second = (job for job in service.outbox if job.kind == "retain")
    service.handle(second)
    service.handle(first)
    assert (service.expiry_of_session(), service.lifetimes()) == (90, [90])
    assert [service.job(each.id).state for each in (first, second)] == ["done", "done"]


def test_a_change_while_the_settings_are_replaced_is_not_lost(service: Retaining) -> None:
    service.keep(sessions=7)
    stale = service.tenants.settings(TENANT)
    service.keep(sessions=90)
    assert stale.change != service.tenants.settings(TENANT).change

    def another(step: str) -> None:
        if step == "before settings":
            service.at_write = lambda _: None
            service.keep(sessions=5)

    service.at_write = another
    service.keep(sessions=90)  # as was stored when it began: yet it has to begin a job
    assert len({job.id for job in service.outbox if job.kind == "retain"}) == 4
    service.talk("s")
    service.drain()
    assert service.expiry_of_session() == 90


def test_many_pages_are_done_in_steps_and_a_step_begins_where_the_last_one_ended(
    service: Retaining, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "PAGE", 2)
    for number in range(5):
        service.talk(f"s{number}")
        service.say(f"fact {number}", topic=None)
        service.remember(TENANT.user(f"user{number}"), [fact("likes tea")])
    service.keep(sessions=7, memories=7)
    service.at_write = lambda _: service.time.advance(30)
    service.drain()
    steps = [job for job in service.outbox if job.kind == "retain"]
    assert len(steps) > 3
    assert [job.payload_as(RetainPayload).sessions for job in steps] == sorted(
        job.payload_as(RetainPayload).sessions for job in steps
    )
    assert [service.expiry_of_session(f"s{number}") for number in range(5)] == [7] * 5
    assert service.lifetimes() == [7] * 5
    users = [
        service.memories.listed(TENANT.user(f"user{number}"), limit=9).records
        for number in range(5)
    ]
    assert [_age(record, record.expires_at or 0) for (record,) in users] == [7] * 5
    assert service.job_of_settings().result == {"sessions": 5, "memories": 10}


def test_an_append_meanwhile_is_kept_and_follows(service: Retaining) -> None:
    service.talk("s")
    service.keep(sessions=7)

    def append(step: str) -> None:
        if step == "before commit":
            service.at_write = lambda _: None
            service.talk("s")

    service.at_write = append
    service.drain()
    assert (service.head().seq, service.expiry_of_session()) == (2, 7)


def test_a_job_that_got_stuck_goes_on_by_the_sweep_and_the_settings_show_it(
    service: Retaining,
) -> None:
    service.talk("s")
    service.keep(sessions=7)
    service.jobs.start(service.job_of_settings())  # by a release that knew no lease
    service.delivered = len(service.outbox)  # its message was lost
    service.time.advance(OVERDUE_SECONDS + 60)
    service.sweep_all()
    assert service.job_of_settings().state == "running"
    service.drain()
    assert service.expiry_of_session() == 7
    assert service.job_of_settings().state == "done"


def test_a_job_that_failed_begins_again_and_the_settings_show_the_new_one(
    service: Retaining,
) -> None:
    service.talk("s")
    service.keep(sessions=7)
    failed = service.job_of_settings()
    service.fail(failed)
    service.delivered = len(service.outbox)
    assert service.job_of_settings().state == "failed"
    service.time.advance(600)
    service.sweep_all()
    service.drain()
    assert service.expiry_of_session() == 7
    assert (service.job_of_settings().id != failed.id, service.job_of_settings().state) == (
        True,
        "done",
    )

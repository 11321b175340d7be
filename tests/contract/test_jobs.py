from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import pytest
from palimpsest.clock import FakeClock
from palimpsest.conversations.payloads import FlushPayload
from palimpsest.engines.places import job_partition, shard_of
from palimpsest.errors import BadRequest, CommitLost
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.handling import CountedTries
from palimpsest.jobs.job import LEASE_SECONDS, Job
from palimpsest.jobs.ports import Due
from palimpsest.memory.removal.payloads import ForgetPayload
from palimpsest.scope import Scope, SessionScope
from palimpsest_testing.store import Store

from tests.contract.builders import NOW, Conversation, job


@pytest.fixture
def armed(talk: Conversation) -> Job:
    """A job that a commit put, due in a while."""
    talk.begin()
    made = job(talk.scope, due_at=NOW + 100)
    talk.append(jobs=(made,))
    return made


def read(store: Store, of: Job) -> Job | None:
    return store.jobs.get(Scope(of.tenant), of.id)


def ended(of: Job, **more: object) -> Job:
    usage = {"model_calls": 1, "tokens_in": 12, "cost_nano_usd": 250}
    done = replace(of, state="done", due_at=None, result={"first": 1, "last": 9}, usage=usage)
    return replace(done, **more)  # type: ignore[arg-type]


def test_a_job_is_read_as_it_was_put(store: Store, armed: Job) -> None:
    assert read(store, armed) == armed


def test_a_job_that_nothing_else_is_written_with_is_put_once(
    store: Store, talk: Conversation
) -> None:
    payload = ForgetPayload(types=("fact",), min_importance=0.5, session=None, metadata=("0" * 32,))
    made = job(
        talk.scope,
        kind="forget",
        due_at=NOW + 100,
        session="",
        user="sarah",
        epoch=2,
        payload=payload,
    )
    store.jobs.put(made)
    with pytest.raises(CommitLost):
        store.jobs.put(replace(made, payload=ForgetPayload()))
    assert read(store, made) == made
    assert store.jobs.get(Scope("another"), made.id) is None
    assert [due.job_id for due in store.jobs.due(now=NOW + 100, limit=5)] == [made.id]


@pytest.mark.parametrize("newest_first", [True, False])
def test_jobs_of_a_user_are_listed_in_pages_without_their_steps(
    store: Store, talk: Conversation, *, newest_first: bool
) -> None:
    def put(number: int, **more: object) -> str:
        made = job(talk.scope, first=number, last=number, created_at=NOW + number, user="sarah")
        store.jobs.put(replace(made, **more))  # type: ignore[arg-type]
        return made.id

    mine = [put(number) for number in range(7)]
    put(7, parent=mine[0])
    put(8, user="sarah2")
    put(9, user=None)
    put(10, tenant="another")
    sarah = talk.scope.owner.user("sarah")
    seen: list[str] = []
    after = None
    for _ in range(9):
        page, after = store.jobs.listed(sarah, limit=3, after=after, newest_first=newest_first)
        seen += [found.id for found in page]
        if after is None:
            break
    assert seen == (mine[::-1] if newest_first else mine)


def test_a_cursor_of_another_list_of_jobs_is_refused(store: Store, talk: Conversation) -> None:
    for number in range(3):
        store.jobs.put(job(talk.scope, first=number, last=number, user="sarah"))
    sarah = talk.scope.owner.user("sarah")
    _, after = store.jobs.listed(sarah, limit=1)
    for scope, cursor in (
        (talk.scope.owner.user("bob"), after),
        (sarah, "nonsense"),
        (Scope("another").user("sarah"), after),
    ):
        with pytest.raises(BadRequest):
            store.jobs.listed(scope, limit=1, after=cursor)


def test_a_listed_job_is_as_it_is_now(store: Store, armed: Job) -> None:
    store.jobs.put(made := replace(armed, id="job_2", user="sarah"))
    store.jobs.finish(ended(made))
    assert store.jobs.listed(Scope(armed.tenant).user("sarah"), limit=5) == ((ended(made),), None)


def test_a_job_is_its_tenants_alone(store: Store, armed: Job) -> None:
    assert store.jobs.get(Scope("another"), armed.id) is None
    assert store.jobs.get(Scope(armed.tenant), "job_unknown") is None


@pytest.mark.parametrize("job_id", ["", "..", "job_1#x", "x" * 129, "job_\x00"])
def test_an_id_that_is_none_is_refused(store: Store, job_id: str) -> None:
    with pytest.raises(BadRequest):
        store.jobs.get(Scope("acme"), job_id)


def test_a_job_that_is_begun_runs_until_its_worker_must_have_ended(
    store: Store, armed: Job
) -> None:
    for now in (NOW, NOW + 50):  # the second delivery begins it again
        store.jobs.start(armed.begun(now=now))
        assert read(store, armed) == replace(armed, state="running", due_at=now + LEASE_SECONDS)
    assert list(store.jobs.due(now=NOW + LEASE_SECONDS, limit=5)) == []


def test_a_job_that_rests_while_others_do_its_work_is_not_begun_again(
    store: Store, armed: Job
) -> None:
    store.jobs.finish(replace(armed, state="running", due_at=None))
    store.jobs.start(armed.begun(now=NOW))
    assert read(store, armed) == replace(armed, state="running", due_at=None)


def test_starting_a_job_that_ended_or_is_unknown_does_nothing(store: Store, armed: Job) -> None:
    store.jobs.finish(ended(armed))
    store.jobs.start(armed.begun(now=NOW))
    store.jobs.start(replace(armed, id="job_unknown").begun(now=NOW))
    assert read(store, armed) == ended(armed)
    assert store.jobs.get(Scope(armed.tenant), "job_unknown") is None


@pytest.mark.parametrize("state", ["pending", "running"])
def test_finishing_keeps_what_was_to_be_done_and_says_how_it_went(
    store: Store, armed: Job, state: str
) -> None:
    if state == "running":
        store.jobs.start(armed.begun(now=NOW))
    failed = ended(armed, state="failed", error="model_unavailable", due_at=NOW + 7)
    store.jobs.finish(replace(failed, first=77, kind="delete", created_at=1))
    assert read(store, armed) == failed


def test_a_job_ends_once(store: Store, armed: Job) -> None:
    store.jobs.finish(ended(armed))
    with pytest.raises(CommitLost):
        store.jobs.finish(ended(armed, state="failed", error="stuck"))
    assert read(store, armed) == ended(armed)


def test_a_job_that_is_not_there_can_not_be_finished(store: Store, armed: Job) -> None:
    unknown = replace(armed, id="job_unknown")
    with pytest.raises(CommitLost):
        store.jobs.finish(ended(unknown))
    assert read(store, unknown) is None


def test_a_commit_finishes_a_job_or_is_lost_with_it(
    store: Store, talk: Conversation, armed: Job
) -> None:
    before = talk.append(finished=ended(armed))
    assert read(store, armed) == ended(armed)
    with pytest.raises(CommitLost):
        talk.append(finished=ended(armed, state="failed"))
    assert (read(store, armed), store.sessions.open(talk.scope).head) == (ended(armed), before)


def test_one_job_ends_and_its_next_attempt_begins_in_one_commit(
    store: Store, talk: Conversation, armed: Job
) -> None:
    again = job(talk.scope, id="job_again", attempt=1)
    talk.append(finished=ended(armed, state="failed"), jobs=(again,))
    assert (read(store, armed), read(store, again)) == (ended(armed, state="failed"), again)


def test_failed_jobs_of_a_tenant_are_listed_steps_included(
    store: Store, talk: Conversation
) -> None:
    talk.begin()
    tenant = talk.scope.owner
    jobs = [
        replace(job(talk.scope, first=n), created_at=NOW + n, parent="p" if n == 2 else None)
        for n in (1, 2, 3, 4)
    ]
    for each in jobs:
        store.jobs.put(each)
    for each in jobs[:3]:
        store.jobs.finish(ended(each, state="failed", error="stuck"))
    store.jobs.finish(ended(jobs[3]))
    page, after = store.jobs.failed(tenant, limit=2)
    rest, end = store.jobs.failed(tenant, limit=2, after=after)
    assert [each.first for each in (*page, *rest)] == [3, 2, 1]
    assert end is None
    assert store.jobs.failed(Scope("nobody"), limit=9) == ((), None)


def test_settling_changes_only_when_a_job_is_looked_at(store: Store, armed: Job) -> None:
    store.jobs.settle(armed, due_at=NOW + 5)
    assert read(store, armed) == replace(armed, due_at=NOW + 5)
    store.jobs.settle(armed, due_at=NOW + 6, state="running")
    assert read(store, armed) == replace(armed, due_at=NOW + 5)
    store.jobs.settle(armed, due_at=NOW + 6, state="pending")
    assert read(store, armed) == replace(armed, due_at=NOW + 6)
    store.jobs.settle(armed, due_at=None)
    assert read(store, armed) == replace(armed, due_at=None)
    assert list(store.jobs.due(now=NOW + 999, limit=5)) == []


def test_settling_stores_how_many_workers_a_job_has_lost_and_how_many_tries_failed(
    store: Store, armed: Job
) -> None:
    store.jobs.settle(replace(armed, lost=2, tries=3), due_at=NOW + 5)
    assert read(store, armed) == replace(armed, due_at=NOW + 5, lost=2, tries=3)
    store.jobs.start(armed.begun(now=NOW))
    store.jobs.finish(replace(armed, state="running", due_at=NOW + 9))
    assert read(store, armed) == replace(armed, state="running", due_at=NOW + 9, lost=2, tries=3)


def test_a_store_counts_each_failed_try_at_a_job_until_it_has_ended(
    store: Store, armed: Job
) -> None:
    tries, notice = (
        CountedTries(store.jobs, FakeClock()),
        JobNotice(armed.tenant, armed.id, armed.kind),
    )
    assert tries.failed(notice) == 0
    for expected in (1, 2):
        tries.wait(notice, seconds=30)
        assert tries.failed(notice) == expected
    assert not tries.has_failed(notice)
    store.jobs.finish(replace(armed, state="failed", due_at=None))
    tries.wait(notice, seconds=30)
    assert tries.has_failed(notice)
    assert tries.failed(notice) == 2


def test_settling_a_job_that_is_gone_makes_none(store: Store, armed: Job) -> None:
    unknown = replace(armed, id="job_unknown")
    store.jobs.settle(unknown, due_at=NOW)
    assert read(store, unknown) is None
    assert list(store.jobs.due(now=NOW, limit=5)) == []


def test_what_is_due_is_listed_from_its_second_on(store: Store, armed: Job) -> None:
    assert list(store.jobs.due(now=NOW + 99, limit=5)) == []
    assert list(store.jobs.due(now=NOW + 100, limit=5)) == [
        Due(armed.tenant, job_id=armed.id, session_id=None)
    ]


def test_sessions_and_jobs_are_due_side_by_side(store: Store, talk: Conversation) -> None:
    talk.begin(due_at=NOW)
    made = job(talk.scope, due_at=NOW)
    talk.append(jobs=(made,))
    session = Due(talk.scope.tenant, job_id=None, session_id=talk.scope.session)
    assert {*store.jobs.due(now=NOW, limit=5)} == {
        session,
        Due(made.tenant, job_id=made.id, session_id=None),
    }


def test_the_oldest_of_each_shard_come_first_and_no_more_than_asked(
    store: Store, talk: Conversation
) -> None:
    talk.begin()
    shards: defaultdict[str, list[str]] = defaultdict(list)
    for number in range(30):
        made = job(talk.scope, id=_of_two_shards(talk.scope, number), due_at=NOW - number)
        shards[shard_of(job_partition(made))].append(made.id)
        talk.append(jobs=(made,))
    everything = [due.job_id for due in store.jobs.due(now=NOW, limit=30)]
    some = [due.job_id for due in store.jobs.due(now=NOW, limit=2)]
    assert (len(shards), sorted(map(str, everything))) == (
        2,
        sorted(job_id for ids in shards.values() for job_id in ids),
    )
    assert sorted(map(str, some)) == sorted(
        job_id for ids in shards.values() for job_id in ids[-2:]
    )
    assert [job_id for job_id in everything if job_id in some] == some


def _of_two_shards(scope: SessionScope, number: int) -> str:
    """An id of a job that belongs to one of the first two shards."""
    ids = (f"job_{number}_{attempt}" for attempt in range(1_000))
    return next(
        each for each in ids if shard_of(scope.owner.job_partition(each)) == str(number % 2)
    )


@pytest.fixture
def parted(talk: Conversation) -> Job:
    """A job with two parts that a commit put."""
    talk.begin()
    payload = FlushPayload(messages=1, tokens=5)
    made = job(
        talk.scope, kind="flush", due_at=NOW + 100, parts=("extractive", "vector"), payload=payload
    )
    talk.append(jobs=(made,))
    return made


def test_a_part_is_marked_once_however_often_it_is_said(store: Store, parted: Job) -> None:
    assert read(store, parted) == parted
    for _ in range(2):
        store.jobs.mark(parted, "vector")
    found = read(store, parted)
    assert found == replace(parted, stored=frozenset({"vector"}))
    assert found.lacking == {"extractive"}


def test_a_job_is_done_only_with_all_its_parts(store: Store, parted: Job) -> None:
    store.jobs.mark(parted, "vector")
    with pytest.raises(CommitLost):
        store.jobs.finish(ended(parted))
    store.jobs.mark(parted, "extractive")
    store.jobs.finish(ended(parted))
    assert read(store, parted) == ended(parted, stored=frozenset({"extractive", "vector"}))


@pytest.mark.parametrize("end", [{"state": "failed", "error": "stuck"}, {"error": "overtaken"}])
def test_a_job_may_fail_or_be_overtaken_without_its_parts(
    store: Store, parted: Job, end: dict[str, str]
) -> None:
    store.jobs.finish(ended(parted, **end))
    assert read(store, parted) == ended(parted, **end)


def test_what_failed_calls_used_adds_up_in_the_job_that_was_asked_for(
    store: Store, parted: Job
) -> None:
    step = replace(parted, id="job_step", parent=parted.id)
    store.jobs.spend(parted, {"model_calls": 1, "tokens_in": 10})
    store.jobs.finish(ended(parted, state="failed"))
    store.jobs.spend(step, {"model_calls": 2, "tokens_in": 0, "cost_nano_usd": 7})
    store.jobs.spend(replace(parted, id="job_unknown"), {"model_calls": 1})
    spent = {"model_calls": 3, "tokens_in": 10, "cost_nano_usd": 7}
    assert read(store, parted) == ended(parted, state="failed", spent=spent)
    assert store.jobs.get(Scope(parted.tenant), "job_unknown") is None


def test_a_job_that_ended_takes_no_mark(store: Store, parted: Job) -> None:
    store.jobs.finish(ended(parted, state="failed"))
    store.jobs.mark(parted, "vector")
    store.jobs.mark(replace(parted, id="job_unknown"), "vector")
    assert read(store, parted) == ended(parted, state="failed")
    assert store.jobs.get(Scope(parted.tenant), "job_unknown") is None

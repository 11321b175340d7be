"""What an erasure asks of both stores: a session begins in its user's epoch, and what is older goes
in parts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from palimpsest.clock import FakeClock
from palimpsest.conversations.contents import Contents
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.redact import Redact
from palimpsest.conversations.session import Commit, Head
from palimpsest.engines.dynamodb.jobs import DynamoDbJobs
from palimpsest.engines.dynamodb.memories.store import DynamoDbMemories
from palimpsest.engines.dynamodb.sessions.store import DynamoDbSessions
from palimpsest.errors import CommitLost
from palimpsest.jobs.attempts import another_attempt
from palimpsest.jobs.events import JobNotice, MessageChanged, RecordChanged
from palimpsest.jobs.ports import Jobs
from palimpsest.jobs.steps import RestartSteps, UserSteps
from palimpsest.memory.ports import Memories
from palimpsest.memory.record import Source
from palimpsest.memory.removal.epochs import EpochGuard
from palimpsest.memory.removal.memories_of_session import ForgetMemoriesOfSession
from palimpsest.memory.removal.taken_back import TakeBackRedacted, TakeBackSummaries
from palimpsest.memory.removal.users import Erase, ErasePages, receipt
from palimpsest.scope import SessionScope, UserScope
from palimpsest.search import embed as embed_module
from palimpsest.search.embed import Embed
from palimpsest_local.embedded.index import EmbeddedIndex
from palimpsest_local.stores.jobs import LocalJobs
from palimpsest_local.stores.memories import LocalMemories
from palimpsest_local.stores.sessions import LocalSessions
from palimpsest_local.stores.state import State
from palimpsest_local.stores.tenants import LocalUsages
from palimpsest_local.stores.vectors import LocalBlobs

from tests.contract.builders import NOW, Conversation, compaction, key, settings
from tests.contract.memory_builders import Memory, record, version
from tests.contract.search_index.builders import document
from tests.contract.tables import memories_table, sessions_table
from tests.doubles.failing_index import FailingIndex
from tests.doubles.queues import InMemoryQueues
from tests.doubles.tokens import LetterCounter


@dataclass(frozen=True, slots=True)
class Both:
    sessions: Sessions
    jobs: Jobs
    memories: Memories


@pytest.fixture
def both(engine: str, endpoint: str | None) -> Both:
    if engine == "in_memory":
        within = LocalSessions()
        return Both(within, LocalJobs(within.state), LocalMemories(within.state))
    of_sessions, of_memories = sessions_table(endpoint), memories_table(endpoint)
    return Both(
        DynamoDbSessions(of_sessions, memories=of_memories, endpoint=endpoint),
        DynamoDbJobs(of_sessions, endpoint=endpoint),
        DynamoDbMemories(of_memories, of_sessions, endpoint=endpoint),
    )


def beginning(*, epoch: int = 0) -> Commit:
    head = Head(user="sarah", agent="hr", version=1, updated_at=NOW * 1000, epoch=epoch)
    return Commit(before=None, after=head, begins=True, settings=settings())


def test_opening_a_session_for_a_user_tells_their_epoch(
    both: Both, scope: SessionScope, sarah: UserScope
) -> None:
    assert both.sessions.open(scope, user="sarah").epoch == both.sessions.epoch(sarah) == 0
    both.sessions.commit(scope, beginning())
    Memory(both.memories, sarah).erase()
    opened = both.sessions.open(scope, settings=True, key="k", user="sarah")
    assert (opened.epoch, both.sessions.epoch(sarah)) == (1, 1)
    assert opened == replace(
        both.sessions.open(scope, settings=True, key="k"), epoch=1, user_version=opened.user_version
    )
    assert (both.sessions.open(scope, user="tom").epoch, both.sessions.open(scope).epoch) == (0, 0)


def test_the_guard_reads_the_epoch_of_the_sessions_own_user_whoever_is_named(
    both: Both, scope: SessionScope, sarah: UserScope
) -> None:
    both.sessions.commit(scope, beginning())
    used, fresh = EpochGuard(both.sessions), EpochGuard(both.sessions)
    for named in ("sarah", None, "tom"):
        head = used.open(scope, user=named).head
        assert head is not None
        assert not head.is_gone(NOW)
    Memory(both.memories, sarah).erase()
    for guard in (used, fresh):
        for named in ("tom", None, "sarah"):
            head = guard.open(scope, user=named).head
            assert head is not None
            assert head.is_gone(NOW)
        assert guard.open(scope, user="tom").epoch == 0  # in which tom may begin a session anew


def test_parts_of_an_erased_users_sessions_look_expired(
    both: Both, scope: SessionScope, sarah: UserScope
) -> None:
    both.sessions.commit(scope, beginning())
    guard = EpochGuard(both.sessions)
    Memory(both.memories, sarah).erase()
    read = guard.parts(sarah, {scope.session: [1]})
    head = read.sessions[scope.session].head
    assert read.epoch == 1
    assert head is not None
    assert head.is_gone(NOW)
    of_tom = guard.parts(scope.owner.user("tom"), {scope.session: [1]}).sessions[scope.session].head
    assert of_tom is not None
    assert of_tom.user == "sarah"  # the reader sees whose it is, and leaves it out


def test_a_session_is_opened_with_the_version_of_its_users_memory(
    both: Both, scope: SessionScope, sarah: UserScope
) -> None:
    both.sessions.commit(scope, beginning())
    guard = EpochGuard(both.sessions)
    memory = Memory(both.memories, sarah)
    for number in range(2):
        memory.commit(record(number))
        for named in ("sarah", None, "tom"):
            version = guard.open(scope, user=named).user_version
            assert version in (None, both.memories.user(sarah).version)
    assert guard.open(scope, user="tom").user_version is None


def test_a_session_begins_in_the_present_epoch_of_its_user_only(
    both: Both, scope: SessionScope, sarah: UserScope
) -> None:
    other = scope.owner.session("other")
    both.sessions.commit(other, beginning())
    Memory(both.memories, sarah).erase()
    with pytest.raises(CommitLost):
        both.sessions.commit(scope, beginning())
    assert both.sessions.open(scope, settings=True).head is None
    both.sessions.commit(scope, beginning(epoch=1))
    with pytest.raises(CommitLost):
        both.sessions.commit(scope.owner.session("third"), beginning(epoch=2))
    head = both.sessions.open(other).head
    assert head is not None
    grown = Commit(before=head, after=replace(head, version=2))
    both.sessions.commit(other, grown)  # only who begins one is asked for the epoch


@pytest.mark.not_in_process
def test_what_is_older_goes_in_parts_until_nothing_is_left(both: Both, sarah: UserScope) -> None:
    memory = Memory(both.memories, sarah)
    for start in range(0, 150, 50):
        memory.commit(*(record(number) for number in range(start, start + 50)))
    memory.erase()
    memory.commit(record(1), record(2))
    gone: list[int] = []
    while not gone or gone[-1]:
        gone.append(both.memories.wipe(sarah, below_epoch=1, limit=60))
    assert len(gone) > 2
    assert max(gone) <= 110
    assert sum(gone) == 148  # two were written anew before
    assert memory.ids(record(1), record(2), record(3)) == [record(1).id, record(2).id]


def test_an_erasure_leaves_nothing_of_before_and_everything_of_after(
    both: Both, scope: SessionScope, sarah: UserScope
) -> None:
    talk, memory, clock = (
        Conversation(both.sessions, scope),
        Memory(both.memories, sarah),
        FakeClock(),
    )
    talk.begin()
    for number in range(3):
        talk.append(f"no {number}", key=key(f"k{number}", number + 1))
    talk.commit(replace(talk.known, version=talk.known.version + 1), compaction=compaction(1, 2))
    memory.commit(record(1))
    memory.supersede(version(2), version(3))
    job_id = Erase(both.memories, clock)(sarah)
    memory.commit(record(1, "likes tea again"))
    after = scope.owner.session("after")
    both.sessions.commit(
        after, replace(beginning(epoch=1), settings=settings(created_at="2027-01-16T08:00:00.000Z"))
    )
    steps = UserSteps(both.jobs, RestartSteps(both.jobs, clock), clock)
    step = ErasePages(both.sessions, both.memories, LocalUsages(State()), steps, clock)
    for _ in range(2):
        step(JobNotice(scope.tenant, job_id, "erase"))
    job = both.jobs.get(scope.owner, job_id)
    assert job is not None
    assert (job.state, dict(job.result)) == ("done", {"sessions": 1, "memories": 5})
    opened = both.sessions.open(scope, settings=True, key="k1")
    assert opened.head is not None
    assert (opened.head.status, opened.settings, opened.key) == ("deleted", None, None)
    assert list(both.sessions.messages(scope, first=0, last=99)) == []
    assert both.sessions.compactions(scope, first=0, last=99) == ()
    assert both.sessions.listed(scope.owner, user="sarah", limit=9).sessions == ("after",)
    assert [one.content for one in both.memories.listed(sarah, limit=9).records] == [
        "likes tea again"
    ]
    assert both.memories.versions(sarah, "employer") == ()


def test_a_redactions_job_ends_when_the_index_has_lost_what_it_removed(
    both: Both, scope: SessionScope, sarah: UserScope, tmp_path: Path
) -> None:
    talk, memory, clock, queues = (
        Conversation(both.sessions, scope),
        Memory(both.memories, sarah),
        FakeClock(),
        InMemoryQueues(),
    )
    talk.begin()
    talk.append("My card is 4711.")
    said = record(1, "Her card is 4711.", source=Source(scope.session, ("m1",), (1,)))
    memory.commit(said, record(2, "likes tea"))
    index = EmbeddedIndex(tmp_path / "index.sqlite", space=None)
    index.prepare()
    steps = UserSteps(both.jobs, RestartSteps(both.jobs, clock), clock, queues)
    embed = Embed(both.memories, both.sessions, index, None, clock, steps)
    changes = [RecordChanged(sarah.tenant, sarah.user, one.id) for one in (said, record(2))]
    assert embed([MessageChanged(scope.tenant, scope.session, 1), *changes]) == ()
    _, job_id = Redact(both.sessions, LetterCounter(), clock)(scope, 1, content="[redacted]")
    forget = ForgetMemoriesOfSession(both.memories, clock, both.jobs)
    contents = Contents(LocalBlobs(State()), both.jobs, clock)
    summaries = TakeBackSummaries(both.sessions, both.jobs, clock)
    take_back = TakeBackRedacted(both.jobs, steps, forget, summaries, contents)
    take_back(JobNotice(scope.tenant, job_id, "redact"))
    waiting = both.jobs.get(scope.owner, job_id)
    assert waiting is not None
    assert (waiting.state, index.count(sarah)) == ("running", 3)
    assert waiting.stored == {said.id}
    again = another_attempt(waiting, now=NOW)
    both.jobs.put(again)
    assert (
        both.jobs.get(scope.owner, again.id) == again
    )  # an attempt knows what the one before it removed
    assert embed(queues.changes) == ()
    done = both.jobs.get(scope.owner, job_id)
    assert done is not None
    assert (done.state, done.result["memories"]) == ("done", 1)
    assert index.by_words(sarah, "card 4711", k=9) == ()


def test_an_erasures_job_ends_when_the_index_holds_nothing_of_before(
    both: Both, scope: SessionScope, sarah: UserScope, tmp_path: Path
) -> None:
    talk, memory, clock, queues = (
        Conversation(both.sessions, scope),
        Memory(both.memories, sarah),
        FakeClock(),
        InMemoryQueues(),
    )
    talk.begin()
    talk.append("My card is 4711.")
    memory.commit(record(1, "Her card is 4711."), record(2, "likes tea"))
    index = FailingIndex(EmbeddedIndex(tmp_path / "index.sqlite", space=None))
    index.prepare()
    steps = UserSteps(both.jobs, RestartSteps(both.jobs, clock), clock, queues)
    embed = Embed(both.memories, both.sessions, index, None, clock, steps)
    changes = [RecordChanged(sarah.tenant, sarah.user, record(number).id) for number in (1, 2)]
    assert embed([MessageChanged(scope.tenant, scope.session, 1), *changes]) == ()
    forgotten = ("without-a-tombstone/7", "mem_of_a_lost_change")
    index.write(sarah, [document(name, "My card is 4711.") for name in forgotten])
    job_id = Erase(both.memories, clock)(sarah)
    memory.commit(record(2, "likes tea"))  # she is back
    ErasePages(both.sessions, both.memories, LocalUsages(State()), steps, clock)(
        JobNotice(scope.tenant, job_id, "erase")
    )
    clock.advance(1)
    states = {name: each["state"] for name, each in receipt_of(both, scope, job_id).items()}
    assert (states["memories"], states["usage"], states["index"]) == ("done", "nameless", "pending")
    for index.down, index.unwritable in ((True, set()), (False, {*forgotten})):
        assert embed(queues.changes) == tuple(queues.changes)
    assert receipt_of(both, scope, job_id)["index"] == {"state": "pending"}
    index.unwritable = set()
    assert embed(queues.changes) == ()
    assert index.keys(sarah, limit=9) == (record(2).id,)
    assert receipt_of(both, scope, job_id)["index"] == {"state": "done"}


def receipt_of(both: Both, scope: SessionScope, job_id: str) -> dict[str, dict[str, Any]]:
    job = both.jobs.get(scope.owner, job_id)
    assert job is not None
    return receipt(job, log_days=90)


def test_an_erasure_of_many_documents_looks_at_them_in_several_deliveries(
    both: Both, sarah: UserScope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, queues = FakeClock(), InMemoryQueues()
    monkeypatch.setattr(embed_module, "AT_ONCE", 3)
    monkeypatch.setattr(embed_module, "PAGES_AT_ONCE", 2)
    index = EmbeddedIndex(tmp_path / "index.sqlite", space=None)
    index.prepare()
    index.write(sarah, [document(f"mem_{number}", "tea") for number in range(20)])
    steps = UserSteps(both.jobs, RestartSteps(both.jobs, clock), clock, queues)
    job_id = Erase(both.memories, clock)(sarah)
    ErasePages(both.sessions, both.memories, LocalUsages(State()), steps, clock)(
        JobNotice(sarah.tenant, job_id, "erase")
    )
    embed = Embed(both.memories, both.sessions, index, None, clock, steps)
    left = []
    while embed(queues.changes):
        left.append(len(index.keys(sarah, limit=9)))
    assert left == [8, 0]
    assert index.keys(sarah, limit=9) == ()

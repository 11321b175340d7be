"""What may be known, over DynamoDB: traces of deletions, marks of messages, and the hunt for planted
words through the whole service.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from moto import mock_aws
from palimpsest.clock import stamp
from palimpsest.engines.dynamodb.jobs import DynamoDbExpiries, DynamoDbJobs
from palimpsest.engines.dynamodb.memories.store import DynamoDbMemories
from palimpsest.engines.dynamodb.memories.vectors import DynamoDbVectors
from palimpsest.engines.dynamodb.sessions.store import DynamoDbSessions
from palimpsest.jobs.events import Changed, JobNotice, MessageChanged, RecordChanged
from palimpsest.jobs.job import Job
from palimpsest.memory.burials import Burial
from palimpsest.memory.ports import MemoryCommit
from palimpsest.scope import Scope
from palimpsest.stores import OwnStores
from palimpsest_local.stores.state import State
from palimpsest_local.stores.tenants import LocalStaticFacts
from palimpsest_local.stores.vectors import LocalBlobs
from palimpsest_testing.store import MemoryStore

from tests.contract.memory_builders import job
from tests.contract.tables import memories_table, sessions_table
from tests.service import SARAH, TENANT
from tests.unit.privacy.hunt import Hunt

BURIAL = Burial(
    "mem_1",
    at=5,
    topics=("a",),
    subject="b",
    said=("c", "d"),
    words=("e",),
    values=("f",),
    names=("g",),
    distinct=("h",),
    abouts=("i",),
    areas=("j",),
    is_somebody=True,
    meanings=("k",),
    stated=4,
)


def test_the_trace_of_a_deletion_is_read_as_it_was_stored(memories: MemoryStore) -> None:
    store = memories.memories
    assert store.burials(SARAH) == ()
    store.commit(SARAH, MemoryCommit(epoch=0, buried=(BURIAL, replace(BURIAL, id="mem_2"))))
    store.commit(SARAH, MemoryCommit(epoch=0, buried=(replace(BURIAL, at=6),)))
    assert {burial.id: burial.at for burial in store.burials(SARAH)} == {"mem_1": 6, "mem_2": 5}
    assert replace(BURIAL, at=6) in store.burials(SARAH)
    assert store.burials(Scope("acme").user("david")) == ()
    assert (
        store.room(MemoryCommit(epoch=0)) - store.room(MemoryCommit(epoch=0, buried=(BURIAL,))) == 1
    )


def test_an_erasure_takes_the_traces_of_deletions_along(memories: MemoryStore) -> None:
    store = memories.memories
    store.commit(SARAH, MemoryCommit(epoch=0, buried=(BURIAL,)))
    store.erase(SARAH, epoch=0, job=job(SARAH))
    assert store.burials(SARAH) == ()
    store.wipe(SARAH, below_epoch=1)
    assert store.burials(SARAH) == ()


class Stream:
    """Implements `Feed`: what the tables' streams would carry, in the order of the commits."""

    def __init__(self) -> None:
        self.put: list[Job] = []
        self.changed: list[Changed] = []

    def jobs(self) -> Sequence[JobNotice]:
        put, self.put = self.put, []
        return [JobNotice(job.tenant, job.id, job.kind) for job in put]

    def changes(self) -> Sequence[Changed]:
        changed, self.changed = self.changed, []
        return changed


@pytest.fixture
def own() -> Iterator[OwnStores]:
    with mock_aws():
        yield stores()


def stores() -> OwnStores:
    stream, table, jobs = Stream(), memories_table(None), sessions_table(None)

    class Sessions(DynamoDbSessions):
        def commit(self, scope, commit):  # type: ignore[no-untyped-def]
            super().commit(scope, commit)
            stream.put += commit.jobs
            written = (*commit.messages, *commit.marked)
            stream.changed += [
                MessageChanged(scope.tenant, scope.session, each.seq) for each in written
            ]

    class Jobs(DynamoDbJobs):
        def put(self, job: Job) -> None:
            super().put(job)
            stream.put.append(job)

    class Memories(DynamoDbMemories):
        def commit(self, scope, commit):  # type: ignore[no-untyped-def]
            super().commit(scope, commit)
            stream.put += [commit.job] if commit.job else []
            changed = (*commit.new, *commit.changed, *commit.removed)
            stream.changed += [RecordChanged(scope.tenant, scope.user, one.id) for one in changed]

    return OwnStores(
        sessions=Sessions(jobs, memories=table),
        jobs=Jobs(jobs),
        memories=Memories(table, jobs),
        expiries=DynamoDbExpiries(table),
        blobs=LocalBlobs(State()),
        facts=LocalStaticFacts(),
        vectors=DynamoDbVectors(table),
        feed=stream,
    )


@pytest.mark.parametrize("model", [False, True])
def test_no_place_over_dynamodb_holds_what_may_not_be_known(own: OwnStores, *, model: bool) -> None:
    hunt = Hunt(model=model, own=own)
    said = stamp(hunt.clock.now())
    hunt.say("s", "My wifi password is Xylophone77, and I live in Kiel.")
    hunt.say("s", "Off the record, my cousin Quillon owes me money.")
    hunt.say("s", "I work with Wilhelmina at Acme.")
    hunt.say("s", "Forget what I just said.")
    hunt.later()
    hunt.service.manage_memories.delete(SARAH, hunt.id_of("Kiel"))
    hunt.work()
    for heard in (hunt.embedder.asked, hunt.chat.read, hunt.reranker.read):
        heard.clear()
    hunt.ingest([{"role": "user", "content": "I live in Kiel.", "timestamp": said}], session="t")
    words = ("Xylophone77", "Quillon", "Wilhelmina", "Kiel")
    assert hunt.leaks(*words, question="Where do I live, and with whom do I work?") == []
    window = str(hunt.service.context(TENANT.session("s")).messages)
    assert [word in window for word in words] == [True] * 4

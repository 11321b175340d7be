"""What a deleted session leaves behind: nothing that it alone had taught, everything that others say as well."""

from __future__ import annotations

import pytest
from palimpsest.errors import NotFound, Unavailable
from palimpsest.extraction.chunk import Chunk
from palimpsest.jobs.job import OVERDUE_SECONDS, Job
from palimpsest.jobs.ports import JobNotice
from palimpsest.memory.records import Source
from palimpsest.memory.statements import Statement

from tests.unit.extraction.extraction_world import SARAH, TENANT, ExtractionWorld, erase


class Deleting(ExtractionWorld):
    """Sessions that are extracted, deleted, and removed by their job."""

    def __init__(self) -> None:
        super().__init__()
        self.manage = self.app.manage
        self.managing, self.remembering = self.memories_app.manage_memories, self.memories_app.remember

    def learn(self, session: str, *texts: str) -> None:
        """What the user says in the session, extracted."""
        self.time.advance(1)
        self.say(*texts, session=session)
        self.ask(session)
        self.drain()

    def delete(self, session: str, *, keep_memories: bool = False) -> Job:
        job = self.begin_to_delete(session, keep_memories=keep_memories)
        self.remove(job)
        return self.job(job.id)

    def begin_to_delete(self, session: str, *, keep_memories: bool = False) -> Job:
        return self.job(self.manage.delete(self.session(session), keep_memories=keep_memories))

    def remove(self, job: Job) -> None:
        self.removal.step(JobNotice(job.tenant, job.id, job.kind))


@pytest.fixture
def world() -> Deleting:
    return Deleting()


def test_what_it_alone_taught_goes_with_a_session(world: Deleting) -> None:
    world.learn("a", "fact: likes tea", "fact[city]: lives in Rome")
    world.learn("b", "fact: has a dog")
    job = world.delete("a")
    assert world.contents() == ["has a dog"]
    assert (job.state, job.result["forgotten"]) == ("done", 2)
    assert world.current("city") is None


def test_it_stays_if_that_is_wanted(world: Deleting) -> None:
    world.learn("a", "fact: likes tea")
    job = world.delete("a", keep_memories=True)
    assert world.contents() == ["likes tea"]
    assert "forgotten" not in job.result


def test_a_session_that_expires_leaves_its_memories(world: Deleting) -> None:
    world.learn("a", "fact: likes tea")
    world.time.advance(31 * 24 * 3600)
    world.sweep_all()
    (job,) = [each for each in world.sessions.outbox if each.kind == "delete"]
    world.remove(job)
    assert world.contents() == ["likes tea"]
    assert world.records()[0].source.quote is not None


def test_what_another_session_said_too_stays_and_rests_on_that_one(world: Deleting) -> None:
    world.learn("a", "fact: likes tea")
    world.learn("b", "fact: likes tea")
    world.learn("c", "fact: likes tea")
    assert world.delete("a").result["forgotten"] == 0
    (kept,) = world.records()
    assert (kept.content, kept.source, kept.also) == ("likes tea", Source("b"), ("c",))
    world.delete("c")
    assert (world.records()[0].source.session, world.records()[0].also) == ("b", ())
    assert world.delete("b").result["forgotten"] == 1
    assert world.contents() == []


def test_a_version_that_another_session_said_too_stays_without_its_words(world: Deleting) -> None:
    for session in "abc":
        world.learn(session, "fact[city]: lives in Rome")
    assert len(world.memories.versions(SARAH, "city")) == 3
    assert world.delete("a").result["forgotten"] == 0
    assert world.delete("c").result["forgotten"] == 0
    (kept,) = world.memories.versions(SARAH, "city")
    assert kept.source.session == world.records()[0].source.session == "b"
    assert world.current("city") == "lives in Rome"
    assert world.delete("b").result["forgotten"] == 1
    assert world.memories.versions(SARAH, "city") == ()
    assert world.current("city") is None


def test_what_was_said_before_in_another_session_does_not_come_back_as_current(world: Deleting) -> None:
    world.learn("a", "fact[city]: lives in Rome")
    world.learn("b", "fact[city]: lives in Paris")
    world.delete("b")
    assert (world.contents(), world.current("city")) == (["lives in Rome"], None)


def test_what_was_given_without_a_session_stays_and_so_does_what_others_remember(world: Deleting) -> None:
    world.remembering(SARAH, [Statement("fact", "given")])
    world.remembering(TENANT.user("bob"), [Statement("fact", "bob's", source=Source("a"))])
    world.learn("a", "fact: likes tea", "fact: given")
    world.delete("a")
    assert world.contents() == ["given"]
    assert len(world.memories.listed(TENANT.user("bob"), limit=9).records) == 1


def test_what_went_with_its_session_is_not_extracted_again_by_a_late_job(world: Deleting) -> None:
    world.say("fact: likes tea", session="a")
    late = world.ask("a")
    finds = world.extractor.finds

    def meanwhile(chunk: Chunk) -> object:
        world.delete("a")
        return finds(chunk)

    world.extractor.finds = meanwhile
    world.handle(late)
    assert world.contents() == []
    assert world.job(late.id).error == "session_gone"


def test_an_extraction_that_looked_before_the_deletion_commits_nothing_after_it(world: Deleting) -> None:
    """It has found the session there, and is about to commit when the whole deletion passes by."""
    world.say("fact: likes tea", session="a")
    late = world.ask("a")
    doomed = ["a"]

    def meanwhile(step: str) -> None:
        if step == "before commit memories" and doomed:
            world.delete(doomed.pop())

    world.sessions.state.faults = meanwhile
    world.handle(late)
    assert world.contents() == []


def test_what_the_next_life_of_the_session_teaches_stays(world: Deleting) -> None:
    world.learn("a", "fact: likes tea", "fact[city]: lives in Rome")
    job = world.begin_to_delete("a")
    world.learn("a", "fact: likes coffee", "fact[city]: lives in Paris")
    world.remembering(SARAH, [Statement("fact", "given", source=Source("a"))])
    world.remove(job)
    assert world.contents() == ["given", "likes coffee", "lives in Paris"]
    world.learn("a", "fact: plays chess")
    assert world.contents() == ["given", "likes coffee", "lives in Paris", "plays chess"]
    world.delete("a")
    assert world.contents() == []


@pytest.mark.parametrize(
    "moment", ["before commit memories", "after commit memories", "before remove", "before finish"]
)
def test_a_deletion_that_is_cut_off_is_done_by_the_next_delivery(world: Deleting, moment: str) -> None:
    world.learn("a", "fact: likes tea", "fact[city]: lives in Rome")
    world.learn("b", "fact: likes tea")
    job = world.begin_to_delete("a")
    crashes = iter([Unavailable("killed")])

    def crash(step: str) -> None:
        if step == moment:
            for error in crashes:
                raise error

    world.sessions.state.faults = crash
    with pytest.raises(Unavailable):
        world.remove(job)
    world.remove(job)
    world.remove(job)
    assert (world.contents(), world.job(job.id).state) == (["likes tea"], "done")


def test_a_lost_deletion_still_forgets_when_the_sweep_begins_it_again(world: Deleting) -> None:
    world.learn("a", "fact: likes tea")
    world.begin_to_delete("a")
    world.time.advance(OVERDUE_SECONDS + 1)
    world.sweep_all()
    world.remove(world.sessions.outbox[-1])
    assert world.contents() == []


def test_a_deletion_that_meets_an_erasure_leaves_the_new_life_alone(world: Deleting) -> None:
    world.learn("a", "fact: likes tea")
    job = world.begin_to_delete("a")
    erase(world)
    world.remembering(SARAH, [Statement("fact", "new", source=Source("a"))])
    world.remove(job)
    assert (world.contents(), world.job(job.id).state) == (["new"], "done")


@pytest.mark.parametrize("times", [1, 60, 61, 95, 250])
def test_one_memory_goes_however_often_it_was_said(world: Deleting, times: int) -> None:
    for number in range(times):
        said = Statement("fact", "lives in Rome", topic="city", source=Source(f"s{number}"), valid_from=number + 1)
        world.remembering(SARAH, [said])
    (record,) = world.records()
    assert len(world.memories.versions(SARAH, "city")) == times
    world.managing.delete(SARAH, record.id)
    assert (world.records(), world.memories.versions(SARAH, "city"), world.current("city")) == ([], (), None)
    with pytest.raises(NotFound):
        world.managing.read(SARAH, record.id)

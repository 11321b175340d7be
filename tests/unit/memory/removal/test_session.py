"""What a deleted session leaves behind: nothing that it alone had taught, everything that others
say as well.
"""

from __future__ import annotations

import pytest
from palimpsest.errors import NotFound, Unavailable
from palimpsest.extraction.chunk import Chunk
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import OVERDUE_SECONDS, Job
from palimpsest.memory.record import Source
from palimpsest.memory.statements import Statement

from tests.service import SARAH, TENANT
from tests.unit.extraction.service import ExtractionService, erase


class Deleting(ExtractionService):
    """Sessions that are extracted, deleted, and removed by their job."""

    def __init__(self) -> None:
        super().__init__()
        self.manage = self.app.manage
        self.managing, self.remembering = (
            self.memories_app.manage_memories,
            self.memories_app.remember,
        )

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
def service() -> Deleting:
    return Deleting()


def test_what_it_alone_taught_goes_with_a_session(service: Deleting) -> None:
    service.learn("a", "fact: likes tea", "fact[city]: lives in Rome")
    service.learn("b", "fact: has a dog")
    job = service.delete("a")
    assert service.contents() == ["has a dog"]
    assert (job.state, job.result["forgotten"]) == ("done", 2)
    assert service.current("city") is None


def test_it_stays_if_that_is_wanted(service: Deleting) -> None:
    service.learn("a", "fact: likes tea")
    job = service.delete("a", keep_memories=True)
    assert service.contents() == ["likes tea"]
    assert "forgotten" not in job.result


def test_a_session_that_expires_leaves_its_memories(service: Deleting) -> None:
    service.learn("a", "fact: likes tea")
    service.time.advance(31 * 24 * 3600)
    service.sweep_all()
    (job,) = [each for each in service.sessions.outbox if each.kind == "delete"]
    service.remove(job)
    assert service.contents() == ["likes tea"]
    assert service.records()[0].source.quote is not None


def test_what_another_session_said_too_stays_and_rests_on_that_one(service: Deleting) -> None:
    service.learn("a", "fact: likes tea")
    service.learn("b", "fact: likes tea")
    service.learn("c", "fact: likes tea")
    assert service.delete("a").result["forgotten"] == 0
    (kept,) = service.records()
    assert (kept.content, kept.source, kept.also) == ("likes tea", Source("b"), ("c",))
    service.delete("c")
    assert (service.records()[0].source.session, service.records()[0].also) == ("b", ())
    assert service.delete("b").result["forgotten"] == 1
    assert service.contents() == []


def test_a_version_that_another_session_said_too_stays_without_its_words(service: Deleting) -> None:
    for session in "abc":
        service.learn(session, "fact[city]: lives in Rome")
    assert len(service.memories.versions(SARAH, "city")) == 3
    assert service.delete("a").result["forgotten"] == 0
    assert service.delete("c").result["forgotten"] == 0
    (kept,) = service.memories.versions(SARAH, "city")
    assert kept.source.session == service.records()[0].source.session == "b"
    assert service.current("city") == "lives in Rome"
    assert service.delete("b").result["forgotten"] == 1
    assert service.memories.versions(SARAH, "city") == ()
    assert service.current("city") is None


def test_what_was_said_before_in_another_session_does_not_come_back_as_current(
    service: Deleting,
) -> None:
    service.learn("a", "fact[city]: lives in Rome")
    service.learn("b", "fact[city]: lives in Paris")
    service.delete("b")
    assert (service.contents(), service.current("city")) == (["lives in Rome"], None)


def test_what_was_given_without_a_session_stays_and_so_does_what_others_remember(
    service: Deleting,
) -> None:
    service.remembering(SARAH, [Statement("fact", "given")])
    service.remembering(TENANT.user("bob"), [Statement("fact", "bob's", source=Source("a"))])
    service.learn("a", "fact: likes tea", "fact: given")
    service.delete("a")
    assert service.contents() == ["given"]
    assert len(service.memories.listed(TENANT.user("bob"), limit=9).records) == 1


def test_a_deletion_that_is_begun_again_leaves_what_was_remembered_after_it(
    service: Deleting,
) -> None:
    service.learn("a", "hello")
    service.remembering(SARAH, [Statement("fact", "of the deleted session", source=Source("a"))])
    job = service.begin_to_delete("a")
    service.fail(job)
    service.time.advance(1)
    service.learn("a", "hello again")
    service.remembering(SARAH, [Statement("fact", "of the session after it", source=Source("a"))])
    service.time.advance(OVERDUE_SECONDS)
    service.sweep_all()
    (again,) = [each for each in service.all_jobs() if each.kind == "delete" and each.attempt]
    service.remove(again)
    assert service.contents() == ["of the session after it"]


def test_what_went_with_its_session_is_not_extracted_again_by_a_late_job(service: Deleting) -> None:
    service.say("fact: likes tea", session="a")
    late = service.ask("a")
    finds = service.extractor.finds

    def meanwhile(chunk: Chunk) -> object:
        service.delete("a")
        return finds(chunk)

    service.extractor.finds = meanwhile
    service.handle(late)
    assert service.contents() == []
    assert service.job(late.id).error == "session_gone"


def test_an_extraction_that_looked_before_the_deletion_commits_nothing_after_it(
    service: Deleting,
) -> None:
    """It has found the session there, and is about to commit when the whole deletion passes by."""
    service.say("fact: likes tea", session="a")
    late = service.ask("a")
    doomed = ["a"]

    def meanwhile(step: str) -> None:
        if step == "before commit memories" and doomed:
            service.delete(doomed.pop())

    service.sessions.state.faults = meanwhile
    service.handle(late)
    assert service.contents() == []


def test_what_the_next_life_of_the_session_teaches_stays(service: Deleting) -> None:
    service.learn("a", "fact: likes tea", "fact[city]: lives in Rome")
    job = service.begin_to_delete("a")
    service.learn("a", "fact: likes coffee", "fact[city]: lives in Paris")
    service.remembering(SARAH, [Statement("fact", "given", source=Source("a"))])
    service.remove(job)
    assert service.contents() == ["given", "likes coffee", "lives in Paris"]
    service.learn("a", "fact: plays chess")
    assert service.contents() == ["given", "likes coffee", "lives in Paris", "plays chess"]
    service.delete("a")
    assert service.contents() == []


@pytest.mark.parametrize(
    "moment", ["before commit memories", "after commit memories", "before remove", "before finish"]
)
def test_a_deletion_that_is_cut_off_is_done_by_the_next_delivery(
    service: Deleting, moment: str
) -> None:
    service.learn("a", "fact: likes tea", "fact[city]: lives in Rome")
    service.learn("b", "fact: likes tea")
    job = service.begin_to_delete("a")
    crashes = iter([Unavailable("killed")])

    def crash(step: str) -> None:
        if step == moment:
            for error in crashes:
                raise error

    service.sessions.state.faults = crash
    with pytest.raises(Unavailable):
        service.remove(job)
    service.remove(job)
    service.remove(job)
    assert (service.contents(), service.job(job.id).state) == (["likes tea"], "done")


def test_a_lost_deletion_still_forgets_when_the_sweep_begins_it_again(service: Deleting) -> None:
    service.learn("a", "fact: likes tea")
    service.begin_to_delete("a")
    service.time.advance(OVERDUE_SECONDS + 1)
    service.sweep_all()
    service.remove(service.sessions.outbox[-1])
    assert service.contents() == []


def test_a_deletion_that_meets_an_erasure_leaves_the_new_life_alone(service: Deleting) -> None:
    service.learn("a", "fact: likes tea")
    job = service.begin_to_delete("a")
    erase(service)
    service.remembering(SARAH, [Statement("fact", "new", source=Source("a"))])
    service.remove(job)
    assert (service.contents(), service.job(job.id).state) == (["new"], "done")


@pytest.mark.parametrize("times", [1, 60, 61, 95, 250])
def test_one_memory_goes_however_often_it_was_said(service: Deleting, times: int) -> None:
    for number in range(times):
        said = Statement(
            "fact",
            "lives in Rome",
            topic="city",
            source=Source(f"s{number}"),
            valid_from=number + 1,
        )
        service.remembering(SARAH, [said])
    (record,) = service.records()
    assert len(service.memories.versions(SARAH, "city")) == times
    service.managing.delete(SARAH, record.id)
    assert (
        service.records(),
        service.memories.versions(SARAH, "city"),
        service.current("city"),
    ) == ([], (), None)
    with pytest.raises(NotFound):
        service.managing.read(SARAH, record.id)

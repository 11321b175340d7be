"""An erasure in steps: cut off anywhere, delivered twice, met by writers, and never more or less
than what was.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import count, repeat
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from palimpsest.conversations.manage import SessionRequest
from palimpsest.conversations.ports import Listed
from palimpsest.errors import NotFound, Unavailable
from palimpsest.jobs.attempts import retry_delay
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import OVERDUE_SECONDS, Job
from palimpsest.memory.removal.epochs import EpochGuard
from palimpsest.memory.removal.users import SESSIONS_AT_ONCE
from palimpsest.memory.statements import Statement

from tests.service import TENANT
from tests.unit.conversations.service import ConversationService

SARAH = TENANT.user("sarah")


class Erasing(ConversationService):
    """The service with long-term memory and the workers that erase and extract."""

    def __init__(self) -> None:
        super().__init__(long_term=True)
        self.remembering, self.erasing = self.memories_app.remember, self.memories_app.erase

    def remember(self, *facts: str) -> None:
        self.remembering(SARAH, [Statement("fact", fact) for fact in facts])

    def extract(self, session: str) -> None:
        assert self.app.extract is not None
        self.app.extract(self.session(session))

    def erase(self) -> Job:
        return self.now(self.erasing(SARAH))

    def now(self, job_id: str) -> Job:
        found = self.jobs.get(TENANT, job_id)
        assert found is not None
        return found

    def said(self, session: str) -> list[str]:
        """What a reader sees of the session."""
        try:
            page, _ = self.app.history.messages(self.session(session), limit=100)
        except NotFound:
            return []
        return [str(message.chat["content"]) for message in page]

    def stored(self, session: str) -> int:
        """How many messages the store holds of it, seen or unseen."""
        found = self.sessions.state.partitions.get((TENANT.tenant, session))
        return len(found.messages.between(0, 10**9)) if found else 0

    def left(self) -> int:
        """Items of earlier epochs."""
        known = self.memories.part_of(TENANT.user("sarah"))
        return sum(len(era.keys()) for epoch, era in known.eras.items() if epoch < known.user.epoch)


@pytest.fixture
def service() -> Erasing:
    return Erasing()


def filled(service: Erasing, sessions: int = 3) -> Erasing:
    for number in range(sessions):
        service.append("fact: said", "and more", session=f"s{number}")
    service.remember("likes tea", "has a dog")
    return service


WRITES = ("commit", "remove", "wipe", "start", "finish", "put job")


@pytest.mark.parametrize(
    "moment", [f"{when} {write}" for write in WRITES for when in ("before", "after")]
)
def test_a_crash_at_any_write_is_made_good_by_the_next_delivery(
    service: Erasing, moment: str
) -> None:
    filled(service)
    job = service.erase()
    slow(service, seconds=20)
    crashes = crash_at(service, moment)
    for _ in range(3):
        try:
            service.drain()
        except Unavailable:
            service.delivered -= 1  # its message comes again
    assert crashes == [moment]
    assert [service.stored(f"s{number}") for number in range(3)] == [0, 0, 0]
    assert service.left() == 0
    done = service.now(job.id)
    assert (done.state, done.error) == ("done", None)
    assert done.result["sessions"] <= 3


def slow(service: Erasing, *, seconds: float) -> None:
    """Every removal takes so long, so that the job takes several steps."""

    def takes(step: str) -> None:
        if step in ("after remove", "after wipe"):
            service.time.advance(seconds)

    service.sessions.state.faults = takes


def crash_at(service: Erasing, moment: str) -> list[str]:
    """The first write of that kind is cut off, once."""
    crashes: list[str] = []
    otherwise = service.sessions.state.faults

    def crash(step: str) -> None:
        otherwise(step)
        if step == moment and not crashes:
            crashes.append(step)
            raise Unavailable("killed")

    service.sessions.state.faults = crash
    return crashes


def test_steps_are_bounded_and_the_job_that_was_asked_for_tells_how_far_they_came(
    service: Erasing,
) -> None:
    filled(service, sessions=SESSIONS_AT_ONCE + 2)
    slow(service, seconds=3)
    job = service.erase()
    service.handle(job)
    after_one = service.now(job.id)
    assert (after_one.state, after_one.result) == ("running", {"sessions": SESSIONS_AT_ONCE})
    service.drain()
    assert len([each for each in service.outbox if each.kind == "erase"]) > 1
    done = service.now(job.id)
    assert (done.state, done.result["sessions"]) == ("done", SESSIONS_AT_ONCE + 2)
    assert {service.now(each.id).state for each in service.outbox} == {"done"}


def test_a_message_delivered_twice_changes_nothing(service: Erasing) -> None:
    job = filled(service).erase()
    service.drain()
    result = service.now(job.id).result
    service.append("new", session="s0")
    service.remember("likes coffee")
    for each in list(service.outbox):
        service.handle(each)
    assert (service.said("s0"), service.contents()) == (["new"], ["likes coffee"])
    assert service.now(job.id).result == result


def test_a_lost_or_failed_erasure_is_begun_again_by_the_sweep(service: Erasing) -> None:
    lost = filled(service).erase()
    service.delivered = len(service.outbox)
    service.time.advance(OVERDUE_SECONDS + 1)
    service.sweep()
    (again,) = [each for each in service.outbox if each.kind == "erase" and each.id != lost.id]
    service.removal.give_up(JobNotice(again.tenant, again.id, again.kind), error="unavailable")
    service.time.advance(retry_delay(again.attempt) + 1)
    service.sweep()
    service.drain()
    assert (service.now(lost.id).state, service.left(), service.stored("s1")) == ("done", 0, 0)


def test_a_session_that_the_list_did_not_name_at_first_is_found_the_second_time(
    service: Erasing, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = filled(service, sessions=2).erase()
    listed = service.sessions.listed
    answers = [Listed((), None)]

    def lagging(*place: Any, **more: Any) -> Listed:
        return answers.pop() if answers else listed(*place, **more)

    monkeypatch.setattr(service.sessions, "listed", lagging)
    service.drain()
    assert (service.stored("s0"), service.stored("s1"), service.now(job.id).result["sessions"]) == (
        0,
        0,
        2,
    )


def test_a_session_that_begins_while_its_user_is_erased_is_of_the_new_life(
    service: Erasing,
) -> None:
    """The epoch was read before the erasure, the transaction comes after it."""
    erased: list[Job] = []

    def meanwhile(step: str) -> None:
        if step == "before commit" and not erased:
            erased.append(service.erase())

    service.sessions.state.faults = meanwhile
    service.append("first", session="s0")
    service.app.manage.create(
        service.session("s1"), user="sarah", agent=None, wanted=SessionRequest()
    )
    service.drain()
    assert erased
    assert service.said("s0") == ["first"]
    assert service.app.manage.read(service.session("s1")).head.epoch == 1


def test_an_append_that_meets_the_removal_of_its_session_begins_it_again(service: Erasing) -> None:
    filled(service, sessions=1)
    meets: list[str] = []

    def meanwhile(step: str) -> None:
        if step == "before commit" and not meets:
            meets.append(step)
            service.erase()
            service.drain()

    service.sessions.state.faults = meanwhile
    service.append("after all", session="s0")
    service.drain()
    assert (service.said("s0"), service.stored("s0")) == (["after all"], 1)


def test_an_erased_session_opens_as_one_that_has_expired_and_any_other_as_it_is(
    service: Erasing,
) -> None:
    filled(service, sessions=1)
    sessions = EpochGuard(service.sessions)
    before = sessions.open(service.session("s0"), settings=True)
    assert before == service.sessions.open(service.session("s0"), settings=True)
    service.erase()
    head = sessions.open(service.session("s0")).head
    assert head is not None
    assert head.is_gone(0)
    service.append("again", session="s0")
    assert sessions.open(service.session("s0")) == service.sessions.open(
        service.session("s0"), user="sarah"
    )


SESSIONS = st.sampled_from(("s0", "s1"))


class Lives(RuleBasedStateMachine):
    """Of a user who is erased at any time, while messages of any job come early, late, twice, or
    are cut off.
    """

    def __init__(self) -> None:
        super().__init__()
        self.service = Erasing()
        self.numbers = count()
        self.said: dict[str, list[str]] = {"s0": [], "s1": []}
        self.facts: set[str] = set()
        self.life: set[str] = set()

    def text(self) -> str:
        """What nobody has said before."""
        self.service.time.advance(1)
        text = f"number {next(self.numbers)}"
        self.life.add(text)
        return text

    @rule(session=SESSIONS)
    def append(self, session: str) -> None:
        text = f"fact: {self.text()}"
        self.service.append(text, session=session)
        self.said[session].append(text)

    @rule(session=SESSIONS)
    def extract(self, session: str) -> None:
        if self.said[session]:
            self.service.extract(session)

    @rule()
    def remember(self) -> None:
        text = self.text()
        self.service.remember(text)
        self.facts.add(text)

    @rule(session=SESSIONS, keep_memories=st.booleans())
    def delete(self, session: str, *, keep_memories: bool) -> None:
        if self.said[session]:
            self.service.app.manage.delete(
                self.service.session(session), keep_memories=keep_memories
            )
            self.said[session] = []

    @rule()
    def erase(self) -> None:
        self.service.erase()
        self.said, self.facts, self.life = {"s0": [], "s1": []}, set(), set()

    @precondition(lambda self: self.service.outbox)
    @rule(data=st.data(), writes=st.none() | st.integers(0, 5))
    def deliver(self, data: st.DataObject, writes: int | None) -> None:
        """Any job's message, once more; with a number of writes, cut off after so many."""
        job = data.draw(st.sampled_from(self.service.outbox))
        left = iter(range(writes)) if writes is not None else repeat(0)

        def crash(step: str) -> None:
            if step.startswith("before") and next(left, None) is None:
                raise Unavailable("killed")

        self.service.sessions.state.faults = crash
        with suppress(Unavailable):
            self.service.handle(job)
        self.service.sessions.state.faults = lambda step: None

    @invariant()
    def what_is_seen_is_of_this_life(self) -> None:
        assert {name: self.service.said(name) for name in self.said} == self.said
        assert self.facts <= set(self.service.contents()) <= self.life

    def teardown(self) -> None:
        self.service.drain()
        for job in list(self.service.outbox):
            self.service.handle(job)
        self.service.drain()
        self.what_is_seen_is_of_this_life()
        stored = {name: self.service.stored(name) for name in self.said}
        assert stored == {name: len(texts) for name, texts in self.said.items()}
        assert self.service.left() == 0


TestLives = Lives.TestCase
TestLives.settings = settings(deadline=None, max_examples=40, stateful_step_count=25)

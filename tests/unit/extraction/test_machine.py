"""Extraction under anything that may happen in any order: crashes, failures, late, repeated and lost deliveries."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from palimpsest.errors import CommitLost, ModelFailed, ModelOutputInvalid, ModelUnavailable
from palimpsest.extraction.jobs import MOST_ATTEMPTS
from palimpsest.jobs.job import OVERDUE_SECONDS, Job
from palimpsest.jobs.ports import JobNotice
from palimpsest.memory.ports import ChunkLine

from tests.unit.extraction.extraction_world import SARAH, ExtractionWorld

HOUR = 3600


class Killed(Exception):
    """The process ended here."""


class Extraction(RuleBasedStateMachine):
    """One session, its queue, and everything that goes wrong with both."""

    @initialize(room=st.sampled_from([50, 100, 170, 100_000]), reach=st.sampled_from([0, 1, 99]))
    def begin(self, room: int, reach: int) -> None:
        self.world = ExtractionWorld()
        self.world.extractor.room = room
        self.world.extractor.reaches = lambda chunk: min(chunk.last, chunk.first + reach)
        self.said = 0
        self.through = 0
        self.crash: str | None = None
        self.world.sessions.state.faults = self._fault

    def _fault(self, step: str) -> None:
        if step == self.crash:
            self.crash = None
            raise Killed(step)

    @rule(kinds=st.lists(st.sampled_from(["fact", "fact", "empty", "system"]), min_size=1, max_size=4))
    def say(self, kinds: list[str]) -> None:
        texts = {"empty": ("assistant", " "), "system": ("system", "rules")}
        chats = []
        for kind in kinds:
            self.said += 1
            role, text = texts.get(kind, ("user", f"fact: statement {self.said}"))
            chats.append({"role": role, "content": text})
        crash, self.crash = self.crash, None  # appends have their own tests
        self.world.put(*chats)
        self.crash = crash

    @precondition(lambda self: self.said)
    @rule()
    def ask(self) -> None:
        with suppress(Killed):
            self.world.request(self.world.session())

    @precondition(lambda self: self.world.outbox)
    @rule(pick=st.integers(0, 99), last=st.booleans())
    def deliver(self, pick: int, last: bool) -> None:  # noqa: FBT001
        """A message, new or old; `last`: it was its last receive."""
        job = self.world.outbox[-1 - pick % len(self.world.outbox)]
        with suppress(Killed):
            self._deliver(job, last=last)

    def _deliver(self, job: Job, *, last: bool) -> None:
        try:
            self.world.handle(job)
        except ModelFailed as failure:
            if last:
                self.world.give_up(JobNotice(job.tenant, job.id, job.kind), error=failure.code)

    @rule(failure=st.sampled_from([None, ModelUnavailable("down"), ModelOutputInvalid("prose")]))
    def turn_the_model(self, failure: ModelFailed | None) -> None:
        self.world.extractor.failure = failure

    @rule(step=st.sampled_from(["commit memories", "commit", "finish", "start", "settle"]), after=st.booleans())
    def let_it_crash(self, step: str, after: bool) -> None:  # noqa: FBT001
        self.crash = f"{'after' if after else 'before'} {step}"

    @rule(seconds=st.sampled_from([61, HOUR]))
    def sweep(self, seconds: int) -> None:
        self.world.time.advance(seconds)
        with suppress(Killed, CommitLost):
            self.world.sweep()

    @invariant()
    def progress_never_goes_back(self) -> None:
        assert self.world.through() >= self.through
        self.through = self.world.through()

    @invariant()
    def no_message_is_accounted_for_twice(self) -> None:
        lines = self._lines()
        ends = [(line.first, line.last) for line in lines]
        assert all(before[1] < after[0] for before, after in pairwise(ends))

    @invariant()
    def the_ledger_sums_up(self) -> None:
        for line in self._lines():
            stored = self.world.sessions.messages(self.world.session(), first=line.first, last=line.last)
            received = len(list(stored))
            assert received == line.extracted + sum(line.skipped.values()) + line.parked

    @invariant()
    def what_is_parked_is_written_as_parked(self) -> None:
        parked = tuple((line.first, line.last) for line in self._lines() if line.parked)
        assert parked == self.world.parked()

    def _lines(self) -> tuple[ChunkLine, ...]:
        return self.world.memories.lines(SARAH, "s", first=0, last=10**9)

    def teardown(self) -> None:
        """When everything works again, everything is extracted in the end, and no job is left over."""
        if not self.said:
            return
        world = self.world
        self.crash = None
        world.extractor.failure = None
        world.request(world.session())
        world.delivered = 0
        world.drain()
        for _ in range(2 * MOST_ATTEMPTS):
            world.time.advance(OVERDUE_SECONDS + HOUR)
            world.sweep()
            world.drain()
        for job in world.outbox:
            world.handle(job)  # redriven
        world.drain()
        assert world.through() == self.said
        assert world.parked() == ()
        assert sum(line.extracted for line in self._lines()) == len(world.records())
        texts = [str(m.chat["content"]) for m in world.sessions.messages(world.session(), first=1, last=self.said)]
        assert sorted(text[6:] for text in texts if text.startswith("fact: ")) == world.contents()
        assert {world.report(job).state for job in world.outbox if job.parent is None} <= {"done"}
        assert not [job for job in world.sessions.state.jobs.values() if job.due_at is not None]


TestExtraction = Extraction.TestCase

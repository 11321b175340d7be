"""Extraction under anything that may happen in any order: crashes, failures, late, repeated and
lost deliveries.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from palimpsest.errors import CommitLost, ModelFailed, ModelOutputInvalid, ModelUnavailable
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import OVERDUE_SECONDS, Job
from palimpsest.memory.ports import ChunkLine

from tests.service import SARAH
from tests.unit.extraction.service import ExtractionService

HOUR = 3600
ROUNDS = 14


class Killed(Exception):
    """The process ended here."""


class Extraction(RuleBasedStateMachine):
    """One session, its queue, and everything that goes wrong with both."""

    @initialize(room=st.sampled_from([50, 100, 170, 100_000]), reach=st.sampled_from([0, 1, 99]))
    def begin(self, room: int, reach: int) -> None:
        self.service = ExtractionService()
        self.service.extractor.room = room
        self.service.extractor.reaches = lambda chunk: min(chunk.last, chunk.first + reach)
        self.said = 0
        self.through = 0
        self.crash: str | None = None
        self.service.sessions.state.faults = self._fault

    def _fault(self, step: str) -> None:
        if step == self.crash:
            self.crash = None
            raise Killed(step)

    @rule(
        kinds=st.lists(st.sampled_from(["fact", "fact", "empty", "system"]), min_size=1, max_size=4)
    )
    def say(self, kinds: list[str]) -> None:
        texts = {"empty": ("assistant", " "), "system": ("system", "rules")}
        chats = []
        for kind in kinds:
            self.said += 1
            role, text = texts.get(kind, ("user", f"fact: statement {self.said}"))
            chats.append({"role": role, "content": text})
        crash, self.crash = self.crash, None  # appends have their own tests
        self.service.put(*chats)
        self.crash = crash

    @precondition(lambda self: self.said)
    @rule()
    def ask(self) -> None:
        with suppress(Killed):
            self.service.request(self.service.session())

    @precondition(lambda self: self.service.outbox)
    @rule(pick=st.integers(0, 99), last=st.booleans())
    def deliver(self, pick: int, last: bool) -> None:  # noqa: FBT001
        """A message, new or old; `last`: it was its last receive."""
        job = self.service.outbox[-1 - pick % len(self.service.outbox)]
        with suppress(Killed):
            self._deliver(job, last=last)

    def _deliver(self, job: Job, *, last: bool) -> None:
        try:
            self.service.handle(job)
        except ModelFailed as failure:
            if last:
                self.service.give_up(JobNotice(job.tenant, job.id, job.kind), error=failure.code)

    @rule(failure=st.sampled_from([None, ModelUnavailable("down"), ModelOutputInvalid("prose")]))
    def turn_the_model(self, failure: ModelFailed | None) -> None:
        self.service.extractor.failure = failure

    @rule(
        step=st.sampled_from(["commit memories", "commit", "finish", "start", "settle"]),
        after=st.booleans(),
    )
    def let_it_crash(self, step: str, after: bool) -> None:  # noqa: FBT001
        self.crash = f"{'after' if after else 'before'} {step}"

    @rule(seconds=st.sampled_from([61, HOUR]))
    def sweep(self, seconds: int) -> None:
        self.service.time.advance(seconds)
        with suppress(Killed, CommitLost):
            self.service.sweep()

    @invariant()
    def progress_never_goes_back(self) -> None:
        assert self.service.through() >= self.through
        self.through = self.service.through()

    @invariant()
    def no_message_is_accounted_for_twice(self) -> None:
        lines = self._lines()
        ends = [(line.first, line.last) for line in lines]
        assert all(before[1] < after[0] for before, after in pairwise(ends))

    @invariant()
    def the_ledger_sums_up(self) -> None:
        for line in self._lines():
            stored = self.service.sessions.messages(
                self.service.session(), first=line.first, last=line.last
            )
            received = len(list(stored))
            assert received == line.extracted + sum(line.skipped.values()) + line.parked

    @invariant()
    def what_is_parked_is_written_as_parked(self) -> None:
        parked = tuple((line.first, line.last) for line in self._lines() if line.parked)
        assert parked == self.service.parked()

    def _lines(self) -> tuple[ChunkLine, ...]:
        return self.service.memories.lines(SARAH, "s", first=0, last=10**9)

    def teardown(self) -> None:
        """When everything works again, everything is extracted in the end, and no job is left
        over.
        """
        if not self.said:
            return
        service = self.service
        self.crash = None
        service.extractor.failure = None
        service.request(service.session())
        service.delivered = 0
        service.drain()
        for _ in range(ROUNDS):
            service.time.advance(OVERDUE_SECONDS + HOUR)
            service.sweep()
            service.drain()
        for job in service.outbox:
            service.handle(job)  # redriven
        service.drain()
        assert service.through() == self.said
        assert service.parked() == ()
        assert sum(line.extracted for line in self._lines()) == len(service.records())
        texts = [
            str(m.chat["content"])
            for m in service.sessions.messages(service.session(), first=1, last=self.said)
        ]
        assert sorted(text[6:] for text in texts if text.startswith("fact: ")) == service.contents()
        assert {service.report(job).state for job in service.outbox if job.parent is None} <= {
            "done"
        }
        assert not [job for job in service.sessions.state.jobs.values() if job.due_at is not None]


TestExtraction = Extraction.TestCase

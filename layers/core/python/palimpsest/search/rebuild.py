"""Build the search index anew from the tables while everything goes on: page by page, then switch
to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import islice

from palimpsest.clock import Clock, seconds
from palimpsest.conversations.ports import Sessions
from palimpsest.errors import CommitLost, NotFound, Unavailable
from palimpsest.jobs.events import Changed, JobNotice, MessageChanged, RecordChanged
from palimpsest.jobs.job import Job, on_user
from palimpsest.jobs.ports import Jobs
from palimpsest.jobs.steps import GiveUpStep, RestartSteps, UserSteps
from palimpsest.memory.ports import Memories, Owners
from palimpsest.scope import OPERATOR, Scope, SessionScope
from palimpsest.search.embed import Embed
from palimpsest.search.payloads import ReindexPayload
from palimpsest.search.ports import SearchIndex

PAGE = 50  # changes of one step
LOOKED_AT = 25  # sessions or users of one step: most have less than a page
TRIES = 2
HARMLESS = "hello"


@dataclass(frozen=True, slots=True)
class Reindex:
    """`index` and `embed` are of the space that shall be: another one than is read, where the model
    changes.
    """

    owners: Owners
    memories: Memories
    sessions: Sessions
    index: SearchIndex
    embed: Embed

    def __call__(self, state: ReindexPayload) -> ReindexPayload:
        """One step, safe to repeat: a step that was cut off is done again from the state before it.

        What is written meanwhile goes to every index of the family, so nothing is missed. Raises
        `Unavailable`, and `ModelFailed` while no vectors can be had.
        """
        match state.phase:
            case "prepare":
                self.index.prepare(afresh=True)
                return replace(state, phase="messages")
            case "messages":
                return self._messages(state)
            case "records":
                return self._records(state)
            case "switch":
                self.index.switch()
                return replace(state, phase="done")
            case "done":
                return state

    def _messages(self, state: ReindexPayload) -> ReindexPayload:
        """A page of messages, of one session or of several."""
        changes: list[Changed] = []
        looked_at = 0
        for scope, place in islice(self.owners.sessions(after=state.after), LOOKED_AT):
            looked_at += 1
            begun = state.seq if state.within == scope.partition else 0
            seqs = self._seqs(scope, after=begun, most=PAGE - len(changes))
            changes += (MessageChanged(scope.tenant, scope.session, seq) for seq in seqs)
            if len(changes) >= PAGE:
                return self._embedded(replace(state, within=scope.partition, seq=seqs[-1]), changes)
            state = replace(state, after=place, within=None, seq=0)
        if looked_at < LOOKED_AT:
            state = replace(state, phase="records", after=None)
        return self._embedded(state, changes)

    def _seqs(self, session: SessionScope, *, after: int, most: int) -> list[int]:
        head = self.sessions.open(session).head
        if head is None:
            return []
        found = self.sessions.messages(
            session, first=max(after, head.base) + 1, last=head.seq, page=most
        )
        return [message.seq for message in islice(found, most)]

    def _records(self, state: ReindexPayload) -> ReindexPayload:
        """A page of records, of one user or of several."""
        changes: list[Changed] = []
        looked_at = 0
        for scope, place in islice(self.owners.users(after=state.after), LOOKED_AT):
            looked_at += 1
            begun = state.page if state.within == scope.partition else None
            page = self.memories.listed(
                scope, limit=PAGE - len(changes), after=begun, newest_first=False
            )
            changes += (
                RecordChanged(scope.tenant, scope.user, record.id) for record in page.records
            )
            if page.after is not None:
                return self._embedded(
                    replace(state, within=scope.partition, page=page.after), changes
                )
            state = replace(state, after=place, within=None, page=None)
            if len(changes) >= PAGE:
                return self._embedded(state, changes)
        if looked_at < LOOKED_AT:
            state = replace(state, phase="switch", after=None)
        return self._embedded(state, changes)

    def _embedded(self, state: ReindexPayload, changes: Sequence[Changed]) -> ReindexPayload:
        left: set[Changed] = set(changes)
        unwritten: set[Changed] = set()
        for _ in range(TRIES):
            outcome = self.embed.outcome(tuple(left))
            left, unwritten = outcome.unwritten | outcome.without_vector, outcome.unwritten
            if not left:
                break
        if unwritten:
            raise Unavailable("A page could not be indexed; try again.")
        if left and self.embed.embedder is not None:
            self.embed.embedder.embed(
                [HARMLESS]
            )  # a model that takes this refused those texts; else it fails here too
        done = len(changes) - len(left)
        return replace(state, indexed=state.indexed + done, left_out=state.left_out + len(left))


OWNER = Scope(OPERATOR).user("reindex")
STEP = timedelta(seconds=30)
"""After this long a step hands over to the next; one more page at worst fits into the function's 90
s beside it.
"""
SETTLING = 5.0
"""Seconds. What was written just before the new index was made is in the old one alone, and is
found by the lists of owners, which follow the tables a moment later.
"""


@dataclass(frozen=True, slots=True)
class StartReindex:
    jobs: Jobs
    clock: Clock

    def __call__(self) -> tuple[Job, bool]:
        """The reindexing that goes on now, and whether this call began it. Raises `Unavailable`.

        Of two calls at once one begins it: the new job's id follows from the one before. One that
        failed, and that the sweep would begin again later, begins again now.
        """
        newest = next(iter(self.jobs.listed(OWNER, limit=1)[0]), None)
        if newest is not None and newest.state == "failed":
            return self.look(RestartSteps(self.jobs, self.clock)(newest)), True
        if newest is not None and newest.state != "done":
            return newest, False
        key = "" if newest is None else newest.id
        job = on_user(
            OWNER,
            kind="reindex",
            epoch=0,
            key=key,
            payload=ReindexPayload(),
            now=seconds(self.clock.now()),
        )
        try:
            self.jobs.put(job)
        except CommitLost:
            return self.look(job.id), False
        return job, True

    def look(self, job_id: str) -> Job:
        """Raises `NotFound` (`job_not_found`), `Unavailable`."""
        job = self.jobs.get(OWNER.owner, job_id)
        if job is None:
            raise NotFound("There is no such job.", code="job_not_found")
        return job


@dataclass(frozen=True, slots=True)
class ReindexStep:
    """`model` names what vectors are made by now: a reindexing that was begun for another one
    begins anew.
    """

    reindex: Reindex
    jobs: Jobs
    steps: UserSteps
    clock: Clock
    model: str

    def __call__(self, notice: JobNotice) -> None:
        """Do one step of the job. Safe to repeat. Raises `Unavailable`, `ModelFailed`."""
        job = self.steps.take_up(notice)
        if job is None:
            return
        state, until = self._state(job), self.clock.now() + STEP
        while not state.is_done and self.clock.now() < until:
            if self._is_over(job):
                break
            is_new = state.phase == "prepare"
            state = self.reindex(state)
            if is_new:
                self.clock.sleep(SETTLING)
        counts = {"indexed": state.indexed, "left_out": state.left_out}
        if state.is_done or self._is_over(job):
            self.steps.end(job, counts)
        else:
            self.steps.go_on(job, replace(state, model=self.model), result=counts)

    def _state(self, job: Job) -> ReindexPayload:
        state = job.payload_as(ReindexPayload)
        return state if state.model in (None, self.model) else ReindexPayload()

    def _is_over(self, job: Job) -> bool:
        """Whether another chain of steps was faster, which the sweep began as this one seemed to be
        stuck. Then nothing may be switched any more: the next reindexing may have begun.
        """
        root = self.jobs.get(OWNER.owner, job.root)
        return root is None or root.has_ended


@dataclass(frozen=True, slots=True)
class GiveUpReindexStep:
    """After its last receive a step has failed; the sweep begins it again later, and until then the
    job that was asked for says what it waits for.
    """

    jobs: Jobs
    clock: Clock

    def __call__(self, notice: JobNotice, *, error: str) -> None:
        GiveUpStep(self.jobs, self.clock)(notice, error=error)
        job = self.jobs.get(Scope(notice.tenant), notice.job_id)
        root = None if job is None or job.parent is None else self.jobs.get(OWNER.owner, job.parent)
        if root is not None:
            with suppress(CommitLost):  # it has ended
                self.jobs.finish(replace(root, state="running", due_at=None, error=error))

"""Rebuilds the search index from the tables, page by page, while the service continues. At the end,
searches read the new index.
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
    """Rebuilds the index step by step. `index` and `embed` have the vector space of the new index.
    After a change of the embedding model, searches still read an index of another space.
    """

    owners: Owners
    memories: Memories
    sessions: Sessions
    index: SearchIndex
    embed: Embed

    def __call__(self, state: ReindexPayload) -> ReindexPayload:
        """Do one step and return the new state. A step that was interrupted is repeated from the
        state before it. Items that are written meanwhile go to every index of the family, so none
        is missed. Raises `Unavailable`, and `ModelFailed` while the model can't make vectors.
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
        """Index a page of messages, of one session or of several."""
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
        messages = self.sessions.messages(
            session, first=max(after, head.base) + 1, last=head.seq, page=most
        )
        return [message.seq for message in islice(messages, most)]

    def _records(self, state: ReindexPayload) -> ReindexPayload:
        """Index a page of records, of one user or of several."""
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
            # if this succeeds, the model refused those texts; otherwise it fails here too
            self.embed.embedder.embed([HARMLESS])
        done = len(changes) - len(left)
        return replace(state, indexed=state.indexed + done, left_out=state.left_out + len(left))


OWNER = Scope(OPERATOR).user("reindex")
STEP = timedelta(seconds=30)
"""The time after which a step hands over to the next one. One more page then still ends within the
function's 90 seconds.
"""
SETTLING = 5.0
"""The seconds to wait after the new index is made. Items written just before that are only in the
old index. The lists of sessions and users, by which they are found, are updated a moment after the
tables.
"""


@dataclass(frozen=True, slots=True)
class StartReindex:
    jobs: Jobs
    clock: Clock

    def __call__(self) -> tuple[Job, bool]:
        """Return the reindexing that is running, and whether this call started it. Raises
        `Unavailable`.

        If two calls come at the same time, only one starts it, because the new job's id follows
        from the job before. A reindexing that has failed, which the sweep would restart later, is
        restarted now.
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
        """Return the job. Raises `NotFound` (`job_not_found`), `Unavailable`."""
        job = self.jobs.get(OWNER.owner, job_id)
        if job is None:
            raise NotFound("There is no such job.", code="job_not_found")
        return job


@dataclass(frozen=True, slots=True)
class ReindexStep:
    """Does steps of the job. `model` is the present embedding model. A reindexing that was started
    for another model starts again.
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
        """Return whether the reindexing has ended by other steps, which the sweep started because
        this step seemed to be stuck. This step must then not switch the index any more, because the
        next reindexing may have started.
        """
        root = self.jobs.get(OWNER.owner, job.root)
        return root is None or root.has_ended


@dataclass(frozen=True, slots=True)
class GiveUpReindexStep:
    """Gives up a step that failed at its last attempt. The sweep starts it again later. Until then,
    the requested job shows the error of this step.
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

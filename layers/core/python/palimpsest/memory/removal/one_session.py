"""Remove the data of a deleted session, or of withdrawn messages, and the memories that came from it alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from palimpsest.clock import Clock, seconds
from palimpsest.conversations.contents import Contents
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Commit, Head
from palimpsest.errors import CommitLost
from palimpsest.jobs.job import STUCK, Job, armed
from palimpsest.jobs.kinds import RemovalPayload
from palimpsest.jobs.ports import JobNotice, Jobs
from palimpsest.memory.ports import Memories, MemoryCommit
from palimpsest.memory.records import GRAPH, Record, RecordType, Source
from palimpsest.memory.removal.topic import MOST_PLACES, Removal, transactions
from palimpsest.retry import until_committed
from palimpsest.scope import Scope, SessionScope, UserScope

PAGE = 100


@dataclass(frozen=True, slots=True)
class ForgetMemoriesOfSession:
    """With `jobs`, a job names each memory in its `stored` before that memory is removed."""

    memories: Memories
    clock: Clock
    jobs: Jobs | None = None

    def __call__(self, job: Job) -> int:
        """Remove the memories whose only source is the deleted session, or the redacted message, of the job; return how
        many. A memory with other sources stays, without this one. Safe to repeat: the count may then be lower.

        Raises `Unavailable`.
        """
        scope = Scope(job.tenant).user(job.user or "")
        until_committed(lambda: self._overtake(scope, job), clock=self.clock)
        return sum(
            until_committed(partial(self._forget, scope, job, name), clock=self.clock)
            for name in dict.fromkeys(self._candidates(scope, job))
        )

    def _overtake(self, scope: UserScope, job: Job) -> None:
        """Make a running extraction of the session lose its next commit, as it would store more memories. After a
        redaction it reads the messages again.
        """
        if self._is_erased(scope, job):
            return
        progress = self.memories.progress(scope, job.session)
        moved = replace(progress, through=max(progress.through, 0 if job.kind == "redact" else job.last))
        self.memories.commit(scope, MemoryCommit(epoch=job.epoch, progress=moved))

    def _is_erased(self, scope: UserScope, job: Job) -> bool:
        return self.memories.user(scope).epoch != job.epoch

    def _candidates(self, scope: UserScope, job: Job) -> Iterator[str]:
        """Ids of records that come from the session, or were said again in it."""
        for line in self.memories.lines(scope, job.session, first=0, last=job.last):
            yield from line.records
        for types in (frozenset[RecordType](), GRAPH):
            yield from self._listed(scope, job, types)

    def _listed(self, scope: UserScope, job: Job, types: frozenset[RecordType]) -> Iterator[str]:
        after = None
        while True:
            page = self.memories.listed(scope, types=types, limit=PAGE, after=after)
            for record in page.records:
                if _is_said_in(job, record) or (job.kind != "redact" and job.session in record.also):
                    yield record.id
            after = page.after
            if after is None:
                return

    def _forget(self, scope: UserScope, job: Job, name: str) -> bool:
        """Take the session from the record's sources, and remove it if there is no other. Raises `CommitLost`."""
        records = () if self._is_erased(scope, job) else self.memories.records(scope, [name])
        if not records:
            return False
        (record,) = records
        return (
            self._forget_plain(scope, job, record)
            if record.topic_key is None
            else self._forget_version(scope, job, record)
        )

    def _name(self, job: Job, record: Record) -> None:
        if self.jobs is not None:
            self.jobs.mark(job, record.id)

    def _forget_plain(self, scope: UserScope, job: Job, record: Record) -> bool:
        also = tuple(session for session in record.also if session != job.session)
        if not _is_said_in(job, record):
            changed = replace(record, also=also)
        elif also:
            changed = replace(record, source=Source(session=also[0]), also=also[1:], index_state="pending")
        else:
            self._name(job, record)
            self.memories.commit(scope, MemoryCommit(epoch=job.epoch, removed=(record,)))
            return True
        if changed != record:
            self.memories.commit(scope, MemoryCommit(epoch=job.epoch, changed=(changed,)))
        return False

    def _forget_version(self, scope: UserScope, job: Job, record: Record) -> bool:
        """As `_forget_plain`, for a version of a topic: it may have been said several times, in several sessions."""
        topic = record.topic_key or ""
        pointer = self.memories.pointers(scope, [topic]).get(topic)
        places = [said for said in self.memories.versions(scope, topic) if said.id == record.id]
        gone = [said for said in places if _is_said_in(job, said)]
        others = [said for said in places if not _is_said_in(job, said)]
        if not gone:
            return False
        if not others:
            self._name(job, record)
            for commit in transactions([Removal(gone, pointer)], epoch=job.epoch, room=self.memories.room):
                self.memories.commit(scope, commit)
            return True
        is_source = _is_said_in(job, record)
        changed = (replace(record, source=others[0].source, index_state="pending"),) if is_source else ()
        pointers = (pointer,) if pointer else ()
        commit = MemoryCommit(epoch=job.epoch, changed=changed, removed_places=gone[:MOST_PLACES], pointers=pointers)
        self.memories.commit(scope, commit)
        return len(gone) > MOST_PLACES and self._forget(scope, job, record.id)


def _is_said_in(job: Job, said: Record) -> bool:
    """Whether the record was said in the deleted session, and not in a later one with the same id, or in the redacted
    message. A record without message numbers is assigned by its time.
    """
    if said.source.session != job.session:
        return False
    if job.kind == "redact":
        return job.first in said.source.seqs
    return max(said.source.seqs) <= job.last if said.source.seqs else said.created_at // 1000 <= job.created_at


@dataclass(frozen=True, slots=True)
class RemoveFromSession:
    sessions: Sessions
    jobs: Jobs
    clock: Clock
    forget: ForgetMemoriesOfSession | None = None  # None: nothing was remembered
    contents: Contents | None = None

    def __call__(self, notice: JobNotice) -> None:
        """Do a removal job. A later session with the same id is not touched: its sequence numbers lie beyond the job's
        range.

        Safe to repeat: the count may then be lower. Raises `Unavailable`.
        """
        job = self.jobs.get(Scope(notice.tenant), notice.job_id)
        if job is None or job.state == "done":
            return
        if job.state == "failed":  # redriven from the dead-letter queue: a new job does the same work
            begin_again(self.sessions, self.jobs, job, now=seconds(self.clock.now()))
            return
        self.jobs.start(job)
        scope = Scope(job.tenant).session(job.session)
        forgets = job.payload_as(RemovalPayload).forgets
        result = {"forgotten": self.forget(job)} if forgets and self.forget is not None else {}
        removed = self.sessions.remove(scope, first=job.first, last=job.last, whole=job.kind == "delete")
        if self.contents is not None:
            self.contents.remove(scope, first=job.first, last=job.last)
        done = replace(job, state="done", due_at=None, result={"removed": removed, **result})
        if job.kind == "withdraw":
            until_committed(lambda: self._forget_range(scope, done), clock=self.clock)
        else:
            self._finish(done)

    def _forget_range(self, scope: SessionScope, done: Job) -> None:
        """Take the range out of the head: its messages are removed, so nothing has to hide them any more."""
        head = self.sessions.open(scope).head
        gone = (done.first, done.last)
        if head is None or gone not in head.withdrawn:
            self._finish(done)
            return
        after = _without(head, gone)
        self.sessions.commit(scope, Commit(before=head, after=after, finished=done))

    def _finish(self, done: Job) -> None:
        try:
            self.jobs.finish(done)
        except CommitLost:
            return  # another delivery of the same queue message was faster


def _without(head: Head, gone: tuple[int, int]) -> Head:
    rest = tuple(span for span in head.withdrawn if span != gone)
    return replace(head, withdrawn=rest, version=head.version + 1)


def begin_again(sessions: Sessions, jobs: Jobs, job: Job, *, now: int) -> str:
    """Start the removal again as a new job, and return its id: the old job failed, or its queue message was lost.

    Raises `CommitLost`.
    """
    scope = Scope(job.tenant).session(job.session)
    head = sessions.open(scope).head
    again = armed(
        tenant=job.tenant,
        user=job.user,
        epoch=job.epoch,
        kind=job.kind,
        session=job.session,
        first=job.first,
        last=job.last,
        attempt=job.attempt + 1,
        payload=job.payload,
        now=now,
    )
    if head is not None and jobs.get(scope.owner, again.id) is None:
        after = replace(head, version=head.version + 1)
        ended = None if job.has_ended else replace(job, state="failed", error=STUCK, due_at=None)
        sessions.commit(scope, Commit(before=head, after=after, jobs=(again,), finished=ended))
    jobs.settle(job, due_at=None)
    return again.id

"""Removes the memories that were made only from a removed session, or from messages that are
withdrawn or taken back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from palimpsest.clock import Clock
from palimpsest.conversations.payloads import RemovalPayload
from palimpsest.jobs.job import Job
from palimpsest.jobs.ports import Jobs
from palimpsest.memory.burials import States, burials_of, states_nothing
from palimpsest.memory.ports import Memories, MemoryCommit
from palimpsest.memory.record import GRAPH, Record, RecordType, Source
from palimpsest.memory.removal.transactions import MOST_PLACES, Removal, bury, transactions
from palimpsest.retry import until_committed
from palimpsest.scope import Scope, UserScope

PAGE = 100

IN_PLACE = frozenset({"redact", "take_back"})
"""Kinds of jobs after which the messages still exist."""

OF_MESSAGES = IN_PLACE | {"withdraw"}
"""Kinds of jobs after which the session still exists."""

UNSAID = frozenset({"take_back", "withdraw"})
"""Kinds of jobs after which it is as if the messages had never been said."""


@dataclass(frozen=True, slots=True)
class ForgetMemoriesOfSession:
    """Removes memories whose only source is a session or message. With `jobs`, the id of each
    memory is added to the job's `stored` before the memory is removed.
    """

    memories: Memories
    clock: Clock
    jobs: Jobs | None = None
    states: States = states_nothing

    def __call__(self, job: Job) -> int:
        """Remove the memories whose only source is the deleted session of the job, or the messages
        that the job withdraws, redacts or takes back. Return how many there were. A memory with
        other sources stays, but loses this source.

        Safe to repeat, but then the count may be lower. Raises `Unavailable`.
        """
        scope = Scope(job.tenant).user(job.user or "")
        until_committed(lambda: self._overtake(scope, job), clock=self.clock)
        return sum(
            until_committed(partial(self._forget, scope, job, name), clock=self.clock)
            for name in dict.fromkeys(self._candidates(scope, job))
        )

    def _overtake(self, scope: UserScope, job: Job) -> None:
        """Make a running extraction of the session lose its next commit, because it would store
        more memories. If the session stays, the extraction then reads its messages again.
        """
        if self._is_erased(scope, job):
            return
        progress = self.memories.progress(scope, job.session)
        moved = replace(
            progress, through=max(progress.through, 0 if job.kind in OF_MESSAGES else job.last)
        )
        self.memories.commit(scope, MemoryCommit(epoch=job.epoch, progress=moved))

    def _is_erased(self, scope: UserScope, job: Job) -> bool:
        return self.memories.user(scope).epoch != job.epoch

    def _candidates(self, scope: UserScope, job: Job) -> Iterator[str]:
        """Yield the ids of records that come from the session, or were said again in it."""
        for line in self.memories.lines(scope, job.session, first=0, last=job.last):
            yield from line.records
        for types in (frozenset[RecordType](), GRAPH):
            yield from self._listed(scope, job, types)

    def _listed(self, scope: UserScope, job: Job, types: frozenset[RecordType]) -> Iterator[str]:
        after = None
        while True:
            page = self.memories.listed(scope, types=types, limit=PAGE, after=after)
            for record in page.records:
                if _is_said_in(job, record) or (
                    job.kind not in OF_MESSAGES and job.session in record.also
                ):
                    yield record.id
            after = page.after
            if after is None:
                return

    def _forget(self, scope: UserScope, job: Job, name: str) -> bool:
        """Take the session out of the record's sources, and remove the record if it has no other
        source. Return whether it was removed. Raises `CommitLost`.
        """
        records = () if self._is_erased(scope, job) else self.memories.records(scope, [name])
        if not records:
            return False
        (record,) = records
        return (
            self._forget_plain(scope, job, record)
            if record.topic_key is None
            else self._forget_version(scope, job, record)
        )

    def _restore(self, scope: UserScope, job: Job, topic: str) -> None:
        """Make the record current again that a withdrawn statement had displaced. Raises
        `CommitLost`.
        """
        pointer = self.memories.pointers(scope, [topic]).get(topic)
        left = self.memories.versions(scope, topic)
        if pointer is None or pointer.record is not None or not left:
            return
        before = left[-1]
        (stored,) = self.memories.records(scope, [before.id])
        commit = MemoryCommit(
            epoch=job.epoch,
            changed=(replace(stored, index_state="pending"),),
            pointers=(replace(pointer, record=before.id, order=before.order, ended=None),),
        )
        self.memories.commit(scope, commit)

    def _bury(self, scope: UserScope, job: Job, records: Sequence[Record]) -> None:
        """Store burials of the records, so that an old transcript does not bring back words that
        were redacted or put off the record.
        """
        if job.kind in IN_PLACE:
            buried = burials_of(scope, records, at=job.created_at * 1000, states=self.states)
            bury(self.memories, scope, buried, epoch=job.epoch)

    def _name(self, job: Job, record: Record) -> None:
        if self.jobs is not None:
            self.jobs.mark(job, record.id)

    def _forget_plain(self, scope: UserScope, job: Job, record: Record) -> bool:
        also = tuple(session for session in record.also if session != job.session)
        if not _is_said_in(job, record):
            changed = replace(record, also=also)
        elif also:
            changed = replace(
                record, source=Source(session=also[0]), also=also[1:], index_state="pending"
            )
        else:
            self._name(job, record)
            self._bury(scope, job, [record])
            self.memories.commit(scope, MemoryCommit(epoch=job.epoch, removed=(record,)))
            return True
        if changed != record:
            self.memories.commit(scope, MemoryCommit(epoch=job.epoch, changed=(changed,)))
        return False

    def _forget_version(self, scope: UserScope, job: Job, record: Record) -> bool:
        """Forget a version of a topic, as `_forget_plain` forgets a record without a topic. The
        version may have been said several times, in several sessions.
        """
        topic = record.topic_key or ""
        pointer = self.memories.pointers(scope, [topic]).get(topic)
        places = [
            version for version in self.memories.versions(scope, topic) if version.id == record.id
        ]
        gone = [place for place in places if _is_said_in(job, place)]
        others = [place for place in places if not _is_said_in(job, place)]
        if not gone:
            return False
        if not others:
            self._name(job, record)
            self._bury(scope, job, gone)
            for commit in transactions(
                [Removal(gone, pointer)], epoch=job.epoch, room=self.memories.room
            ):
                self.memories.commit(scope, commit)
            # Such words change nothing, so the value that they displaced is current again
            # (docs/adr/0081).
            if job.kind in UNSAID and pointer is not None and pointer.record == record.id:
                self._restore(scope, job, topic)
            return True
        is_source = _is_said_in(job, record)
        changed = (
            (replace(record, source=others[0].source, index_state="pending"),) if is_source else ()
        )
        pointers = (pointer,) if pointer else ()
        commit = MemoryCommit(
            epoch=job.epoch, changed=changed, removed_places=gone[:MOST_PLACES], pointers=pointers
        )
        self.memories.commit(scope, commit)
        return len(gone) > MOST_PLACES and self._forget(scope, job, record.id)


def _is_said_in(job: Job, record: Record) -> bool:
    """Return whether the record was said in the messages of the job, or in the deleted session and
    not in a later session with the same id. A record without message numbers is assigned to a
    session by its time.
    """
    if record.source.session != job.session:
        return False
    if job.kind in OF_MESSAGES:
        return any(job.first <= seq <= job.last for seq in record.source.seqs)
    if record.source.seqs:
        return max(record.source.seqs) <= job.last
    at = job.payload_as(RemovalPayload).at
    return record.created_at // 1000 <= job.created_at if at is None else record.created_at <= at

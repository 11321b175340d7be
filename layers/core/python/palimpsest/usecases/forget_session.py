"""Forget what a deleted session was the only source of; what others said as well stays, and rests on them alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from palimpsest.domain.jobs import Job
from palimpsest.domain.records import Record, Source
from palimpsest.domain.scope import Scope, UserScope
from palimpsest.ports.clock import Clock
from palimpsest.ports.memories import Memories, MemoryCommit
from palimpsest.usecases.committing import until_committed
from palimpsest.usecases.unsaying import MOST_PLACES, removing

PAGE = 100


@dataclass(frozen=True, slots=True)
class ForgetSession:
    memories: Memories
    clock: Clock

    def __call__(self, job: Job) -> int:
        """Do that part of the session's deletion; how many memories went. Safe to repeat: then it may count less.

        Raises `Unavailable`.
        """
        scope = Scope(job.tenant).user(job.user or "")
        until_committed(lambda: self._overtake(scope, job), clock=self.clock)
        return sum(
            until_committed(partial(self._forget, scope, job, name), clock=self.clock)
            for name in dict.fromkeys(self._candidates(scope, job))
        )

    def _overtake(self, scope: UserScope, job: Job) -> None:
        """An extraction of the session that is under way is lost from now on: it would remember more."""
        if self._is_erased(scope, job):
            return
        progress = self.memories.progress(scope, job.session)
        moved = replace(progress, through=max(progress.through, job.last))
        self.memories.commit(scope, MemoryCommit(epoch=job.epoch, progress=moved))

    def _is_erased(self, scope: UserScope, job: Job) -> bool:
        return self.memories.user(scope).epoch != job.epoch

    def _candidates(self, scope: UserScope, job: Job) -> Iterator[str]:
        """Ids of records that come from the session, or were said again in it."""
        for line in self.memories.lines(scope, job.session, first=0, last=job.last):
            yield from line.records
        after = None
        while True:
            page = self.memories.listed(scope, limit=PAGE, after=after)
            for record in page.records:
                if _is_said_in(job, record) or job.session in record.also:
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
        return self._forget_plain(scope, job, record) if record.topic_key is None else self._unsay(scope, job, record)

    def _forget_plain(self, scope: UserScope, job: Job, record: Record) -> bool:
        also = tuple(session for session in record.also if session != job.session)
        if not _is_said_in(job, record):
            changed = replace(record, also=also)
        elif also:
            changed = replace(record, source=Source(session=also[0]), also=also[1:], index_state="pending")
        else:
            self.memories.commit(scope, MemoryCommit(epoch=job.epoch, removed=(record,)))
            return True
        if changed != record:
            self.memories.commit(scope, MemoryCommit(epoch=job.epoch, changed=(changed,)))
        return False

    def _unsay(self, scope: UserScope, job: Job, record: Record) -> bool:
        """The same for a record that is a version of a topic: it was said at places."""
        topic = record.topic_key or ""
        pointer = self.memories.pointers(scope, [topic]).get(topic)
        places = [said for said in self.memories.versions(scope, topic) if said.id == record.id]
        gone = [said for said in places if _is_said_in(job, said)]
        kept = [said for said in places if not _is_said_in(job, said)]
        if not gone:
            return False
        if not kept:
            retracted = replace(pointer, record=None) if pointer and pointer.record == record.id else pointer
            for commit in removing(gone, retracted, epoch=job.epoch):
                self.memories.commit(scope, commit)
            return True
        is_source = _is_said_in(job, record)
        changed = (replace(record, source=kept[0].source, index_state="pending"),) if is_source else ()
        pointers = (pointer,) if pointer else ()
        commit = MemoryCommit(epoch=job.epoch, changed=changed, unsaid=gone[:MOST_PLACES], pointers=pointers)
        self.memories.commit(scope, commit)
        return len(gone) > MOST_PLACES and self._forget(scope, job, record.id)


def _is_said_in(job: Job, said: Record) -> bool:
    """Whether it was said in that life of the session. What names no message is of the life that was there then."""
    if said.source.session != job.session:
        return False
    return max(said.source.seqs) <= job.last if said.source.seqs else said.created_at // 1000 <= job.created_at

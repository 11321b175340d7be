"""The work of every extraction step: decide whether it is the step's turn, and write a chunk and
the next step in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from palimpsest.clock import Clock, seconds
from palimpsest.conversations.contents import Contents
from palimpsest.conversations.message import Message
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Commit, Head, Settings
from palimpsest.conversations.take_back import take_back
from palimpsest.errors import CommitLost
from palimpsest.extraction.chunk import CONTEXT_MESSAGES, Chunk, chunk_of, context_of
from palimpsest.extraction.jobs import (
    GONE,
    Range,
    Turn,
    cancelled,
    ended,
    next_start,
    parked_within,
    turn_of,
    user_of,
)
from palimpsest.extraction.testimony.reading import Reader, reader_after
from palimpsest.jobs.attempts import next_step
from palimpsest.jobs.job import ERASED, Job
from palimpsest.jobs.ports import Jobs
from palimpsest.memory.names import signing
from palimpsest.memory.ports import ChunkLine, Memories, MemoryCommit, Progress
from palimpsest.memory.user_names import names_of
from palimpsest.scope import Scope, SessionScope

# in sequence numbers, because messages of tools and the system may be in between
LOOK_BACK = 10 * CONTEXT_MESSAGES

MARKED_AT_ONCE = 40  # most messages of one commit


@dataclass(frozen=True, slots=True)
class Looked:
    """The turn of a job at the moment of reading, and the data that decided it."""

    turn: Turn
    head: Head | None
    settings: Settings | None
    progress: Progress


@dataclass(frozen=True, slots=True)
class Steps:
    sessions: Sessions
    jobs: Jobs
    memories: Memories
    clock: Clock
    contents: Contents | None = None  # None: every message has its text in its item

    def look(self, job: Job) -> Looked:
        """Read whether it is the job's turn. Raises `Unavailable`."""
        scope = user_of(job)
        epoch = self.memories.user(scope).epoch
        progress = self.memories.progress(scope, job.session)
        opened = self.sessions.open(session_of(job), settings=True)
        if opened.head is not None:
            # messages from before the session was deleted and begun again are not extracted
            progress = replace(progress, through=max(progress.through, opened.head.base))
        turn = turn_of(
            job,
            head=opened.head,
            epoch=epoch,
            through=progress.through,
            parked=progress.parked,
            now=seconds(self.clock.now()),
        )
        return Looked(turn, opened.head, opened.settings, progress)

    def chunk(self, job: Job, at: Looked, *, room: int) -> Chunk:
        """Read the messages of the step, at most `room` tokens. A range whose extraction was parked
        is read as a whole, whatever its size.
        """
        scope, turn, head = session_of(job), at.turn, at.head
        assert head is not None  # noqa: S101 - it is nobody's turn in a session that is gone
        messages = self.sessions.messages(scope, first=turn.first, last=turn.last, page=50)
        least = max(head.base + 1, turn.first - LOOK_BACK)
        earlier = self.sessions.messages(
            scope, first=least, last=turn.first - 1, newest_first=True, page=5
        )
        preceding = list(_left(earlier, head))
        return chunk_of(
            self._passed(_left(messages, head)),
            first=turn.first,
            last=turn.last,
            room=None if turn.is_parked else room,
            before=context_of(preceding),
            reader=self._reader(scope, job, preceding, least=least, head=head),
        )

    def _reader(
        self, scope: SessionScope, job: Job, earlier: Sequence[Message], *, least: int, head: Head
    ) -> Reader:
        """Return a reader that has read the session's first messages and the messages right before
        the step, so that it knows whether a role-play continues.
        """
        base, last = head.base, min(least - 1, head.base + LOOK_BACK)
        # A role-play is often announced in a session's first messages.
        begun = self.sessions.messages(scope, first=base + 1, last=last) if last > base else ()
        names = names_of(self.memories, user_of(job)).all
        user = signing(job.user or "", names)
        return reader_after([*_left(begun, head), *reversed(earlier)], user=user)

    def mark_material(self, job: Job, at: Looked, chunk: Chunk) -> None:
        """Mark the messages that, as the chunk shows, are no testimony of their speakers. If an
        earlier step has extracted such a message, a job removes what was made from it. Safe to
        repeat. Raises `CommitLost` and `Unavailable`.
        """
        scope, head, seqs = session_of(job), at.head, sorted(chunk.material)
        if head is None or not seqs:
            return
        for start in range(0, len(seqs), MARKED_AT_ONCE):
            there = self.sessions.messages_at(scope, seqs[start : start + MARKED_AT_ONCE])
            changed = [
                replace(message, is_material=True)
                for message in _left(there, head)
                if not message.is_outside and not message.is_material
            ]
            if changed:
                earlier = [message for message in changed if message.seq < chunk.first]
                head = self._mark(scope, head, changed, earlier)

    def _mark(
        self,
        scope: SessionScope,
        head: Head,
        changed: Sequence[Message],
        earlier: Sequence[Message],
    ) -> Head:
        """Store the messages with their marks, and the job that takes back the earlier ones. Return
        the new head.
        """
        after = replace(
            head, version=head.version + 1, redactions=head.redactions + (1 if earlier else 0)
        )
        now = seconds(self.clock.now())
        jobs = (take_back(after, scope, earlier, now=now),) if earlier else ()
        self.sessions.commit(scope, Commit(head, after, marked=tuple(changed), jobs=jobs))
        return after

    def _passed(self, messages: Iterator[Message]) -> Iterator[Message]:
        """Yield the messages of the step. If the caller keeps the history, these are the messages
        that the caller handed over.
        """
        for message in messages:
            yield self.contents.passed(message) if message.is_outside and self.contents else message

    def forget_passed(self, job: Job) -> None:
        """Remove the texts that a caller handed over to be extracted, for all messages of the
        job.
        """
        at = self.look(job)
        if self.contents is None or at.head is None or at.head.outside < job.first:
            return
        first, through = job.first, min(job.last, at.progress.through)
        # The empty range at the end makes the loop also remove texts after the last parked one.
        for parked, last in (
            *parked_within(at.progress.parked, first, through),
            (through + 1, through),
        ):
            if first < parked:
                self.contents.forget_passed(session_of(job), first=first, last=parked - 1)
            first = last + 1

    def skip_job(self, job: Job, at: Looked) -> None:
        """Handle a job whose turn it is not: cancel it, let it wait, or end it. Raises
        `CommitLost`.
        """
        standing = at.turn.standing
        if standing in ("erased", "gone"):
            self.cancel(job, ERASED if standing == "erased" else GONE)
        elif standing == "waiting":
            if job.id not in at.progress.waiting:
                progress = replace(at.progress, waiting=(*at.progress.waiting, job.id))
                self.memories.commit(user_of(job), MemoryCommit(epoch=job.epoch, progress=progress))
        elif job.parent is not None:
            self.finish(replace(job, state="done", due_at=None))
        else:
            self._close(job, at.progress)

    def _close(self, job: Job, progress: Progress) -> None:
        """End the first job of a chain if none of its messages is left to extract."""
        parked, now = progress.parked, seconds(self.clock.now())
        if next_start(job, done=job.first, through=progress.through, parked=parked) is None:
            self.finish(ended(job, parked=parked, error=None, now=now))

    def cancel(self, job: Job, why: str) -> None:
        """Cancel the job and the first job of its chain. `why` is the code that both show as their
        error.
        """
        root = self.root(job)
        for open_job in {job.id: job, root.id: root}.values():
            if not open_job.has_ended:
                self.finish(cancelled(open_job, why))

    def root(self, job: Job) -> Job:
        """Return the first job of the chain. If that job no longer exists, return `job` itself."""
        if job.parent is None:
            return job
        return self.jobs.get(Scope(job.tenant), job.parent) or job

    def advanced(
        self,
        commit: MemoryCommit,
        job: Job,
        at: Looked,
        *,
        line: ChunkLine | None,
        error: str | None = None,
        gives_up: bool = False,
    ) -> MemoryCommit:
        """Return the commit with the end of the step added: the ledger's line, the progress, and
        the next step or the end of the whole job.

        `line` is None if a parked range stays parked. With `gives_up` no step follows, even if
        messages are left.
        """
        now = seconds(self.clock.now())
        done = at.turn.last if line is None else line.last
        progress = _moved(at, line)
        start = next_start(job, done=done, through=progress.through, parked=progress.parked)
        if start is not None and not (gives_up and progress.through >= job.last):
            step = self._new(next_step(job, first=start, now=now))
            finished = _stepped(job, error)
        else:
            step, waiting = self._woken(progress, job)
            progress = replace(progress, waiting=waiting)
            root = self.root(job)
            over = ended(root, parked=progress.parked, error=error, now=now)
            # The sweep may have ended the first job meanwhile. It is not ended twice.
            finished = _stepped(job, error) if root.has_ended else over
        return replace(
            commit, epoch=job.epoch, line=line, progress=progress, job=step, finished=finished
        )

    def _woken(self, progress: Progress, job: Job) -> tuple[Job | None, tuple[str, ...]]:
        """Return the first step of the waiting job whose turn it is now (None: there is none), and
        the ids of the jobs that still wait.
        """
        jobs = [self.jobs.get(Scope(job.tenant), name) for name in progress.waiting]
        waiting = sorted(
            (
                waiting_job
                for waiting_job in jobs
                if waiting_job is not None and not waiting_job.has_ended
            ),
            key=lambda waiting_job: waiting_job.first,
        )
        if not waiting or waiting[0].first > progress.through + 1:
            return None, tuple(waiting_job.id for waiting_job in waiting)
        step = next_step(waiting[0], first=waiting[0].first, now=seconds(self.clock.now()))
        return self._new(step), tuple(waiting_job.id for waiting_job in waiting[1:])

    def _new(self, step: Job) -> Job | None:
        """Return the step, or None if an earlier delivery of the same message has stored it."""
        return step if self.jobs.get(Scope(step.tenant), step.id) is None else None

    def commit(self, job: Job, commit: MemoryCommit, *, error: str | None = None) -> None:
        """Write the commit. If it ends the whole job, end the step right after it."""
        self.memories.commit(user_of(job), commit)
        if commit.finished is not None and commit.finished.id != job.id:
            self.finish(_stepped(job, error))

    def skip_chunk(self, job: Job, at: Looked, line: ChunkLine) -> None:
        """Write only the chunk's ledger line and the progress. The same job continues with the next
        chunk.
        """
        self.memories.commit(
            user_of(job), MemoryCommit(epoch=job.epoch, line=line, progress=_moved(at, line))
        )

    def finish(self, job: Job) -> None:
        """Store the job as it has ended, unless another delivery of the same message has done
        so.
        """
        with suppress(CommitLost):  # the other delivery of the same message was faster
            self.jobs.finish(job)


def extraction_prompt(settings: Settings | None) -> str | None:
    """Return the `extraction_prompt` of the session's extractive block; None if there is none."""
    for block in settings.memory.get("blocks") or () if settings else ():
        if isinstance(block, Mapping) and block.get("type") == "extractive":
            return block.get("extraction_prompt")
    return None


def extraction_seconds(settings: Settings | None) -> float | None:
    """Return how many seconds the model may take for one step; None if the session sets
    no limit.
    """
    return settings.memory.get("extraction_seconds") if settings else None


def session_of(job: Job) -> SessionScope:
    return Scope(job.tenant).session(job.session)


def _left(messages: Iterable[Message], head: Head) -> Iterator[Message]:
    """Yield the messages that were not withdrawn."""
    return (message for message in messages if not head.is_withdrawn(message.seq))


def _moved(at: Looked, line: ChunkLine | None) -> Progress:
    """Return the session's progress after a chunk. If the chunk failed for good, its messages are
    now parked. If not, they are no longer parked. Without a line, nothing changes.
    """
    if line is None:
        return at.progress
    kept = [place for place in at.progress.parked if place != (at.turn.first, at.turn.last)]
    parked: Sequence[Range] = [*kept, (line.first, line.last)] if line.parked else kept
    # An attempt at a parked range works behind `through`, which must not go back.
    return replace(
        at.progress, through=max(at.progress.through, line.last), parked=tuple(sorted(parked))
    )


def _stepped(job: Job, error: str | None) -> Job:
    """Return the job after its own step. The first job of a chain stays `running` until all its
    messages are done.
    """
    if job.parent is None:
        return replace(job, state="running", due_at=None)
    return replace(job, state="failed" if error else "done", due_at=None, error=error)

"""What steps of extraction share: whose turn it is, and how a chunk and the next step go into one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from palimpsest.clock import Clock, seconds
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Head, Settings
from palimpsest.errors import CommitLost
from palimpsest.extraction.chunk import CONTEXT_MESSAGES, Chunk, chunk_of, context_of
from palimpsest.extraction.jobs import GONE, Range, Turn, cancelled, ended, next_start, turn_of
from palimpsest.jobs.job import ERASED, Job, next_step
from palimpsest.jobs.ports import Jobs
from palimpsest.memory.ports import ChunkLine, Memories, MemoryCommit, Progress
from palimpsest.scope import Scope, SessionScope, UserScope

LOOK_BACK = 10 * CONTEXT_MESSAGES  # sequence numbers: what stands between is tools' and the system's


@dataclass(frozen=True, slots=True)
class Looked:
    """A job's turn, as it was when one looked, and what that was decided by."""

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

    def look(self, job: Job) -> Looked:
        scope = user_of(job)
        epoch = self.memories.user(scope).epoch
        progress = self.memories.progress(scope, job.session)
        opened = self.sessions.open(session_of(job), settings=True)
        if opened.head is not None:  # what is before the session's present life is nobody's work any more
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
        """The messages that the step reads, within `room` tokens; a parked range is read as a whole."""
        scope, turn, head = session_of(job), at.turn, at.head
        assert head is not None  # noqa: S101 - it is nobody's turn in a session that is gone
        found = self.sessions.messages(scope, first=turn.first, last=turn.last, page=50)
        least = max(head.base + 1, turn.first - LOOK_BACK)
        earlier = self.sessions.messages(scope, first=least, last=turn.first - 1, newest_first=True, page=5)
        return chunk_of(
            (message for message in found if not head.is_withdrawn(message.seq)),
            first=turn.first,
            last=turn.last,
            room=None if turn.is_parked else room,
            before=context_of(message for message in earlier if not head.is_withdrawn(message.seq)),
        )

    def pass_by(self, job: Job, at: Looked) -> None:
        """Handle a job whose turn it is not: cancel it, let it wait, or end it. Raises `CommitLost`."""
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
        """End a first job whose step was overtaken, if nothing is left of its range."""
        parked, now = progress.parked, seconds(self.clock.now())
        if next_start(job, done=job.first, through=progress.through, parked=parked) is None:
            self.finish(ended(job, parked=parked, error=None, now=now))

    def cancel(self, job: Job, why: str) -> None:
        """End the job, and the one it is a step of."""
        root = self.root(job)
        for each in {job.id: job, root.id: root}.values():
            if not each.has_ended:
                self.finish(cancelled(each, why))

    def root(self, job: Job) -> Job:
        """The first job of the chain; the job itself if that one is no longer there."""
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
        """The commit with the step's end: the line, the progress, and the next step, or the end of the whole job.

        `line` is None if what was parked stays so. With `gives_up` no step follows, whatever is left.
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
            finished = _stepped(job, error) if root.has_ended else over
        return replace(commit, epoch=job.epoch, line=line, progress=progress, job=step, finished=finished)

    def _woken(self, progress: Progress, job: Job) -> tuple[Job | None, tuple[str, ...]]:
        """The first step of the waiting job whose turn has come, if any, and the ids of the jobs that still wait."""
        found = [self.jobs.get(Scope(job.tenant), name) for name in progress.waiting]
        waiting = sorted(
            (each for each in found if each is not None and not each.has_ended), key=lambda each: each.first
        )
        if not waiting or waiting[0].first > progress.through + 1:
            return None, tuple(each.id for each in waiting)
        step = next_step(waiting[0], first=waiting[0].first, now=seconds(self.clock.now()))
        return self._new(step), tuple(each.id for each in waiting[1:])

    def _new(self, step: Job) -> Job | None:
        """The step, or None if it is stored already: then this delivery is a repetition."""
        return step if self.jobs.get(Scope(step.tenant), step.id) is None else None

    def commit(self, job: Job, commit: MemoryCommit, *, error: str | None = None) -> None:
        """Write the commit. The last step of a chain is ended right after the transaction that ends the whole job."""
        self.memories.commit(user_of(job), commit)
        if commit.finished is not None and commit.finished.id != job.id:
            self.finish(_stepped(job, error))

    def passed(self, job: Job, at: Looked, line: ChunkLine) -> None:
        """Write only a chunk's line and the progress: the same job goes on behind the chunk."""
        self.memories.commit(user_of(job), MemoryCommit(epoch=job.epoch, line=line, progress=_moved(at, line)))

    def finish(self, job: Job) -> None:
        with suppress(CommitLost):  # the other delivery of the same message was faster
            self.jobs.finish(job)


def extraction_prompt(settings: Settings | None) -> str | None:
    """The task that the session's extractive block sets, None for the default one."""
    for block in settings.memory.get("blocks") or () if settings else ():
        if isinstance(block, Mapping) and block.get("type") == "extractive":
            return block.get("extraction_prompt")
    return None


def user_of(job: Job) -> UserScope:
    return Scope(job.tenant).user(job.user or "")


def session_of(job: Job) -> SessionScope:
    return Scope(job.tenant).session(job.session)


def _moved(at: Looked, line: ChunkLine | None) -> Progress:
    """The progress after a chunk: its range is parked now, or no longer."""
    if line is None:
        return at.progress
    kept = [each for each in at.progress.parked if each != (at.turn.first, at.turn.last)]
    parked: Sequence[Range] = [*kept, (line.first, line.last)] if line.parked else kept
    return replace(at.progress, through=max(at.progress.through, line.last), parked=tuple(sorted(parked)))


def _stepped(job: Job, error: str | None) -> Job:
    """The job after its own step. The first job of a chain goes on running until its whole range is covered."""
    if job.parent is None:
        return replace(job, state="running", due_at=None)
    return replace(job, state="failed" if error else "done", due_at=None, error=error)

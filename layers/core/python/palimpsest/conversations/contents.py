"""The store of contents that are too large for a message's item."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from palimpsest import parallel
from palimpsest.clock import Clock, seconds
from palimpsest.conversations.message import Large, Message, named_only
from palimpsest.conversations.payloads import UploadPayload
from palimpsest.conversations.ports import Blobs
from palimpsest.conversations.shortened import left, too_large
from palimpsest.errors import CommitLost, Unavailable
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import Job, on_tenant
from palimpsest.jobs.ports import Jobs
from palimpsest.scope import Scope, SessionScope

ABANDONED_SECONDS = 600
"""The age at which an upload counts as abandoned. By then, its append can't be running any
longer.
"""

AGAIN_SECONDS = 60

HELD, PASSING = "contents", "passing"
"""The prefixes of keys for contents of stored messages, and for contents that are only
extracted.
"""


@dataclass(frozen=True, slots=True)
class Contents:
    """The large contents of conversations, in a store of blobs.

    The key of a content has the tenant, the session and the sequence number, so that a range of
    contents can be removed with its messages. An upload begins by creating a job that would remove
    the contents. The commit that stores the message also ends that job. Therefore either the
    message is stored or the contents are removed, never both. If no commit has ended the job after
    ten minutes, the job removes the contents.
    """

    blobs: Blobs
    jobs: Jobs
    clock: Clock

    def set_aside(
        self, scope: SessionScope, messages: Sequence[Message]
    ) -> tuple[tuple[Message, ...], Job | None]:
        """Upload the contents that are too large for the messages' items. Returns the messages in
        the form that their items store, and the job to finish in the same commit (None if nothing
        was uploaded). Raises `Unavailable`.
        """
        return self._uploaded(scope, messages, too_large(messages), folder=HELD, rest=left)

    def hand_over(
        self, scope: SessionScope, messages: Sequence[Message]
    ) -> tuple[tuple[Message, ...], Job | None]:
        """Upload the whole contents of messages that are extracted but not kept. Returns the
        messages in the form that their items store, which only names them, and the job to finish in
        the same commit. The contents stay until `forget_passed`. Raises `Unavailable`.
        """
        return self._uploaded(
            scope, messages, {message.seq for message in messages}, folder=PASSING, rest=named_only
        )

    def _uploaded(
        self,
        scope: SessionScope,
        messages: Sequence[Message],
        large: Collection[int],
        *,
        folder: str,
        rest: Callable[[Message, Large], Message],
    ) -> tuple[tuple[Message, ...], Job | None]:
        if not large:
            return tuple(messages), None
        payload, now = UploadPayload(upload=secrets.token_hex(16)), seconds(self.clock.now())
        job = on_tenant(scope.owner, kind="upload", user=None, payload=payload, now=now)
        job = replace(job, session=scope.session, first=messages[0].seq, last=messages[-1].seq)
        self.jobs.put(job)

        def upload(message: Message) -> Message:
            if message.seq not in large:
                return message
            data = _data(message)
            self.blobs.put(key := _key(scope, message.seq, folder) + _suffix(job), data)
            return rest(message, Large(key, hashlib.sha256(data).hexdigest(), len(data)))

        return tuple(parallel.run_each(upload, messages)), replace(job, state="done", due_at=None)

    def whole(self, message: Message) -> Message:
        """Return the message as it was sent, with contents that are stored outside the table. A
        message whose history the caller keeps (`is_outside`) is returned as its item holds it.
        Raises `Unavailable` if the contents can't be read, or differ from the uploaded ones.
        """
        return message if message.is_outside else self.passed(message)

    def passed(self, message: Message) -> Message:
        """Return the message as it was sent, for an extraction. This also reads the contents of a
        message whose history the caller keeps.
        """
        if message.large is None:
            return message
        data = self.blobs.get(message.large.key)
        if data is None or hashlib.sha256(data).hexdigest() != message.large.digest:
            raise Unavailable(
                "A large content can't be read. Try again.", code="content_unreadable"
            )
        return replace(message, **json.loads(data))

    def all_whole(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return the messages, each with its whole content."""
        return (
            tuple(parallel.run_each(self.whole, messages))
            if any(message.large for message in messages)
            else tuple(messages)
        )

    def remove(self, scope: SessionScope, *, first: int, last: int) -> None:
        """Remove the contents of the messages `first` through `last`. Safe to repeat. Raises
        `Unavailable`.
        """
        for folder in (HELD, PASSING):
            self._remove(scope, first, last, folder)

    def forget_passed(self, scope: SessionScope, *, first: int, last: int) -> None:
        """Remove the contents that were uploaded only for an extraction, once it is done. `first`
        and `last` are the range of its messages. Safe to repeat.
        """
        self._remove(scope, first, last, PASSING)

    def settle(self, notice: JobNotice) -> None:
        """Remove the contents of an upload if no commit has named them. Does nothing while their
        append may still be running.
        """
        job = self.jobs.get(Scope(notice.tenant), notice.job_id)
        if job is not None:
            self.abandon(job)

    def abandon(self, job: Job) -> None:
        """Remove the contents of the upload that this job belongs to, as `settle` does. No commit
        can name the contents afterwards, because it would have to end a job that has already ended.
        """
        now = seconds(self.clock.now())
        if (job.state == "done" and job.due_at is None) or now < job.created_at + ABANDONED_SECONDS:
            return
        job.payload_as(UploadPayload)
        if not job.has_ended:
            try:
                self.jobs.finish(
                    replace(job, state="done", error="abandoned", due_at=now + AGAIN_SECONDS)
                )
            except CommitLost:
                return  # the messages are stored
        scope = Scope(job.tenant).session(job.session)
        for folder in (HELD, PASSING):
            self._remove(scope, job.first, job.last, folder, ending=_suffix(job))
        self.jobs.settle(job, due_at=None)

    def give_up(self, notice: JobNotice, *, error: str) -> None:
        """Do nothing, because the sweep visits the job again."""

    def _remove(
        self, scope: SessionScope, first: int, last: int, folder: str, *, ending: str = ""
    ) -> None:
        begin, end = _key(scope, first, folder), _key(scope, last + 1, folder)
        prefix = begin.rpartition("/")[0] + "/"
        gone: list[str] = []
        for key in self.blobs.keys(prefix, first=begin.removeprefix(prefix)):
            # The numbers in keys have a fixed width, so that keys sort by them.
            if key >= end:
                break
            gone += [key] if key.endswith(ending) else []
        if gone:
            self.blobs.remove(gone)


def _key(scope: SessionScope, seq: int, folder: str) -> str:
    return f"{folder}/{scope.tenant}/{scope.session}/{max(seq, 0):012d}"


def _suffix(job: Job) -> str:
    return f"-{job.id}"


def _data(message: Message) -> bytes:
    texts = {"chat": message.chat, "extra": message.extra, "metadata": message.metadata}
    return json.dumps(texts, ensure_ascii=False, separators=(",", ":"), default=dict).encode()


def loaded(
    contents: Contents | None, messages: Sequence[Message], *, most: int
) -> tuple[tuple[Message, ...], bool]:
    """Return the messages, oldest first, with their large contents. The contents of the newest
    messages are loaded first, up to `most` bytes in total; other messages stay as their items hold
    them. The second result is false if a content could not be read.
    """
    wanted: set[int] = set()
    for message in reversed(messages):
        if message.large is not None and contents is not None and message.large.bytes <= most:
            most -= message.large.bytes
            wanted.add(message.seq)
    failed: list[int] = []

    def load(message: Message) -> Message:
        if contents is not None and message.seq in wanted:
            with suppress(Unavailable):
                return contents.whole(message)
            failed.append(message.seq)
        return message

    return tuple(map(load, messages)), not failed

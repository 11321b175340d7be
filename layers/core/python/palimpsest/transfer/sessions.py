"""The sessions in an export: head, settings, compactions, the progress of extraction, and every
message with its id.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from palimpsest.clock import Clock, seconds, stamp
from palimpsest.conversations.contents import Contents
from palimpsest.conversations.drafts import MAX_CALL_BYTES, first_batch
from palimpsest.conversations.lifecycle import deletion
from palimpsest.conversations.listing import SessionLimit
from palimpsest.conversations.message import Message
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Commit, Compaction, Head, Settings
from palimpsest.errors import CommitLost, Unavailable
from palimpsest.jobs.attempts import newest_attempt
from palimpsest.jobs.ports import Jobs
from palimpsest.memory.old_words import HideOldWords
from palimpsest.memory.ports import Memories, MemoryCommit, Progress
from palimpsest.models.ports import TokenCounter
from palimpsest.scope import SessionScope, UserScope
from palimpsest.tenants.ports import Tenants
from palimpsest.transfer.agreement import counted
from palimpsest.transfer.lines import (
    Outcome,
    Page,
    Row,
    TransferKind,
    head_of,
    read,
    settings_of,
    values,
)
from palimpsest.transfer.masking import masked_session

MESSAGES_AT_ONCE = 200
AT_ONCE = 4_000_000  # bytes of large contents on one page


@dataclass(frozen=True, slots=True)
class SessionsKind:
    sessions: Sessions
    memories: Memories
    jobs: Jobs
    contents: Contents
    tenants: Tenants
    limit: SessionLimit
    tokens: TokenCounter
    clock: Clock
    hides: HideOldWords

    @property
    def kind(self) -> TransferKind:
        return TransferKind("sessions", "session", self.page, self.restore)

    def page(self, scope: UserScope, place: str | None) -> Page:
        """Return the beginning of one session, or some of its messages. The session is exported as
        it was when its first line was written. Raises `CommitLost` if the session is removed before
        its last line is written.
        """
        after, name, seq, last = json.loads(place) if place else (None, None, 0, 0)
        if name is not None:
            return self._messages(scope, after, name, first=seq, last=last)
        page = self.sessions.listed(
            scope.owner, user=scope.user, limit=1, after=after, newest_first=False
        )
        if not page.sessions:
            return (), page.after and _place(page.after)
        session = scope.owner.session(page.sessions[0])
        opened = self.sessions.open(session, settings=True, user=scope.user)
        head, settings = opened.head, opened.settings
        if (
            head is None
            or settings is None
            or not self._is_alive(scope, head, settings, opened.epoch)
        ):
            return (), page.after and _place(page.after)
        rows = list(self._beginning(scope, session, head, settings))
        return rows, _place(page.after, session.session, head.base + 1, head.seq)

    def _is_alive(self, scope: UserScope, head: Head, settings: Settings, epoch: int) -> bool:
        is_mine = head.user == scope.user and head.epoch >= epoch and settings.base == head.base
        return is_mine and not head.is_gone(seconds(self.clock.now()))

    def _beginning(
        self, scope: UserScope, session: SessionScope, head: Head, settings: Settings
    ) -> Iterator[Row]:
        name = {"session_id": session.session}
        yield {"kind": "session", **name, "head": values(head), "settings": values(settings)}
        progress = self.memories.progress(scope, session.session)
        if progress.through or progress.parked:
            yield {"kind": "progress", **name, **values(progress)}
        for compaction in self.sessions.compactions(session, first=head.base + 1, last=head.seq):
            if not head.is_withdrawn(compaction.last):
                yield {"kind": "compaction", **name, **values(compaction)}

    def _messages(
        self, scope: UserScope, after: str | None, name: str, *, first: int, last: int
    ) -> Page:
        session, size = scope.owner.session(name), 0
        rows: list[Row] = []
        head = self.sessions.open(session, user=scope.user).head
        if head is None or head.base >= first or head.is_gone(seconds(self.clock.now())):
            raise CommitLost("The session no longer exists.")
        for message in self.sessions.messages(
            session, first=first, last=last, page=MESSAGES_AT_ONCE
        ):
            size += message.large.bytes if message.large else 0
            if len(rows) == MESSAGES_AT_ONCE or (rows and size > AT_ONCE):
                return rows, _place(after, name, message.seq, last)
            if not head.is_withdrawn(message.seq):
                rows.append(
                    {"kind": "message", "session_id": name, **values(self.contents.whole(message))}
                )
        return rows, after and _place(after)

    def restore(self, scope: UserScope, rows: Iterator[Row], epoch: int) -> Outcome:
        """Store the session in its exported state, under its id. If it is stored already, it stays.
        If only its beginning is stored, it is completed. Another session with the same id is a
        conflict.

        Tokens, limits and retention are never taken from the file (`agreement.counted`). Secrets
        are masked if the tenant's setting requires it. The next extraction covers the messages that
        no extraction has covered. Raises `CommitLost`, `Unavailable`, and `LimitReached`
        (`session_limit`) if the tenant may not have another session.
        """
        row = next(rows)
        session = scope.owner.session(row["session_id"])
        settings = settings_of(row, user=scope.user)
        progress, compactions, messages = _parts(rows)
        tenant = self.tenants.settings(scope.owner)
        stored = (head_of(row, user=scope.user, epoch=epoch), settings, messages, compactions)
        if tenant.secrets == "mask":
            stored = masked_session(*stored, now=stamp(self.clock.now()))
        settings = stored[1]
        made = counted(*stored, tokens=self.tokens, tenant_days=tenant.retention_days)
        head = made.head
        kept = None if head.retention is None else seconds(self.clock.now()) + head.retention
        through = max(head.base, progress.through if progress else 0)
        # The jobs of the exported session are not imported, so a new job extracts the messages that
        # they had not extracted.
        head = replace(head, expires_at=kept, armed_seq=min(head.armed_seq, through))
        place = _Place(
            self, session, head, replace(settings, base=head.base, due_at=head.next_visit)
        )
        outcome = place.begin(made.messages)
        if outcome != "restored":
            return outcome
        for compaction in made.compactions:
            place.commit(compaction=compaction)
        if progress is not None:
            self._restore_progress(scope, progress, epoch)
        place.store(self.hides.restored(scope, made.messages))
        return "restored"

    def _restore_progress(self, scope: UserScope, progress: Progress, epoch: int) -> None:
        there = self.memories.progress(scope, progress.session)
        if there.through < progress.through:
            moved = replace(progress, version=there.version)
            self.memories.commit(scope, MemoryCommit(epoch=epoch, progress=moved))


class _Place:
    """A session that is being restored. Each commit continues from the head that the previous one
    wrote.
    """

    def __init__(
        self, kind: SessionsKind, session: SessionScope, final: Head, settings: Settings
    ) -> None:
        self._kind = kind
        self._session = session
        self._final = final
        self._settings = settings
        self._head: Head | None = None

    def begin(self, messages: Sequence[Message]) -> Outcome:
        """Begin the session if it does not exist. Returns `restored` if messages are left to store;
        otherwise `there` or `conflicts`.
        """
        opened = self._kind.sessions.open(self._session, user=self._final.user)
        head = opened.head
        if (
            head is not None
            and not head.is_gone(seconds(self._kind.clock.now()))
            and head.epoch >= opened.epoch
        ):
            return self._compared(head, messages)
        if head is not None and head.status != "deleted":
            raise Unavailable(
                "A session with this id has expired but is not removed yet. Try again."
            )
        if head is not None:
            self._check_removed(head)
        owner = self._session.owner
        self._kind.limit.check(owner, most=self._kind.tenants.settings(owner).limits.sessions)
        self._head = head
        final = self._final
        # The session begins without messages, and the last commit gives it the exported head.
        empty = replace(final, seq=final.base, last_id="", version=head.version + 1 if head else 1)
        self._write(empty if messages else self._end, begins=True, settings=self._settings)
        return "restored"

    def _check_removed(self, tombstone: Head) -> None:
        """Raise `Unavailable` unless the removal of an earlier session with this id is over. The
        removal deletes by sequence numbers, so it would delete the restored session too.
        """
        removal = deletion(tombstone, scope=self._session, now=0)
        read = partial(self._kind.jobs.get, self._session.owner)
        job = read(removal.id)
        if job is not None and newest_attempt(job, read).state != "done":
            raise Unavailable("A session with this id is being removed. Try again.")

    def _compared(self, head: Head, messages: Sequence[Message]) -> Outcome:
        final = self._final
        if head.user != final.user:
            return "conflicts"
        if (head.seq, head.last_id) == (final.seq, final.last_id):
            return "there"
        ids = {message.seq: message.id for message in messages}
        if head.seq < final.seq and head.last_id == ids.get(
            head.seq, "" if head.seq == final.base else None
        ):
            self._head = head
            return "restored"
        newest = (
            self._kind.sessions.messages_at(self._session, [messages[-1].seq]) if messages else ()
        )
        return "there" if newest and newest[0].id == messages[-1].id else "conflicts"

    def store(self, messages: Sequence[Message]) -> None:
        """Store the messages that are not stored yet. The last commit restores the exported
        head.
        """
        there = self._head.seq if self._head else 0
        left = [message for message in messages if message.seq > there]
        while left:
            batch = first_batch(left, most=MAX_CALL_BYTES)
            left = left[len(batch) :]
            self.commit(batch, is_last=not left)

    def commit(
        self,
        messages: Sequence[Message] = (),
        *,
        compaction: Compaction | None = None,
        is_last: bool = False,
    ) -> None:
        assert self._head is not None  # noqa: S101 - `begin` comes first
        after = replace(self._head, version=self._head.version + 1)
        if messages:
            after = replace(after, seq=messages[-1].seq, last_id=messages[-1].id)
        held, uploaded = self._kind.contents.set_aside(self._session, messages)
        self._write(
            self._end if is_last else after, messages=held, finished=uploaded, compaction=compaction
        )

    @property
    def _end(self) -> Head:
        return replace(self._final, version=self._head.version + 1 if self._head else 1)

    def _write(self, after: Head, **carried: Any) -> None:
        self._kind.sessions.commit(self._session, Commit(before=self._head, after=after, **carried))
        self._head = after


def _parts(rows: Iterator[Row]) -> tuple[Progress | None, list[Compaction], list[Message]]:
    progress, compactions, messages = None, [], []
    for row in rows:
        match row["kind"]:
            case "progress":
                progress = read(Progress, row, session=row["session_id"])
            case "compaction":
                compactions.append(read(Compaction, row))
            case _:
                messages.append(read(Message, row))
    return progress, compactions, messages


def _place(after: str | None, name: str | None = None, seq: int = 0, last: int = 0) -> str:
    return json.dumps([after, name, seq, last], separators=(",", ":"))

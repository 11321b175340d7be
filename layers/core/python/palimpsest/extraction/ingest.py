"""Ingests a whole transcript. It appends the messages that are not stored yet, and extracts
memories from all messages that were not extracted yet.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from palimpsest.clock import Clock, seconds
from palimpsest.conversations.append import Append, AppendResult
from palimpsest.conversations.drafts import (
    Draft,
    first_batch,
    message_sizes,
    open_calls_after,
    with_joined_calls,
)
from palimpsest.conversations.history import MOVED_ON
from palimpsest.conversations.lifecycle import check_owner
from palimpsest.conversations.message import Message, digest
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Head
from palimpsest.errors import Conflict, FieldError, Unprocessable
from palimpsest.extraction.schedule import RequestExtraction
from palimpsest.memory.ports import Memories
from palimpsest.retry import until_committed
from palimpsest.scope import SessionScope, UserScope

MAX_TRANSCRIPT = 1_000
DIVERGED = "transcript_diverged"


@dataclass(frozen=True, slots=True)
class Ingested:
    """The result of an ingest: the session that holds the transcript, how many messages this call
    appended, and the job that extracts them (None: there never was anything to extract). `last` is
    the sequence number of the transcript's last message; None if the history is not stored.
    """

    session: str
    created: bool
    appended: int
    job_id: str | None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class _Transcript:
    """A transcript and its session. `ids` are the digests that its messages have in that session.
    It follows the stored message with the number `after` and the id `before`. If these are 0 and
    "", it begins the session.
    """

    scope: SessionScope
    owner: UserScope
    agent: str | None
    drafts: Sequence[Draft]
    ids: Sequence[str]
    after: int = 0
    before: str = ""

    def batch(self, start: int) -> Sequence[Draft]:
        """Return the messages of the next append."""
        return first_batch(self.drafts[start:])


@dataclass(frozen=True, slots=True)
class _Stored:
    """How many messages of the transcript are stored, and the session's newest sequence number at
    that time. `last` is the sequence number of the transcript's last message, once that message is
    stored.
    """

    messages: int
    seq: int
    last: int | None = None


@dataclass(frozen=True, slots=True)
class Ingest:
    sessions: Sessions
    memories: Memories
    append: Append
    request: RequestExtraction
    clock: Clock

    def __call__(
        self,
        scope: UserScope,
        drafts: Sequence[Draft],
        *,
        session_id: str | None = None,
        agent: str | None = None,
        after: int = 0,
    ) -> Ingested:
        """Store 1 to 1000 messages as the session's history, and extract from them. Repeated calls
        store them once. If the stored history is a beginning of the transcript, the rest is
        appended. If the transcript is a beginning of the history, nothing is appended. Without a
        `session_id`, the transcript continues the session that an earlier ingest made of the same
        beginning. With `after`, the transcript follows the stored message with that number, so that
        a longer transcript can be sent in parts. Nothing is written unless every message is valid.
        Raises `Conflict` (`transcript_diverged`, `owner_mismatch`), `TooLarge`, `Unprocessable` and
        `Unavailable`.
        """
        drafts = self.append.admitted(scope.owner, with_joined_calls(drafts))
        check_length(drafts)
        # Both raise errors that a later batch would raise after earlier batches were stored.
        open_calls_after(drafts, b"")
        message_sizes(drafts, has_contents=self.append.contents is not None)
        if session_id is not None:
            preceding = (
                self.sessions.messages_at(scope.owner.session(session_id), [after]) if after else ()
            )
            if after and not preceding:
                raise _diverged()
            before = preceding[0].id if preceding else ""
            return self._ingested(
                _transcript(scope, drafts, session_id, agent, after=after, before=before)
            )
        epoch = self.memories.user(scope).epoch
        # An earlier, shorter transcript gave the session its id.
        for length in range(1, len(drafts)):
            session = _derived(scope, drafts[:length], epoch=epoch)
            try:
                return self._ingested(_transcript(scope, drafts, session, agent))
            except Conflict as conflict:  # another transcript begins like this one
                if conflict.code != DIVERGED:
                    raise
        return self._ingested(
            _transcript(scope, drafts, _derived(scope, drafts, epoch=epoch), agent)
        )

    def _ingested(self, transcript: _Transcript) -> Ingested:
        appended, created, job_id = 0, False, None
        while True:
            stored = until_committed(lambda: self._stored(transcript), clock=self.clock)
            if stored.messages == len(transcript.drafts):
                break
            done = self._append(transcript, stored)
            if done is not None and not done.replayed:
                appended += len(done.messages)
                created, job_id = created or done.created, done.extraction
        return Ingested(
            session=transcript.scope.session,
            created=created,
            appended=appended,
            job_id=job_id or self.request(transcript.scope).job_id,
            last=stored.last,
        )

    def _stored(self, transcript: _Transcript) -> _Stored:
        """Return how much of the transcript the session holds. Raises `Conflict` if its history is
        another one.
        """
        after, head = transcript.after, self.sessions.open(transcript.scope).head
        if head is None or head.is_gone(seconds(self.clock.now())):
            if after:
                raise _diverged()
            return _Stored(0, head.seq if head else 0)
        check_owner(head, user=transcript.owner.user, agent=transcript.agent)
        if after and (after <= head.base or head.is_withdrawn(after)):
            raise _diverged()
        if head.last_id == transcript.before:
            return _Stored(0, head.seq)
        if head.last_id in transcript.ids[:-1]:
            return _Stored(transcript.ids.index(head.last_id) + 1, head.seq)
        last = self._last(transcript, head)
        if last is None or last.id != transcript.ids[-1]:
            raise _diverged()
        return _Stored(len(transcript.drafts), head.seq, last=last.seq)

    def _last(self, transcript: _Transcript, head: Head) -> Message | None:
        """Return the stored message at the place of the transcript's last message; None if the
        history is shorter.
        """
        first, is_newest = max(head.base, transcript.after) + 1, head.last_id == transcript.ids[-1]
        messages = self.sessions.messages(
            transcript.scope,
            first=first,
            last=head.seq,
            newest_first=is_newest,
            page=1 if is_newest else None,
        )
        shown = (message for message in messages if not head.is_withdrawn(message.seq))
        return next(islice(shown, 0 if is_newest else len(transcript.ids) - 1, None), None)

    def _append(self, transcript: _Transcript, stored: _Stored) -> AppendResult | None:
        """Append the next batch; None if other messages came first."""
        start = stored.messages
        batch = transcript.batch(start)
        end = start + len(batch)
        is_last = end == len(transcript.drafts)
        before = transcript.ids[start - 1] if start else transcript.before
        try:
            return self.append(
                transcript.scope,
                batch,
                user=transcript.owner.user,
                agent=transcript.agent,
                # Withdrawn messages may be sent again. The number makes a new key for them.
                key=f"ingest:{stored.seq}:{transcript.ids[end - 1]}",
                after=before,
                # One job extracts all batches.
                extract="now" if is_last else "never",
                is_transcript=True,
            )
        except Conflict as conflict:
            if conflict.code != MOVED_ON:
                raise
            return None


def check_length(drafts: Sequence[Draft]) -> None:
    if not 1 <= len(drafts) <= MAX_TRANSCRIPT:
        error = FieldError("messages", f"has {len(drafts)}; 1 to {MAX_TRANSCRIPT} are allowed")
        raise Unprocessable(
            "A transcript has 1 to 1000 messages.", code="transcript_length", errors=(error,)
        )


def _diverged() -> Conflict:
    return Conflict("The session's history differs from the transcript.", code=DIVERGED)


def _transcript(
    scope: UserScope,
    drafts: Sequence[Draft],
    session: str,
    agent: str | None,
    *,
    after: int = 0,
    before: str = "",
) -> _Transcript:
    ids = tuple(_digests(drafts, session=session, before=before))
    return _Transcript(scope.owner.session(session), scope, agent, drafts, ids, after, before)


def _digests(drafts: Sequence[Draft], *, session: str, before: str = "") -> Iterator[str]:
    for draft in drafts:
        before = digest(draft.chat, session=session, before=before)
        yield before


def _derived(scope: UserScope, drafts: Sequence[Draft], *, epoch: int) -> str:
    """Return a session's id, derived from the user and the beginning of a transcript."""
    *_, last = _digests(drafts, session="")
    parts = json.dumps([scope.tenant, scope.user, epoch, len(drafts), last])
    return "ses_" + hashlib.sha256(parts.encode()).hexdigest()[:32]

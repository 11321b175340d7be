"""Take in a whole transcript: append the messages that are not stored yet, and extract all that were not extracted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from palimpsest.clock import Clock, seconds
from palimpsest.conversations.append import Append, Appended
from palimpsest.conversations.drafts import Draft, first_batch, message_sizes, open_calls_after, with_joined_calls
from palimpsest.conversations.history import MOVED_ON
from palimpsest.conversations.lifecycle import check_owner
from palimpsest.conversations.messages import digest
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
    """The session that holds the transcript, how many messages this call appended, and the job that extracts them
    (None: nothing was ever to be extracted).
    """

    session: str
    created: bool
    appended: int
    job_id: str | None


@dataclass(frozen=True, slots=True)
class _Transcript:
    """A transcript and the session it belongs in; `ids` are the digests that its messages have there."""

    scope: SessionScope
    owner: UserScope
    agent: str | None
    drafts: Sequence[Draft]
    ids: Sequence[str]

    def batch(self, start: int) -> Sequence[Draft]:
        """The messages of the next append."""
        return first_batch(self.drafts[start:])


@dataclass(frozen=True, slots=True)
class _Stored:
    """How many messages of the transcript are stored, and the session's newest sequence number then."""

    messages: int
    seq: int


@dataclass(frozen=True, slots=True)
class Ingest:
    sessions: Sessions
    memories: Memories
    append: Append
    request: RequestExtraction
    clock: Clock

    def __call__(
        self, scope: UserScope, drafts: Sequence[Draft], *, session_id: str | None = None, agent: str | None = None
    ) -> Ingested:
        """Store 1 to 1000 messages as the session's history, once however often it is called, and have them extracted.

        If the stored history is a beginning of the transcript, the rest is appended; if the transcript is a beginning
        of the history, nothing is. Without a `session_id` the transcript's beginning decides: it continues the session
        that an earlier ingest made of the same beginning.
        Nothing is written unless every message is valid. Raises `Conflict` (`transcript_diverged`, `owner_mismatch`),
        `TooLarge`, `Unprocessable` and `Unavailable`.
        """
        drafts = with_joined_calls(drafts)
        check_length(drafts)
        open_calls_after(drafts, b"")
        message_sizes(drafts, has_contents=self.append.contents is not None)
        if session_id is not None:
            return self._ingested(_transcript(scope, drafts, session_id, agent))
        epoch = self.memories.user(scope).epoch
        for length in range(1, len(drafts)):
            session = _derived(scope, drafts[:length], epoch=epoch)
            try:
                return self._ingested(_transcript(scope, drafts, session, agent))
            except Conflict as conflict:  # another transcript begins like this one
                if conflict.code != DIVERGED:
                    raise
        return self._ingested(_transcript(scope, drafts, _derived(scope, drafts, epoch=epoch), agent))

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
        )

    def _stored(self, transcript: _Transcript) -> _Stored:
        """How much of the transcript the session holds. Raises `Conflict` if its history is another one."""
        head = self.sessions.open(transcript.scope).head
        if head is None or head.is_gone(seconds(self.clock.now())):
            return _Stored(0, head.seq if head else 0)
        check_owner(head, user=transcript.owner.user, agent=transcript.agent)
        if not head.last_id:
            return _Stored(0, head.seq)
        if head.last_id in transcript.ids:
            return _Stored(transcript.ids.index(head.last_id) + 1, head.seq)
        if self._continues(transcript, head):
            return _Stored(len(transcript.drafts), head.seq)
        raise Conflict("The session's history differs from the transcript.", code=DIVERGED)

    def _continues(self, transcript: _Transcript, head: Head) -> bool:
        """Whether the history begins with the whole transcript and goes on behind it."""
        found = self.sessions.messages(transcript.scope, first=head.base + 1, last=head.seq)
        kept = (message.id for message in found if not head.is_withdrawn(message.seq))
        return next(islice(kept, len(transcript.ids) - 1, None), None) == transcript.ids[-1]

    def _append(self, transcript: _Transcript, stored: _Stored) -> Appended | None:
        """Append the next batch; None if other messages came first."""
        start = stored.messages
        batch = transcript.batch(start)
        end = start + len(batch)
        try:
            return self.append(
                transcript.scope,
                batch,
                user=transcript.owner.user,
                agent=transcript.agent,
                key=f"ingest:{stored.seq}:{transcript.ids[end - 1]}",
                after=transcript.ids[start - 1] if start else "",
                extract="now" if end == len(transcript.drafts) else "never",
            )
        except Conflict as conflict:
            if conflict.code != MOVED_ON:
                raise
            return None


def check_length(drafts: Sequence[Draft]) -> None:
    if not 1 <= len(drafts) <= MAX_TRANSCRIPT:
        error = FieldError("messages", f"{len(drafts)} of 1 to {MAX_TRANSCRIPT}")
        raise Unprocessable("A transcript has 1 to 1000 messages.", code="transcript_length", errors=(error,))


def _transcript(scope: UserScope, drafts: Sequence[Draft], session: str, agent: str | None) -> _Transcript:
    ids = tuple(_digests(drafts, session=session))
    return _Transcript(scope.owner.session(session), scope, agent, drafts, ids)


def _digests(drafts: Sequence[Draft], *, session: str) -> Iterator[str]:
    before = ""
    for draft in drafts:
        before = digest(draft.chat, session=session, before=before)
        yield before


def _derived(scope: UserScope, drafts: Sequence[Draft], *, epoch: int) -> str:
    """A session's id, derived from the user and the beginning of a transcript."""
    *_, last = _digests(drafts, session="")
    parts = json.dumps([scope.tenant, scope.user, epoch, len(drafts), last])
    return "ses_" + hashlib.sha256(parts.encode()).hexdigest()[:32]

"""Short ways to say a message, a head, a session that grows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from palimpsest.conversations.message import Message
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Commit, Compaction, Head, IdempotencyKey, Settings
from palimpsest.jobs.job import Job, armed
from palimpsest.scope import SessionScope

NOW = 1_800_000_000
STAMP = "2027-01-15T08:00:00.000Z"


def message(seq: int, content: str = "hello", **more: Any) -> Message:
    made = Message(
        seq=seq, id=f"{seq:032x}", turn=seq, tokens=5, encoding="o200k_base", created_at=STAMP,
        chat={"role": "user", "content": content},
    )  # fmt: skip
    return replace(made, **more)


def compaction(first: int, last: int, **more: Any) -> Compaction:
    made = Compaction(
        first=first, last=last, method="trim", created_at=STAMP, tokens_before=50, tokens_after=5
    )
    return replace(made, **more)


def settings(**more: Any) -> Settings:
    return replace(Settings(user="sarah", agent="hr", created_at=STAMP), **more)


def key(name: str, seq: int, *, expires_at: int = NOW + 86_400) -> IdempotencyKey:
    return IdempotencyKey(key=name, request="abc", first=seq, last=seq, expires_at=expires_at)


def job(scope: SessionScope, *, first: int = 1, last: int = 1, **more: Any) -> Job:
    made = armed(
        tenant=scope.tenant,
        kind="summarize",
        session=scope.session,
        first=first,
        last=last,
        now=NOW,
    )
    return replace(made, **more)


class Conversation:
    """A session as one careful writer sees it: `head` is what it last wrote."""

    def __init__(self, sessions: Sessions, scope: SessionScope) -> None:
        self.sessions = sessions
        self.scope = scope
        self.head: Head | None = None

    def begin(self, *, base: int = 0, **more: Any) -> Head:
        """Make the session, or make it again over its tombstone."""
        version = 1 if self.head is None else self.head.version + 1
        head = Head(
            user="sarah", agent="hr", version=version, base=base, seq=base, updated_at=NOW * 1000
        )
        return self.commit(
            replace(head, window_start=base + 1), settings=settings(base=base, **more)
        )

    def append(self, content: str = "hello", **more: Any) -> Head:
        """One message more; `more` are further parts of the commit."""
        head = self.known
        seq = head.seq + 1
        after = replace(
            head, version=head.version + 1, seq=seq, turn=seq, last_id=f"{seq:032x}",
            window_tokens=head.window_tokens + 5, window_messages=head.window_messages + 1,
            total_messages=head.total_messages + 1, total_tokens=head.total_tokens + 5,
        )  # fmt: skip
        return self.commit(after, messages=(message(seq, content),), **more)

    def mark_deleted(self) -> Head:
        head = self.known
        return self.commit(
            replace(head, status="deleted", seq=head.seq + 1, version=head.version + 1)
        )

    def commit(self, after: Head, **more: Any) -> Head:
        self.sessions.commit(self.scope, Commit(before=self.head, after=after, **more))
        self.head = after
        return after

    @property
    def known(self) -> Head:
        assert self.head is not None
        return self.head

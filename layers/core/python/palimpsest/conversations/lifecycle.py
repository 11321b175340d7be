"""The changes of a session's head as pure functions: begin, configure, append to, end, empty,
withdraw from, and delete a session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from palimpsest.clock import day_of, milliseconds, seconds, stamp
from palimpsest.conversations.configuration import TOOL_SHARE, TOOL_TOKENS, Strategy, stored
from palimpsest.conversations.drafts import open_calls_through
from palimpsest.conversations.kept import days_of
from palimpsest.conversations.message import UNSHOWN_ROLES, Chat, Message, size_of
from palimpsest.conversations.payloads import RemovalPayload
from palimpsest.conversations.session import Compaction, Head, Settings
from palimpsest.errors import Conflict
from palimpsest.jobs.job import Job, armed
from palimpsest.jobs.kinds import JobKind
from palimpsest.scope import SessionScope

DAY = 24 * 3600
LONGEST_FROZEN = DAY * 1000  # milliseconds for which the beginning of contexts stays as it is
MAX_WITHDRAWALS_UNDER_WAY = 8  # the head has a range for each, and must stay below 1 KB
ANOTHERS = (
    "The session belongs to another user or agent. Ids of sessions are the tenant's: no two users "
    "can have a session "
    "of the same id, so make ids that name the user, such as sarah:monday."
)


@dataclass(frozen=True, slots=True)
class Configuration:
    """A session's configuration: its system message with its tokens, its memory strategy, its token
    encoding, and how long it is kept. `own_days` are the session's own days (0 = for ever; None:
    the tenant's days apply). `tenant_days` are the tenant's (None = for ever).
    """

    memory: Strategy
    encoding: str
    tenant_days: int | None
    own_days: int | None = None
    system: Chat | None = None
    system_tokens: int = 0
    metadata: Mapping[str, Any] | None = None


def check_owner(head: Head, *, user: str | None, agent: str | None) -> None:
    """Raise `Conflict` (`owner_mismatch`) if the session belongs to another user or agent."""
    if (user is not None and user != head.user) or (agent is not None and agent != head.agent):
        raise Conflict(ANOTHERS, code="owner_mismatch")


@dataclass(frozen=True, slots=True)
class Beginning:
    """A new session. `jobs` has the job that deletes the data of an expired session with the same
    id, if there was one.
    """

    head: Head
    settings: Settings
    jobs: tuple[Job, ...] = ()


def begun(
    before: Head | None,
    *,
    scope: SessionScope,
    user: str,
    agent: str | None,
    setup: Configuration,
    now: datetime,
    epoch: int = 0,
) -> Beginning:
    """Return a new session. `before` is the head of a deleted or expired session with the same id,
    if there is one. The new session then continues after its last sequence number, so that no
    number is used twice.
    """
    at = seconds(now)
    is_expired = before is not None and before.status != "deleted"
    tombstone = deleted(before, now=now) if before is not None and is_expired else before
    base = 0 if tombstone is None else tombstone.seq
    head = Head(
        user=user,
        agent=agent,
        base=base,
        seq=base,
        window_start=base + 1,
        updated_at=milliseconds(now),
        epoch=epoch,
        version=0 if tombstone is None else tombstone.version,
    )
    settings = Settings(
        user=user, agent=agent, created_at=stamp(now), base=base, metadata=setup.metadata or {}
    )
    head, settings = configured(head, settings, setup)
    settings = replace(settings, due_at=head.expires_at)
    leftover = (
        (deletion(tombstone, scope=scope, now=at),) if tombstone is not None and is_expired else ()
    )
    return Beginning(head, settings, leftover)


def configured(head: Head, settings: Settings, setup: Configuration) -> tuple[Head, Settings]:
    """Return the session's head and settings under another configuration. A pending overflow is
    dropped, because it was planned under the old configuration. The days in `own_days` take
    precedence over those in the memory configuration.
    """
    memory, own = setup.memory, setup.own_days
    if own is None and memory.retention.conversations is not None:
        own = days_of(memory.retention.conversations) or 0
    days = setup.tenant_days if own is None else own or None
    head = replace(
        kept_for(without_overflow(head), days),
        encoding=setup.encoding,
        system_tokens=setup.system_tokens,
        max_tokens=memory.max_tokens,
        trigger=memory.trigger if memory.keeps_window else 0,
        extract_turns=memory.extract_turns,
        extract_idle=memory.extract_idle,
    )
    settings = replace(
        settings,
        system=setup.system,
        memory=stored(memory),
        retention=own,
        metadata=settings.metadata if setup.metadata is None else setup.metadata,
    )
    return head, settings


def without_overflow(head: Head) -> Head:
    return replace(head, job=None, compaction="none", attempts=0, not_before=0, raised=0)


def touched(head: Head, *, now: datetime) -> Head:
    """Return the head after a write. Its version is one higher, and the time until it expires
    starts again.
    """
    expires_at = None if head.retention is None else seconds(now) + head.retention
    return replace(
        head, version=head.version + 1, updated_at=milliseconds(now), expires_at=expires_at
    )


def kept_for(head: Head, days: int | None) -> Head:
    """Return the head with a new retention: the session is kept for `days` days after its last
    activity, or for ever if `days` is None.
    """
    retention = None if days is None else days * DAY
    expires_at = None if retention is None else head.updated_second + retention
    return replace(head, retention=retention, expires_at=expires_at)


def ended(head: Head) -> Head:
    return replace(head, status="ended")


def deleted(head: Head, *, now: datetime) -> Head:
    """Return the head of a deleted session. It uses up one sequence number, so that a later session
    with the same id has a different `base`.
    """
    head = replace(without_overflow(head), updated_at=milliseconds(now))
    return replace(head, status="deleted", seq=head.seq + 1, version=head.version + 1)


def deletion(head: Head, *, scope: SessionScope, now: int, forgets: bool = False) -> Job:
    """Return the job that removes the data of a deleted session; `head` is its tombstone. With
    `forgets`, the job also removes memories that have no other source.

    The job's id depends on the version of the head. An import can restore a session with its
    sequence numbers, and the session can then be deleted again in another job.
    """
    payload = RemovalPayload(forgets=forgets, at=head.updated_at)
    return job_on(head, scope, kind="delete", first=0, last=head.seq, payload=payload, now=now)


def with_messages(
    head: Head, messages: Sequence[Message], *, open_calls: bytes, system_tokens: int | None
) -> Head:
    """Return the head after an append. System and developer messages are stored but are not part of
    the window. `system_tokens` is the weight of the newest of them (None if none was appended).
    """
    shown = [message for message in messages if message.role not in UNSHOWN_ROLES]
    users = [message.seq for message in messages if message.role == "user"]
    newest = messages[-1]
    if system_tokens is None:
        system_tokens = head.system_tokens
    head = replace(
        with_usage(head, messages),
        frozen_at=_frozen_at(head),
        status="active",
        seq=newest.seq,
        last_id=newest.id,
        turn=newest.turn,
        open_calls=open_calls,
        last_user_seq=users[-1] if users else head.last_user_seq,
        window_tokens=head.window_tokens + sum(message.tokens for message in shown),
        window_messages=head.window_messages + len(shown),
        system_tokens=system_tokens,
        total_messages=head.total_messages + len(messages),
        total_tokens=head.total_tokens + sum(message.tokens for message in messages),
    )
    return replace(head, raised=0) if users and _may_lose_turns(head) else head


def _may_lose_turns(head: Head) -> bool:
    """Return whether the window may be too large for a context. Once a new turn has begun, the turn
    before can be evicted, so that the trigger need not stay raised.
    """
    beside = max(TOOL_TOKENS, head.max_tokens // TOOL_SHARE)
    return head.tokens > head.max_tokens - beside


def _frozen_at(head: Head) -> int:
    """Return a time. Contexts begin with the memories that were known at that time. It is set anew
    by the first append after a compaction, after a day, or after a time when no prompt cache could
    serve the contexts. `head` is the head before the messages are added, touched at the time of the
    append.
    """
    is_stale = head.updated_at - head.frozen_at > LONGEST_FROZEN
    return head.updated_at if is_stale or not head.is_cacheable else head.frozen_at


def with_usage(head: Head, messages: Sequence[Message]) -> Head:
    """Return the head with the counts of its day after these messages. On a new day, the counts
    start again.
    """
    day = day_of(head.updated_at)
    if head.day != day:
        head = replace(head, day=day, day_messages=0, day_tokens=0, day_bytes=0)
    return replace(
        head,
        day_messages=head.day_messages + len(messages),
        day_tokens=head.day_tokens + sum(message.tokens for message in messages),
        day_bytes=head.day_bytes
        + sum(size_of(message.chat, message.metadata, message.extra) for message in messages),
    )


def evicted(head: Head, *, through: int, tokens: int, messages: int) -> Head:
    """Return the head after its oldest messages have left the window. `through` is the sequence
    number of the last of them, `messages` their number, and `tokens` their weight. A pending
    overflow is dropped. Older turns that a pruning kept before the window are dropped too. From
    then on, contexts begin with the memories that are known now.
    """
    return replace(
        without_overflow(head),
        pins=(),
        frozen_at=0,
        window_start=through + 1,
        window_tokens=head.window_tokens - tokens,
        window_messages=head.window_messages - messages,
    )


def folded(head: Head, compaction: Compaction, *, tokens: int, messages: int) -> Head:
    """Return the head after its oldest messages were folded into the summary of the compaction. If
    the compaction has none, the head keeps its earlier summary.
    """
    head = evicted(head, through=compaction.last, tokens=tokens, messages=messages)
    return replace(
        head,
        summary=compaction.summary_number,
        summary_tokens=compaction.summary_tokens,
        version=head.version + 1,
    )


def emptied(head: Head) -> Head:
    """Return the head with an empty window and without a summary. The history keeps the
    messages.
    """
    head = evicted(head, through=head.seq, tokens=head.window_tokens, messages=head.window_messages)
    return replace(
        head, cleared=head.seq, summary=0, summary_tokens=0, open_calls=b"", last_user_seq=0
    )


def withdrawn(
    head: Head,
    *,
    first: int,
    rest: Sequence[Message],
    summary: Compaction | None,
    newest: Message | None,
) -> Head:
    """Return the head after all messages from `first` on were withdrawn. Its window then consists
    of `summary` and `rest`. `newest` is the newest remaining message, even if it is before the
    window; None if no message remains.

    Sequence numbers of withdrawn messages are not used again. Raises `Conflict` while 8 withdrawals
    are running.
    """
    if len(head.withdrawn) >= MAX_WITHDRAWALS_UNDER_WAY:
        raise Conflict(
            "Earlier withdrawals of messages are still running. Try again.",
            code="withdrawals_under_way",
        )
    shown = [message for message in rest if message.role not in UNSHOWN_ROLES]
    users = [message.seq for message in shown if message.role == "user"]
    cleared = min(head.cleared, first - 1)
    start = max(summary.last if summary else head.base, cleared) + 1
    turn = newest.turn if newest else 0
    head = with_summary(without_overflow(head), summary)
    if any(seq >= start for seq, _ in head.pins):
        head = replace(head, pins=())
    return replace(
        head,
        last_id=newest.id if newest else "",
        turn=turn,
        extract_turn=min(head.extract_turn, turn),
        last_user_seq=max(users, default=0),
        open_calls=open_calls_through(message.chat for message in rest),
        cleared=cleared,
        window_start=start,
        window_tokens=sum(message.tokens for message in shown),
        window_messages=len(shown),
        # The withdrawn messages may be appended again. That append isn't a repetition.
        batch="",
        withdrawn=(*head.withdrawn, (first, head.seq)),
        # An extraction that has read the withdrawn messages must read again.
        redactions=head.redactions + 1,
    )


def with_summary(head: Head, compaction: Compaction | None) -> Head:
    """Return the head with the compaction's summary before its window. None removes the summary."""
    if compaction is None:
        return replace(head, summary=0, summary_tokens=0)
    return replace(
        head, summary=compaction.summary_number, summary_tokens=compaction.summary_tokens
    )


def job_on(
    head: Head, scope: SessionScope, *, kind: JobKind, first: int, last: int, now: int, **more: Any
) -> Job:
    """Return a job on the messages `first` through `last` of the session with this head. `now` is
    in epoch seconds. `more` are other parameters of `armed`.
    """
    return armed(
        tenant=scope.tenant,
        user=head.user,
        epoch=head.epoch,
        kind=kind,
        session=scope.session,
        first=first,
        last=last,
        version=head.version,
        now=now,
        **more,
    )


def armed_extraction(head: Head, scope: SessionScope, *, now: int) -> tuple[Head, tuple[Job, ...]]:
    """Return the extraction job for all messages that no job covers yet, and the head that records
    it. If there are no such messages, return the same head and no job. `now` is in epoch seconds.
    """
    first = max(head.armed_seq, head.base) + 1
    if first > head.seq:
        return head, ()
    job = job_on(head, scope, kind="extract", first=first, last=head.seq, now=now)
    return replace(head, armed_seq=head.seq, extract_turn=head.turn, extract_job=job.id), (job,)


def buffered_turns(head: Head) -> int:
    """Return the number of complete turns that no extraction job covers yet. A turn that still
    lacks its answer does not count.
    """
    is_open = head.last_user_seq == head.seq or bool(head.open_calls)
    return max(0, head.turn - head.extract_turn - is_open)


def completes_buffer(before: Head, after: Head) -> bool:
    """Return whether the append that led from the head `before` to the head `after` reached the
    session's `extract_turns`, or a multiple of it.
    """
    enough = after.extract_turns
    return bool(enough) and buffered_turns(after) // enough > buffered_turns(before) // enough

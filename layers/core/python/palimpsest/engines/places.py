"""Where the stores of all engines put things: partitions, shards, and places in lists."""

from __future__ import annotations

import hashlib
import zlib

from palimpsest.jobs.job import RETENTION_SECONDS, Job
from palimpsest.memory.ports import MemoryCommit
from palimpsest.memory.record import Record
from palimpsest.scope import Scope, UserScope
from palimpsest.usage import Tally

COUNTERS = frozenset(
    {"version", "window_tokens", "window_messages", "total_messages", "total_tokens"}
)
"""What a commit under the guard `window` changes by difference; of the head's other fields it sets
those it changes.
"""

SHARDS = 64
"""Over how many partitions the due work of all tenants is spread. A round of the sweep queries each
of them.
"""

TOMBSTONE_SECONDS = RETENTION_SECONDS + 24 * 3600
"""A deleted head stays 30 days, and one more so that every promise of 30 days is over before it
goes.
"""

MOST_ITEMS = 100
"""How many items one transaction writes (DynamoDB); the stores in memory divide work alike."""

EXAMINED = 1_000
"""How many records one call of a list reads at most, whatever it finds."""


def items_of(commit: MemoryCommit) -> int:
    """How many items a memory commit writes: the user's own first, then one for each thing that it
    names.
    """
    moments = sum(
        record.topic_key is not None
        for record in (*commit.new, *commit.removed, *commit.removed_places)
    )
    removed = 3 * len({record.id for record in commit.removed})  # the record, its uses, its mark
    alone = (commit.line, commit.progress, commit.job, commit.finished, commit.call)
    single = sum(part is not None for part in alone)
    written = (
        len(commit.buried)
        + len(commit.new)
        + len(commit.changed)
        + len(commit.said)
        + len(commit.pointers)
    )
    return 1 + written + moments + removed + single


def tally_name(tally: Tally) -> str:
    """The name of a tally's row: of one life of a session, and no name of a user."""
    return _hash(tally.user, tally.session, tally.base)


def calls_name(scope: UserScope) -> str:
    """The name of the row of a user's model calls."""
    return _hash(scope.user)


def _hash(*parts: object) -> str:
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()[:24]


def job_partition(job: Job) -> str:
    """The partition that a job has for itself."""
    return Scope(job.tenant).job_partition(job.id)


def shard_of(partition: str) -> str:
    """The shard of due work that a partition belongs to: a number below `SHARDS`, as text."""
    return str(zlib.crc32(partition.encode()) % SHARDS)


def listed_as(*, user: str, created_at: str, session: str) -> str:
    """A session's place in its tenant's list: by user, then creation."""
    return f"{user}#{created_at}#{session}"


def listed_within(user: str | None, *, since: str | None, until: str | None) -> tuple[str, str]:
    """Two places around all sessions of a user, or of the tenant, that began from `since` to
    `until` (RFC 3339).
    """
    first = "" if user is None else f"{user}#"
    return f"{first}{since or '!'}", f"{first}{until or ''}~"


def session_listed_as(*, created_at: str, session: str) -> str:
    """A session's place in its tenant's list by creation."""
    return f"{created_at}#{session}"


def job_listed_as(job: Job) -> str:
    """A job's place in its user's list: by creation (12 digits of epoch seconds), then id."""
    return f"{job.created_at:012d}#{job.id}"


def record_listed_as(record: Record) -> str:
    """A record's place in its user's list: by creation (15 digits of epoch milliseconds), then
    id.
    """
    return f"{record.created_at:015d}#{record.id}"

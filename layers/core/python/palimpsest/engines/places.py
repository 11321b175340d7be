"""The names of places in the stores of all engines: partitions, shards, and places in lists."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator

from palimpsest.jobs.job import RETENTION_SECONDS, Job
from palimpsest.memory.ports import MemoryCommit
from palimpsest.memory.record import Record
from palimpsest.scope import Scope, UserScope
from palimpsest.usage import Tally

COUNTERS = frozenset(
    {"version", "window_tokens", "window_messages", "total_messages", "total_tokens"}
)
"""The fields of the head that a commit under the guard `window` changes by a difference. Other
changed fields are set to their new value.
"""

SHARDS = 64
"""The number of partitions over which the due work of all tenants is spread. A round of the sweep
looks at each of them.
"""
STRIDE = 39  # shards; it shares no divisor with their number, so that each of them comes first
MINUTE = 60

TOMBSTONE_SECONDS = RETENTION_SECONDS + 24 * 3600
"""How long the head of a deleted session is kept. It is kept a day longer than 30 days, so that
everything that lasts 30 days is over before the head is removed.
"""

MOST_ITEMS = 100
"""The highest number of items in one transaction (a limit of DynamoDB). The stores in memory divide
work in the same way.
"""

EXAMINED = 1_000
"""The highest number of records that one call of a list reads, whether or not they match."""


def items_of(commit: MemoryCommit) -> int:
    """Return the number of items that a memory commit writes: the user's own item, and one or more
    for each part of the commit.
    """
    moments = sum(
        record.topic_key is not None
        for record in (*commit.new, *commit.removed, *commit.removed_places)
    )
    removed = 3 * len({record.id for record in commit.removed})  # the record, its uses and its mark
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
    """Return the name of a tally's row. It is a digest without the user's name. A session that was
    deleted and began again has a new row.
    """
    return _hash(tally.user, tally.session, tally.base)


def calls_name(scope: UserScope) -> str:
    """Return the name of the row that counts a user's model calls."""
    return _hash(scope.user)


def _hash(*parts: object) -> str:
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()[:24]


def job_partition(job: Job) -> str:
    """Return the partition that holds only this job."""
    return Scope(job.tenant).job_partition(job.id)


def shard_of(partition: str) -> str:
    """Return the shard of due work that a partition belongs to: a number below `SHARDS`, as
    text.
    """
    return str(zlib.crc32(partition.encode()) % SHARDS)


def listed_as(*, user: str, created_at: str, session: str) -> str:
    """Return a session's place in its tenant's list by user and then creation."""
    return f"{user}#{created_at}#{session}"


def listed_within(user: str | None, *, since: str | None, until: str | None) -> tuple[str, str]:
    """Return two places that enclose all sessions of a user, or of the tenant, that began from
    `since` to `until` (RFC 3339).
    """
    first = "" if user is None else f"{user}#"
    return f"{first}{since or '!'}", f"{first}{until or ''}~"


def session_listed_as(*, created_at: str, session: str) -> str:
    """Return a session's place in its tenant's list by creation."""
    return f"{created_at}#{session}"


def job_listed_as(job: Job) -> str:
    """Return a job's place in its user's list, which is ordered by creation (12 digits of epoch
    seconds) and then id.
    """
    return f"{job.created_at:012d}#{job.id}"


def record_listed_as(record: Record) -> str:
    """Return a record's place in its user's list, which is ordered by creation (15 digits of epoch
    milliseconds) and then id.
    """
    return f"{record.created_at:015d}#{record.id}"


def shards_at(now: int) -> Iterator[str]:
    """Yield all shards in the order in which they are visited at `now` (epoch seconds). Each minute
    begins at a shard far from the first shard of the minute before. Otherwise a sweep that has no
    time for all shards would never reach the last ones.
    """
    first = now // MINUTE * STRIDE
    return (str((first + place) % SHARDS) for place in range(SHARDS))

"""Where the stores put things, whatever their engine: partitions, places in lists, shards, and what fits one commit."""

from __future__ import annotations

import zlib

from palimpsest.jobs.job import RETENTION_SECONDS, Job
from palimpsest.memory.ports import MemoryCommit
from palimpsest.memory.records import Record
from palimpsest.scope import Scope

COUNTERS = frozenset({"version", "window_tokens", "window_messages", "total_messages", "total_tokens"})
"""What a commit under the guard `window` changes by difference; of the head's other fields it sets those it changes."""
SHARDS = 64
"""Over how many partitions the due work of all tenants is spread. A round of the sweep queries each of them."""
TOMBSTONE_SECONDS = RETENTION_SECONDS + 24 * 3600
"""A deleted head stays 30 days, and one more so that every promise of 30 days is over before it goes."""
MOST_ITEMS = 100
"""How many items one transaction writes (DynamoDB); the stores in memory divide work alike."""


def items_of(commit: MemoryCommit) -> int:
    """How many items a memory commit writes: the user's own first, then one for each thing that it names."""
    moments = sum(record.topic_key is not None for record in (*commit.new, *commit.removed, *commit.removed_places))
    removed = 3 * len({record.id for record in commit.removed})  # the record, its uses, its mark
    single = sum(part is not None for part in (commit.line, commit.progress, commit.job, commit.finished))
    written = len(commit.new) + len(commit.changed) + len(commit.said) + len(commit.pointers)
    return 1 + written + moments + removed + single


def job_partition(job: Job) -> str:
    """The partition that a job has for itself."""
    return Scope(job.tenant).job_partition(job.id)


def shard_of(partition: str) -> str:
    """The shard of due work that a partition belongs to: a number below `SHARDS`, as text."""
    return str(zlib.crc32(partition.encode()) % SHARDS)


def listed_as(*, user: str, created_at: str, session: str) -> str:
    """A session's place in its tenant's list: by user, then creation."""
    return f"{user}#{created_at}#{session}"


def job_listed_as(job: Job) -> str:
    """A job's place in its user's list: by creation (12 digits of epoch seconds), then id."""
    return f"{job.created_at:012d}#{job.id}"


def record_listed_as(record: Record) -> str:
    """A record's place in its user's list: by creation (15 digits of epoch milliseconds), then id."""
    return f"{record.created_at:015d}#{record.id}"

"""What every store does alike, whatever its engine: counters, shards of due work, tombstones, cursors of lists."""

from __future__ import annotations

import base64
import json
import re
import zlib

from palimpsest.errors import BadRequest
from palimpsest.jobs.job import RETENTION_SECONDS, Job
from palimpsest.scope import ID_PATTERN, Scope, UserScope

COUNTERS = frozenset({"version", "window_tokens", "window_messages", "total_messages", "total_tokens"})
"""What a commit under the guard `window` changes by difference; of the head's other fields it sets those it changes."""
SHARDS = 8
TOMBSTONE_SECONDS = RETENTION_SECONDS + 24 * 3600
"""A deleted head stays 30 days, and one more so that every promise of 30 days is over before it goes."""
_JOB_PLACE = re.compile(rf"\d{{12}}#(?!\.+$){ID_PATTERN}")
_PLACE = re.compile(rf"{ID_PATTERN}#[^#]{{1,64}}#(?!\.+$){ID_PATTERN}")


def job_partition(job: Job) -> str:
    """The partition that a job has for itself."""
    return Scope(job.tenant).job_partition(job.id)


def shard_of(partition: str) -> str:
    """The shard, "0" to "7", that lists a partition's due work."""
    return str(zlib.crc32(partition.encode()) % SHARDS)


def listed_as(*, user: str, created_at: str, session: str) -> str:
    """A session's place in its tenant's list: by user, then creation."""
    return f"{user}#{created_at}#{session}"


def job_listed_as(job: Job) -> str:
    """A job's place in its user's list: by creation, then id."""
    return f"{job.created_at:012d}#{job.id}"


def job_place(scope: UserScope, after: str) -> str:
    """What `cursor` was given for a list of jobs; raise `BadRequest` (`invalid_cursor`) if it was not made for it."""
    place = opened(after, tenant=scope.tenant, user=scope.user)
    if not _JOB_PLACE.fullmatch(place):
        raise _refused()
    return place


def cursor(*, tenant: str, user: str | None, listed: str) -> str:
    """An opaque place in the list of a tenant (of one user, if named)."""
    text = json.dumps([tenant, user, listed], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def place_of(after: str, *, tenant: str, user: str | None) -> str:
    """What `cursor` was given as `listed`; raise `BadRequest` (`invalid_cursor`) if it was not made for this list."""
    listed = opened(after, tenant=tenant, user=user)
    if _PLACE.fullmatch(listed) and (user is None or listed.startswith(f"{user}#")):
        return listed
    raise _refused()


def opened(after: str, *, tenant: str, user: str | None) -> str:
    """What a cursor of this tenant and user holds, whatever it is; raise `BadRequest` if it is of another."""
    try:
        place = json.loads(base64.b64decode(after + "=" * (-len(after) % 4), altchars=b"-_", validate=True))
    except (ValueError, RecursionError) as error:
        raise _refused() from error
    match place:
        case [str(owner), str() | None as listed_user, str(listed)] if (owner, listed_user) == (tenant, user):
            return listed
    raise _refused()


def _refused() -> BadRequest:
    return BadRequest("The cursor is not one of this list.", code="invalid_cursor")

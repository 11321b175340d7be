"""One adapter per engine behind each port. The stores of all engines put things in the same places: partitions, shards,
places in lists, and the cursors of lists.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from dataclasses import dataclass

from palimpsest.errors import BadRequest
from palimpsest.jobs import RETENTION_SECONDS, Job
from palimpsest.memory import Record
from palimpsest.memory.ports import MemoryCommit
from palimpsest.scope import ID_PATTERN, Scope, UserScope
from palimpsest.usage import Tally

COUNTERS = frozenset({"version", "window_tokens", "window_messages", "total_messages", "total_tokens"})
"""What a commit under the guard `window` changes by difference; of the head's other fields it sets those it changes."""
SHARDS = 64
"""Over how many partitions the due work of all tenants is spread. A round of the sweep queries each of them."""
TOMBSTONE_SECONDS = RETENTION_SECONDS + 24 * 3600
"""A deleted head stays 30 days, and one more so that every promise of 30 days is over before it goes."""
MOST_ITEMS = 100
"""How many items one transaction writes (DynamoDB); the stores in memory divide work alike."""
EXAMINED = 1_000
"""How many records one call of a list reads at most, whatever it finds."""
_ID = rf"(?!\.+$){ID_PATTERN}"
_MOMENT = r"\d{4}-[0-9T:.Z-]{1,32}"


def items_of(commit: MemoryCommit) -> int:
    """How many items a memory commit writes: the user's own first, then one for each thing that it names."""
    moments = sum(record.topic_key is not None for record in (*commit.new, *commit.removed, *commit.removed_places))
    removed = 3 * len({record.id for record in commit.removed})  # the record, its uses, its mark
    alone = (commit.line, commit.progress, commit.job, commit.finished, commit.call)
    single = sum(part is not None for part in alone)
    written = len(commit.new) + len(commit.changed) + len(commit.said) + len(commit.pointers)
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
    """Two places around all sessions of a user, or of the tenant, that began from `since` to `until` (RFC 3339)."""
    first = "" if user is None else f"{user}#"
    return f"{first}{since or '!'}", f"{first}{until or ''}~"


def session_listed_as(*, created_at: str, session: str) -> str:
    """A session's place in its tenant's list by creation."""
    return f"{created_at}#{session}"


def job_listed_as(job: Job) -> str:
    """A job's place in its user's list: by creation (12 digits of epoch seconds), then id."""
    return f"{job.created_at:012d}#{job.id}"


def record_listed_as(record: Record) -> str:
    """A record's place in its user's list: by creation (15 digits of epoch milliseconds), then id."""
    return f"{record.created_at:015d}#{record.id}"


@dataclass(frozen=True, slots=True)
class ListCursor:
    """The cursors of one list: of a tenant or, if `user` is named, of that user. `places` matches what one may hold."""

    tenant: str
    user: str | None
    places: re.Pattern[str]

    def at(self, place: str) -> str:
        """The cursor with which the list goes on after a place."""
        text = json.dumps([self.tenant, self.user, place], separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    def place(self, after: str | None) -> str | None:
        """The place that a cursor holds; None for None. Raises `BadRequest` (`invalid_cursor`) for one of another list,
        and for anything that `at` did not make.
        """
        if after is None:
            return None
        try:
            found = json.loads(base64.b64decode(after + "=" * (-len(after) % 4), altchars=b"-_", validate=True))
        except (ValueError, RecursionError) as error:
            raise _refused() from error
        match found:
            case [str(tenant), str() | None as user, str(place)] if (tenant, user) == (self.tenant, self.user):
                if self.places.fullmatch(place):
                    return place
        raise _refused()


def session_cursor(scope: Scope, user: str | None) -> ListCursor:
    """The cursors of a tenant's sessions (`session_listed_as`), or of one user's (`listed_as`)."""
    owner = "" if user is None else f"{re.escape(user)}#"
    return ListCursor(scope.tenant, user, re.compile(rf"{owner}{_MOMENT}#{_ID}"))


def user_cursor(scope: Scope) -> ListCursor:
    """The cursors of a tenant's users, by id."""
    return ListCursor(scope.tenant, None, re.compile(_ID))


def job_cursor(scope: UserScope | Scope) -> ListCursor:
    """The cursors of a user's jobs, or of the tenant's failed ones (`job_listed_as`)."""
    user = scope.user if isinstance(scope, UserScope) else None
    return ListCursor(scope.tenant, user, re.compile(rf"\d{{12}}#{_ID}"))


def record_cursor(scope: UserScope) -> ListCursor:
    """The cursors of a user's records (`record_listed_as`)."""
    return ListCursor(scope.tenant, scope.user, re.compile(r"\d{15}#[^#]{1,128}"))


def _refused() -> BadRequest:
    return BadRequest("The cursor is not one of this list.", code="invalid_cursor")

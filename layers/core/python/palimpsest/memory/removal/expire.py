"""Removes expired records, all versions of a topic together, and reminds the indexer of records
that it has not confirmed.

Both work in rounds of a limited size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from palimpsest.clock import Clock, seconds
from palimpsest.errors import CommitLost
from palimpsest.jobs.events import RecordChanged
from palimpsest.jobs.ports import Queues
from palimpsest.memory.expiry import Walk, first, first_expiry, is_expired
from palimpsest.memory.ports import Expiries, Memories, Pointer, Reminder
from palimpsest.memory.record import Record
from palimpsest.memory.removal.transactions import Removal, transactions
from palimpsest.memory.statements import DAY
from palimpsest.scope import UserScope

PATIENCE = 45  # seconds; with a sweep each minute, a reminder that was lost is sent within two
PER_SHARD = 25  # users
A_ROUND = 1_000  # records looked at
AT_ONCE = 100  # records of one user
LOOK_AGAIN = 30 * DAY
"""When to look again at a topic whose newest version never expires but whose older versions do.
They expire once the newest version is deleted.
"""


def look_again(reminder: Reminder, *, now: int) -> Reminder:
    """Return when to look at the record next (epoch seconds). The second look comes soon after the
    first. Each further look comes when the record's age has doubled.
    """
    if reminder.since is None:
        return Reminder(due_at=now + PATIENCE, since=now)
    return Reminder(due_at=now + max(PATIENCE, now - reminder.since), since=reminder.since)


@dataclass(frozen=True, slots=True)
class Remind:
    """Tells the indexer again about a record that it has not confirmed, because the first notice
    may be lost. Without `queues` nothing is sent, because nothing is indexed through queues.
    """

    expiries: Expiries
    clock: Clock
    queues: Queues | None = None

    def __call__(self, scope: UserScope, record_id: str) -> None:
        """Send the change of the record again, unless the sweep visits the record for the first
        time. At that time, the first notice may still be on its way. A second notice does no harm.

        Raises `CommitLost` if the record is written or confirmed in the meantime, and
        `Unavailable`.
        """
        now = seconds(self.clock.now())
        reminder = self.expiries.reminder(scope, record_id)
        if reminder is None or reminder.due_at > now:
            return  # confirmed or removed; the index of due work follows a moment later
        if self.queues is not None and reminder.since is not None:
            self.queues.send_changes([RecordChanged(scope.tenant, scope.user, record_id)])
        again = None if self.queues is None else look_again(reminder, now=now)
        self.expiries.remind(scope, record_id, before=reminder, to=again)


@dataclass(frozen=True, slots=True)
class Expire:
    memories: Memories
    expiries: Expiries
    clock: Clock
    remind: Remind | None = None

    def __call__(self, *, has_time: Callable[[], bool] = lambda: True) -> int:
        """Visit users with expired records, and records that the index has not confirmed, as long
        as `has_time` returns true. Return how many records were visited.

        If another writer changes a user's records at the same time, that user is visited again in
        the next round. The same applies to users whose records exceed the limit of 1,000 records in
        a round. Raises `Unavailable`.
        """
        left = A_ROUND
        for scope, record_id in self.expiries.due(now=self._now, limit=PER_SHARD):
            if left <= 0 or not has_time():
                break
            with suppress(CommitLost):
                if record_id is None:
                    left -= self._go_on(scope, limit=min(AT_ONCE, left))
                elif self.remind is not None:
                    left -= 1
                    self.remind(scope, record_id)
        return A_ROUND - left

    @property
    def _now(self) -> int:
        return seconds(self.clock.now())

    def _go_on(self, scope: UserScope, *, limit: int) -> int:
        """Visit one page of the user's records, and return how many were visited. If this raises
        `CommitLost`, the next round visits the page again.
        """
        walk = self.expiries.walk(scope)
        if walk is None or walk.due_at > self._now:
            return 0  # erased meanwhile, or the index follows the table a moment later
        if walk.after is None:
            begun = walk.begun()
            # The walk begins before its first page is read, so that later writes are noted for the
            # next walk.
            self.expiries.move(scope, before=walk, to=begun)
            walk = begun
        page = self.expiries.records(scope, limit=limit, after=walk.after)
        stays = [record for record in page.records if not is_expired(record, now=self._now)]
        gone = [record for record in page.records if is_expired(record, now=self._now)]
        expired = _Expired(self.memories, scope, epoch=walk.epoch, now=self._now)
        expired.remove(gone)
        earliest = first(walk.earliest, first_expiry(stays), expired.look_again)
        self._move(scope, walk, after=page.after, earliest=earliest)
        return len(page.records) + expired.beyond

    def _move(
        self, scope: UserScope, walk: Walk, *, after: str | None, earliest: int | None
    ) -> None:
        """Move the walk on. The walk is read again first, because a write may have noted an expiry
        in the meantime.
        """
        now = self.expiries.walk(scope)
        if now is not None and (now.epoch, now.number, now.after) == (
            walk.epoch,
            walk.number,
            walk.after,
        ):
            self.expiries.move(scope, before=now, to=now.gone_on(after=after, earliest=earliest))


@dataclass(slots=True)
class _Expired:
    """Removes expired records of one user. If a topic's newest version has expired, the whole topic
    is removed.

    `look_again` (epoch seconds) is when a topic that stays must be visited again, if its versions
    do not show that time. `beyond` counts removed versions that are not among the given records.
    """

    memories: Memories
    scope: UserScope
    epoch: int
    now: int
    look_again: int | None = None
    beyond: int = 0

    def remove(self, expired: Sequence[Record]) -> None:
        """Remove at most 100 records. Raises `CommitLost` if one of them was said again since it
        was read, or erased.
        """
        self._commit(Removal((record,)) for record in expired if record.topic_key is None)
        topics = {record.topic_key: record for record in expired if record.topic_key is not None}
        pointers = self.memories.pointers(self.scope, sorted(topics)) if topics else {}
        for topic, record in sorted(topics.items()):
            self._remove_topic(record, pointers.get(topic))

    def _remove_topic(self, record: Record, pointer: Pointer | None) -> None:
        statements = self.memories.versions(self.scope, record.topic_key or "")
        if statements and not is_expired(statements[-1], now=self.now):
            if statements[-1].expires_at is None:
                self.look_again = self.now + LOOK_AGAIN
            return
        if record.id not in {statement.id for statement in statements}:
            statements = (record, *statements)
        self.beyond += len(statements) - 1
        self._commit([Removal(statements, pointer)])

    def _commit(self, removals: Iterable[Removal]) -> None:
        for commit in transactions(removals, epoch=self.epoch, room=self.memories.room):
            self.memories.commit(self.scope, commit)

"""Remove what has expired of users' memories, a topic's versions together, a bounded part in each round."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from palimpsest.clock import Clock, seconds
from palimpsest.errors import CommitLost
from palimpsest.memory.expiry import Walk, first, first_expiry, is_expired
from palimpsest.memory.ports import Expiries, Memories, MemoryCommit, Pointer
from palimpsest.memory.records import Record
from palimpsest.memory.removal.topic import MOST_PLACES, batches, by_record, surplus
from palimpsest.memory.statements import DAY
from palimpsest.scope import UserScope

PER_SHARD = 25  # users
A_ROUND = 1_000  # records looked at
AT_ONCE = 100  # records of one user
LOOK_AGAIN = 30 * DAY
"""When a topic that never expires holds versions that do: should its newest be deleted, they are found then."""


@dataclass(frozen=True, slots=True)
class Expire:
    memories: Memories
    expiries: Expiries
    clock: Clock

    def __call__(self) -> int:
        """Go on with everybody of whom something has come due; returns how many records were looked at.

        A user whom another writer is busy with stays due, and so does who is left when the round is full.
        """
        left = A_ROUND
        for scope in self.expiries.due(now=self._now, limit=PER_SHARD):
            if left <= 0:
                break
            with suppress(CommitLost):
                left -= self._go_on(scope, limit=min(AT_ONCE, left))
        return A_ROUND - left

    @property
    def _now(self) -> int:
        return seconds(self.clock.now())

    def _go_on(self, scope: UserScope, *, limit: int) -> int:
        """One part of the user's records. Raises `CommitLost`: then the next round does this part again."""
        walk = self.expiries.walk(scope)
        if walk is None or walk.due_at > self._now:
            return 0  # erased meanwhile, or the index follows the table a moment later
        if walk.after is None:
            begun = walk.begun()
            self.expiries.move(scope, before=walk, to=begun)
            walk = begun
        page = self.expiries.records(scope, limit=limit, after=walk.after)
        stays = [record for record in page.records if not is_expired(record, now=self._now)]
        gone = [record for record in page.records if is_expired(record, now=self._now)]
        removal = Removal(self.memories, scope, epoch=walk.epoch, now=self._now)
        removal(gone)
        earliest = first(walk.earliest, first_expiry(stays), removal.look_again)
        self._move(scope, walk, after=page.after, earliest=earliest)
        return len(page.records) + removal.beyond

    def _move(self, scope: UserScope, walk: Walk, *, after: str | None, earliest: int | None) -> None:
        """The walk as it is now also has what was noted during this part."""
        now = self.expiries.walk(scope)
        if now is not None and (now.epoch, now.number, now.after) == (walk.epoch, walk.number, walk.after):
            self.expiries.move(scope, before=now, to=now.gone_on(after=after, earliest=earliest))


@dataclass(slots=True)
class Removal:
    """Removes expired records of one user, and the whole topics of those whose newest version has expired too.

    `look_again` is when a topic that stays shall be looked at, if its own versions do not tell; `beyond` counts what
    topics held besides the records given.
    """

    memories: Memories
    scope: UserScope
    epoch: int
    now: int
    look_again: int | None = None
    beyond: int = 0

    def __call__(self, expired: Sequence[Record]) -> None:
        """At most 100 records. Raises `CommitLost` if one of them was said again since it was read, or erased."""
        alone = [[record] for record in expired if record.topic_key is None]
        for batch in batches(alone, self.memories.room):
            self._commit(removed=batch)
        topics = {record.topic_key: record for record in expired if record.topic_key is not None}
        pointers = self.memories.pointers(self.scope, sorted(topics)) if topics else {}
        for topic, record in sorted(topics.items()):
            self._topic(record, pointers.get(topic))

    def _topic(self, record: Record, pointer: Pointer | None) -> None:
        said = self.memories.versions(self.scope, record.topic_key or "")
        if said and not is_expired(said[-1], now=self.now):
            if said[-1].expires_at is None:
                self.look_again = self.now + LOOK_AGAIN
            return
        if record.id not in {one.id for one in said}:
            said = (record, *said)
        self.beyond += len(said) - 1
        places = by_record(said)
        for more in surplus(places, self.memories.room):
            pointer = self._commit_topic(pointer, unsaid=more)
        for batch in batches([one[-MOST_PLACES:] for one in places], self.memories.room):
            pointer = self._commit_topic(pointer, removed=batch)

    def _commit_topic(
        self, pointer: Pointer | None, *, removed: Sequence[Record] = (), unsaid: Sequence[Record] = ()
    ) -> Pointer | None:
        """Whoever speaks of the topic meanwhile moves its pointer: then this is lost, and the topic looked at anew."""
        if pointer is None:
            self._commit(removed=removed, unsaid=unsaid)
            return None
        retracted = replace(pointer, record=None)
        self._commit(removed=removed, unsaid=unsaid, pointers=(retracted,))
        return replace(retracted, version=retracted.version + 1)

    def _commit(
        self, *, removed: Sequence[Record] = (), unsaid: Sequence[Record] = (), pointers: Sequence[Pointer] = ()
    ) -> None:
        commit = MemoryCommit(epoch=self.epoch, removed=removed, unsaid=unsaid, pointers=pointers)
        self.memories.commit(self.scope, commit)

"""Shows memories to callers: records as versions of their topic, singly or in pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from palimpsest import parallel
from palimpsest.conversations.listing import filled
from palimpsest.memory.filters import MemoryFilter
from palimpsest.memory.manage import ManageMemories
from palimpsest.memory.ports import Memories, Pointer
from palimpsest.memory.record import Record
from palimpsest.memory.resting import changed_grounds
from palimpsest.memory.versions import Version, single, versions
from palimpsest.scope import UserScope


@dataclass(frozen=True, slots=True)
class ShowMemories:
    memories: Memories
    manage: ManageMemories

    def listed(
        self,
        scope: UserScope,
        *,
        where: MemoryFilter,
        limit: int,
        after: str | None,
        newest_first: bool,
        superseded: bool = False,
    ) -> tuple[tuple[Version, ...], str | None]:
        """Return a page of current memories, or of superseded ones, and the cursor of the next page
        (None on the last page). At most 5 pages of the store are read, so a page may be short
        although more follow.
        """
        page = partial(
            self.manage.listed, scope, where=where, newest_first=newest_first, superseded=superseded
        )
        records, following = filled(page, limit=limit, after=after)
        return self(scope, records), following

    def __call__(self, scope: UserScope, records: Sequence[Record]) -> tuple[Version, ...]:
        """Return the version of each record, with its uses, in the order of the records (at most
        100). Each topic is read once, and several topics are read at the same time.
        """
        return self.with_uses(scope, self._versions(scope, records))

    def with_uses(self, scope: UserScope, page: Sequence[Version]) -> tuple[Version, ...]:
        """Return the versions (at most 100) with their uses by recall (how often, and when last),
        and with the information whether a memory that they rest on has changed.
        """
        uses = self.memories.uses(scope, [version.record.id for version in page])
        changed = changed_grounds(self.memories, scope, [version.record for version in page])
        page = [replace(version, rests_on_changed=version.record.id in changed) for version in page]
        return tuple(
            replace(version, uses=used[0], used_at=used[1])
            if (used := uses.get(version.record.id))
            else version
            for version in page
        )

    def _versions(self, scope: UserScope, records: Sequence[Record]) -> tuple[Version, ...]:
        topics = sorted({record.topic_key for record in records if record.topic_key is not None})
        if not topics:
            return tuple(map(single, records))
        pointers = self.memories.pointers(scope, topics)

        def chain(topic: str) -> tuple[Version, ...]:
            return _chain(pointers.get(topic), self.memories.versions(scope, topic))

        chains = dict(zip(topics, parallel.run_each(chain, topics), strict=True))
        return tuple(_place(record, chains) for record in records)


def _chain(pointer: Pointer | None, records: Sequence[Record]) -> tuple[Version, ...]:
    if pointer is None:
        return ()
    return versions(
        records, current=pointer.record, retracted=pointer.retracted_at, ended=pointer.ended
    )


def _place(record: Record, chains: Mapping[str, Sequence[Version]]) -> Version:
    """Return the record's version. If the record was current more than once, this is its last
    version. If somebody removed the record in the meantime, it is version 1.
    """
    chain = chains.get(record.topic_key or "", ())
    return next(
        (version for version in reversed(chain) if version.record.id == record.id), single(record)
    )

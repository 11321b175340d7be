"""Forward stream records: a new job to its worker, a change to the indexer, and what has happened to the event bus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from palimpsest.jobs.ports import Changed, EventBus, JobNotice, Queues, StreamRecord, Unreadable
from palimpsest.observability import measured
from palimpsest.usage.counts import Tally
from palimpsest.usage.ports import Usages


@dataclass(frozen=True, slots=True)
class Dispatch:
    """`read` decodes a stream record of the engine that the tables are on. `indexes` is false where there is no search
    index.
    """

    queues: Queues
    read: Callable[[Mapping[str, Any]], StreamRecord]
    bus: EventBus
    usages: Usages
    indexes: bool = True

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Put one queue message for one stream record, if it asks for one, count what a session has taken in, and
        publish what has happened; a record that cannot be read goes to the parked queue.

        Raises `Unavailable` if the queue, the store or the bus does not answer; the stream then delivers the record
        again.
        """
        told = self.read(record)
        self._send(told.asks)
        if told.tally is not None:
            self._count(told.tally)
        if told.happened is not None:
            self.bus.publish([told.happened])

    def _send(self, asked: JobNotice | Changed | Unreadable | None) -> None:
        if isinstance(asked, Unreadable):
            self.queues.park(asked.name)
        elif isinstance(asked, JobNotice):
            self.queues.send([asked])
        elif asked is not None and self.indexes:
            self.queues.send_changes([asked])

    def _count(self, tally: Tally) -> None:
        gained = self.usages.reach(tally)
        if gained:
            measured(tally.tenant, gained)

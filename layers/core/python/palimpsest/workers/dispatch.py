"""Forward stream records: a new job to its worker, a change to the indexer, and what has happened to the event bus."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.jobs.ports import EventBus, Happened, JobNotice, Queues, StreamRecord, Unreadable


@dataclass(frozen=True, slots=True)
class Dispatch:
    """`read` and `events` decode a stream record of the engine that the tables are on. `indexes` is false where there
    is no search index.
    """

    queues: Queues
    read: Callable[[Mapping[str, Any]], StreamRecord]
    bus: EventBus
    events: Callable[[Mapping[str, Any]], Sequence[Happened]]
    indexes: bool = True

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Put one queue message for one stream record, if it asks for one, and publish what it tells of; a record that
        cannot be read goes to the parked queue.

        Raises `Unavailable` if the queue or the bus does not answer; the stream then delivers the record again.
        """
        found = self.read(record)
        if isinstance(found, Unreadable):
            self.queues.park(found.name)
        elif isinstance(found, JobNotice):
            self.queues.send([found])
        elif found is not None and self.indexes:
            self.queues.send_changes([found])
        if events := self.events(record):
            self.bus.publish(events)

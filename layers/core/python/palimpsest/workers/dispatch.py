"""Forward stream records to queues: a new job to its worker, a changed message or memory to the indexer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from palimpsest.jobs.ports import JobNotice, Queues, StreamRecord, Unreadable


@dataclass(frozen=True, slots=True)
class Dispatch:
    """`read` decodes a stream record of the engine that the tables are on."""

    queues: Queues
    read: Callable[[Mapping[str, Any]], StreamRecord]

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Put one queue message for one stream record; a record that cannot be read goes to the parked queue.

        Raises `Unavailable` if the queue does not answer; the stream then delivers the record again.
        """
        found = self.read(record)
        if isinstance(found, Unreadable):
            self.queues.park(found.name)
        elif isinstance(found, JobNotice):
            self.queues.send([found])
        else:
            self.queues.send_changes([found])

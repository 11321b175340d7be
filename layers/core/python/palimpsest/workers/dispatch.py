"""Forwards stream records. A new job goes to its worker, a change goes to the indexer, and an event
goes to the event bus.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, get_args

from palimpsest import tracing
from palimpsest.errors import Unavailable
from palimpsest.jobs.events import Changed, EventName, Happened, JobNotice, StreamRecord, Unreadable
from palimpsest.jobs.ports import EventBus, Queues
from palimpsest.observability import log_usage
from palimpsest.usage import Tally, Usages


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Forwards the records of a table's stream. `read` decodes a stream record of the database that
    holds the tables. `indexes` is false if there is no search index.
    """

    queues: Queues
    read: Callable[[Mapping[str, Any]], StreamRecord]
    bus: EventBus
    usages: Usages
    indexes: bool = True

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Send the queue message that a stream record asks for, count the messages of its session,
        and publish its events.

        An unreadable record goes to the parked queue. Events that the bus refuses go to a queue of
        their own, so that the bus delays no other work. Raises `Unavailable` if the queue or the
        store does not answer. The stream then delivers the record again.
        """
        change = self.read(record)
        with tracing.span("dispatch", kind="producer", parent=change.trace):
            # The message goes first, so that a bus that refuses events delays no work
            # (docs/adr/0036).
            self._send(change.asks)
            if change.tally is not None:
                self._count(change.tally)
            if change.happened is not None:
                self._publish(change.happened)

    def publish(self, body: str) -> None:
        """Publish the event that a queue message names. Raises `Unavailable`, and `ValueError` if
        the message names none.
        """
        self.bus.publish([read_event(body)])

    def _publish(self, event: Happened) -> None:
        try:
            self.bus.publish([event])
        except Unavailable:
            self.queues.send_events([event])

    def _send(self, notice: JobNotice | Changed | Unreadable | None) -> None:
        if isinstance(notice, Unreadable):
            self.queues.park(notice.name)
        elif isinstance(notice, JobNotice):
            self.queues.send([notice])
        elif notice is not None and self.indexes:
            self.queues.send_changes([notice])

    def _count(self, tally: Tally) -> None:
        gained = self.usages.reach(tally)
        if gained:
            log_usage(tally.tenant, gained)


def read_event(body: str) -> Happened:
    """Return the event that a queue message names. Raises `ValueError` if the message names
    none.
    """
    content = json.loads(body)
    is_event = isinstance(content, dict) and content.keys() == {
        field.name for field in fields(Happened)
    }
    if not is_event or content["name"] not in get_args(EventName):
        message = "not an event"
        raise ValueError(message)
    return Happened(**content)

"""Publish what has happened, for other programs to act on: `EventBus` on EventBridge."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from palimpsest.engines.aws import answering, client
from palimpsest.errors import Unavailable
from palimpsest.jobs.ports import Happened

SOURCE = "palimpsest"
SECONDS, REST = 3.0, 10.0


@dataclass
class EventBridge:
    """`EventBus` over the bus of this name. An event's detail holds its tenant and ids. For some seconds after the bus
    did not answer, it is not asked: whoever has much to publish does not wait for each.
    """

    name: str
    rests_until: float = 0.0

    @cached_property
    def _client(self) -> Any:
        return client("events", seconds=SECONDS, attempts=1)

    def publish(self, events: Sequence[Happened]) -> None:
        if time.monotonic() < self.rests_until:
            raise Unavailable("The event bus did not answer a moment ago; try again.")
        entries = [
            {
                "EventBusName": self.name,
                "Source": SOURCE,
                "DetailType": event.name,
                "Detail": json.dumps({"tenant": event.tenant, **event.ids}),
            }
            for event in events
        ]
        try:
            with answering("The event bus"):
                answer = self._client.put_events(Entries=entries)
        except Unavailable:
            self.rests_until = time.monotonic() + REST
            raise
        if answer["FailedEntryCount"]:
            raise Unavailable("The event bus did not take every event; try again.")

"""Events for subscribers outside the service (EventBridge)."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from palimpsest.engines.aws.client import answering, client
from palimpsest.errors import Unavailable
from palimpsest.jobs.events import Happened

SOURCE = "palimpsest"

REST = 10.0  # seconds without calls after the bus did not answer


@dataclass
class EventBridge:
    """Implements `EventBus` over the EventBridge bus named `name`. An event's detail holds its
    tenant and ids.

    If the bus did not answer, it isn't called for some seconds, so that a caller with many events
    does not wait for a time-out with each event.
    """

    name: str
    rests_until: float = 0.0

    @cached_property
    def _client(self) -> Any:
        return client("events", seconds=3.0, attempts=1)

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

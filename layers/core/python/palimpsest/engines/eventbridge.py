"""Publish what has happened, for other programs to act on: `EventBus` on EventBridge."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from palimpsest.errors import Unavailable
from palimpsest.jobs.ports import Happened

SOURCE = "palimpsest"
REST = 10.0  # seconds


@dataclass
class EventBridge:
    """`EventBus` over the bus of this name. An event's detail holds its tenant and ids. For some seconds after the bus
    did not answer, it is not asked: whoever has much to publish does not wait for each.
    """

    name: str
    rests_until: float = 0.0

    @cached_property
    def _client(self) -> Any:
        import boto3
        from botocore.config import Config

        return boto3.client(
            "events", config=Config(connect_timeout=1, read_timeout=3, retries={"total_max_attempts": 1})
        )

    def publish(self, events: Sequence[Happened]) -> None:
        from botocore.exceptions import BotoCoreError, ClientError

        if time.monotonic() < self.rests_until:
            raise Unavailable("The event bus did not answer a moment ago; try again.")
        try:
            answer = self._client.put_events(
                Entries=[
                    {
                        "EventBusName": self.name,
                        "Source": SOURCE,
                        "DetailType": event.name,
                        "Detail": json.dumps({"tenant": event.tenant, **event.ids}),
                    }
                    for event in events
                ]
            )
        except (BotoCoreError, ClientError) as error:
            self.rests_until = time.monotonic() + REST
            raise Unavailable("The event bus did not answer; try again.") from error
        if answer["FailedEntryCount"]:
            raise Unavailable("The event bus did not take every event; try again.")

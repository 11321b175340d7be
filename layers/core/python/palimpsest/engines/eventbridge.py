"""The bus on which the service tells others what has happened, on EventBridge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from palimpsest.errors import Unavailable
from palimpsest.jobs.ports import Happened

SOURCE = "palimpsest"


@dataclass(frozen=True)
class EventBridge:
    """`EventBus` over the bus of this name. An event's detail holds its tenant and ids."""

    name: str

    @cached_property
    def _client(self) -> Any:
        import boto3

        return boto3.client("events")

    def publish(self, events: Sequence[Happened]) -> None:
        from botocore.exceptions import BotoCoreError, ClientError

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
            raise Unavailable("The event bus did not answer; try again.") from error
        if answer["FailedEntryCount"]:
            raise Unavailable("The event bus did not take every event; try again.")

"""One tenant with many sessions, written as fast as the engine takes them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import boto3
from palimpsest.clock import stamp
from palimpsest.engines.dynamodb.sessions import items
from palimpsest.engines.dynamodb.table import BATCH_WRITE, key
from palimpsest.engines.places import session_listed_as
from palimpsest.scope import Scope

from tests.contract.builders import NOW, settings

WRITERS = 4
PER_USER = 10


def fill(table: str, scope: Scope, *, sessions: int, endpoint: str | None) -> list[str]:
    """Put the settings of so many sessions, ten for each user; returns their ids in the order of
    the list.
    """
    client: Any = boto3.client("dynamodb", endpoint_url=endpoint)
    made = [_made(scope, number) for number in range(sessions)]

    def write(start: int) -> None:
        waiting = {
            table: [{"PutRequest": {"Item": item}} for _, item in made[start : start + BATCH_WRITE]]
        }
        while waiting:
            waiting = client.batch_write_item(RequestItems=waiting)["UnprocessedItems"]

    with ThreadPoolExecutor(WRITERS) as writers:
        list(writers.map(write, range(0, sessions, BATCH_WRITE)))
    return [
        place.rpartition("#")[2]
        for place, _ in sorted(made, key=lambda place_and_item: place_and_item[0])
    ]


def _made(scope: Scope, number: int) -> tuple[str, dict[str, Any]]:
    """A session's place in the list, and its item; users come in another order than numbers do."""
    session = scope.session(f"session-{number:06d}")
    stored = settings(
        user=f"user-{number * 7919 % 99_991 // PER_USER:05d}",
        created_at=stamp(datetime.fromtimestamp(NOW + number, UTC)),
    )
    place = session_listed_as(created_at=stored.created_at, session=session.session)
    return place, key(session.partition, items.SETTINGS) | items.settings_attributes(
        session, stored
    )

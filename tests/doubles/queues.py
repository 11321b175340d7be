"""Queues as lists."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from palimpsest.errors import Unavailable
from palimpsest.jobs.events import Changed, Happened, JobNotice


class InMemoryQueues:
    """`Queues` and `EventBus` that keep what they were given (`sent`, `changes`, `events`,
    `parked`, `published`); with `is_down` set they take nothing.
    """

    def __init__(self) -> None:
        self.sent: list[JobNotice] = []
        self.changes: list[Changed] = []
        self.events: list[Happened] = []
        self.parked: list[str] = []
        self.published: list[Happened] = []
        self.is_down = False
        self._lock = threading.Lock()

    def send(self, notices: Sequence[JobNotice]) -> None:
        with self._lock:
            self._check()
            self.sent.extend(notices)

    def send_changes(self, changes: Sequence[Changed]) -> None:
        with self._lock:
            self._check()
            self.changes.extend(changes)

    def send_events(self, events: Sequence[Happened]) -> None:
        with self._lock:
            self._check()
            self.events.extend(events)

    def park(self, record: str) -> None:
        with self._lock:
            self._check()
            self.parked.append(record)

    def publish(self, events: Sequence[Happened]) -> None:
        with self._lock:
            self._check()
            self.published.extend(events)

    def _check(self) -> None:
        if self.is_down:
            raise Unavailable("The queue did not answer; try again.")

"""The queues between the streams and the workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from palimpsest.domain.jobs import JobKind


@dataclass(frozen=True, slots=True)
class JobNotice:
    """What travels: names, never text."""

    tenant: str
    job_id: str
    kind: JobKind


@dataclass(frozen=True, slots=True)
class RecordChanged:
    """A record was written, changed or removed: its search document may be out of date."""

    tenant: str
    user: str
    record_id: str


@dataclass(frozen=True, slots=True)
class MessageChanged:
    """A message was appended or removed. Whose it is says its session's head, also after the session was deleted."""

    tenant: str
    session: str
    seq: int


Changed = RecordChanged | MessageChanged


class Queues(Protocol):
    def send(self, notices: Sequence[JobNotice]) -> None:
        """Hand each notice to the queue of its kind, at least once. Raises `Unavailable` if any could not be sent."""

    def send_changes(self, changes: Sequence[Changed]) -> None:
        """Hand each to the queue of what brings the search index up to date, at least once and in any order: they name
        what changed, and the reader looks up what it is now. Raises `Unavailable` if any could not be sent.
        """

    def park(self, record: str) -> None:
        """Set a stream record aside that can't be read: its event id and keys only. Raises `Unavailable`."""

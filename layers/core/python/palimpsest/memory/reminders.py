"""Tells the indexer again of records that it has not confirmed: what told it before may be lost."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.clock import Clock, seconds
from palimpsest.jobs.ports import Queues, RecordChanged
from palimpsest.memory.ports import Expiries, Reminder
from palimpsest.scope import UserScope

PATIENCE = 45  # seconds; with a sweep each minute, what was lost is sent within two


def look_again(reminder: Reminder, *, now: int) -> Reminder:
    """When to look next: soon after the first look, then each time its age has doubled (epoch seconds)."""
    if reminder.since is None:
        return Reminder(due_at=now + PATIENCE, since=now)
    return Reminder(due_at=now + max(PATIENCE, now - reminder.since), since=reminder.since)


@dataclass(frozen=True, slots=True)
class Remind:
    """`queues` None: nothing is indexed by queues here, and nobody is told."""

    expiries: Expiries
    clock: Clock
    queues: Queues | None = None

    def __call__(self, scope: UserScope, record_id: str) -> None:
        """Send the change again, unless this is the first look at it: it may be on its way. Two do no harm.

        Raises `CommitLost` if the record is written or confirmed meanwhile, and `Unavailable`.
        """
        now = seconds(self.clock.now())
        reminder = self.expiries.reminder(scope, record_id)
        if reminder is None or reminder.due_at > now:
            return  # confirmed or removed; the index of due work follows a moment later
        if self.queues is not None and reminder.since is not None:
            self.queues.send_changes([RecordChanged(scope.tenant, scope.user, record_id)])
        again = None if self.queues is None else look_again(reminder, now=now)
        self.expiries.remind(scope, record_id, before=reminder, to=again)

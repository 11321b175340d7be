"""Takes back the turn before an append, if the user does not want this turn to be remembered."""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.conversations.lifecycle import job_on
from palimpsest.conversations.message import Message
from palimpsest.conversations.off_record import MOST_TAKEN_BACK, last_turn, off_record
from palimpsest.conversations.payloads import RemovalPayload
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Head
from palimpsest.jobs.job import Job
from palimpsest.scope import SessionScope

LOOK_BACK = 12  # messages read before the user's last one, which may say nothing


def turn_before(
    sessions: Sessions, scope: SessionScope, head: Head, *, by: str
) -> tuple[Message, ...]:
    """Return the messages of the last turn of a speaker, marked as off the record. Messages that
    have the mark already are left out. Raises `Unavailable`.
    """
    first = max(head.base + 1, head.last_user_seq - LOOK_BACK)
    stored = [
        message
        for message in sessions.messages(scope, first=first, last=head.seq)
        if not head.is_withdrawn(message.seq)
    ]
    place = last_turn(stored, by)
    turn = () if place is None else stored[place][:MOST_TAKEN_BACK]
    return tuple(off_record(message) for message in turn if not message.is_off_record)


def take_back(head: Head, scope: SessionScope, turn: Sequence[Message], *, now: int) -> Job:
    """Return the job that removes the memories and summaries made from these messages. `now` is in
    epoch seconds.
    """
    return job_on(
        head,
        scope,
        kind="take_back",
        first=turn[0].seq,
        last=turn[-1].seq,
        now=now,
        payload=RemovalPayload(forgets=True),
    )

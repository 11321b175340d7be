"""Finds the name under which a user has written before, if nothing else says the user's name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from palimpsest.conversations.message import Message
from palimpsest.conversations.ports import Sessions
from palimpsest.extraction.testimony.speakers import USER
from palimpsest.memory.names import is_longer_name
from palimpsest.memory.record import Record
from palimpsest.scope import UserScope

MOST_LOOKED_AT = 100  # newest records
MOST_READ = 20  # records whose messages are read; they may be gone, or have no name


def names_on(messages: Iterable[Message]) -> tuple[str, ...]:
    """Return the names that the users' messages have, each once."""
    named = (str(m.chat["name"]) for m in messages if m.role == USER and m.chat.get("name"))
    return tuple(dict.fromkeys(named))


def signed_before(
    names: Sequence[str], records: Iterable[Record], *, sessions: Sessions, scope: UserScope
) -> tuple[str, ...]:
    """Return the name of the user's earlier messages, as the messages of the user's newest
    `records` have it. If `names`, the names on the messages at hand, has only one and this is a
    longer form of that name, return both. Return none if no earlier message has a name. Raises
    `Unavailable`.
    """
    own = (
        record
        for record in islice(records, MOST_LOOKED_AT)
        if record.speaker is None and record.source.session and record.source.seqs
    )
    for record in islice(own, MOST_READ):
        signed = names_on(_source(record, sessions, scope))
        if signed:
            also = names if len(names) == 1 and is_longer_name(names[0], signed[0]) else ()
            return (signed[0], *also)
    return ()


def _source(record: Record, sessions: Sessions, scope: UserScope) -> Sequence[Message]:
    """Return the messages from which the record was made, as far as the user still has them. A
    record of an import may name a session of somebody else.
    """
    session = scope.owner.session(record.source.session or "")
    head = sessions.open(session).head
    if head is None or head.user != scope.user:
        return ()
    seqs = [seq for seq in record.source.seqs if head.base < seq <= head.seq]
    return sessions.messages_at(session, seqs) if seqs else ()

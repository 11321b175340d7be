"""Brings messages back into a window when the summary that covers them may no longer be used."""

from __future__ import annotations

from dataclasses import replace

from palimpsest.conversations.lifecycle import with_summary
from palimpsest.conversations.message import UNSHOWN_ROLES
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Compaction, Head
from palimpsest.scope import SessionScope


def beginning_before(
    sessions: Sessions, scope: SessionScope, head: Head, *, seq: int
) -> tuple[Compaction | None, int]:
    """Return the newest compaction that ends before message `seq`, and the first message after it
    that a window may show. Messages from before the window was emptied must not come back, so a
    compaction of such messages alone does not count.
    """
    compactions = sessions.compactions(
        scope, first=head.base + 1, last=seq - 1, newest_first=True, limit=1
    )
    summary = compactions[0] if compactions and compactions[0].last >= head.cleared else None
    return summary, max(summary.last if summary else head.base, head.cleared) + 1


def reopened(sessions: Sessions, scope: SessionScope, head: Head, *, seq: int) -> Head:
    """Return the head without a summary that covers message `seq`. The window then begins after the
    newest compaction before the message. This reads the new window. If no summary of the window
    covers the message, return the same head.
    """
    if not head.cleared < seq <= head.summary:
        return head
    summary, start = beginning_before(sessions, scope, head, seq=seq)
    shown = [
        message.tokens
        for message in sessions.messages(scope, first=start, last=head.seq)
        if not head.is_withdrawn(message.seq) and message.role not in UNSHOWN_ROLES
    ]
    return replace(
        with_summary(head, summary),
        pins=(),
        window_start=start,
        window_tokens=sum(shown),
        window_messages=len(shown),
    )

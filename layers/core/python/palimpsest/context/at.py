"""Restores a window as it was after an earlier message, from the compactions since then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from palimpsest.conversations.history import no_message
from palimpsest.conversations.lifecycle import with_summary
from palimpsest.conversations.message import UNSHOWN_ROLES, Message
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Compaction, Head
from palimpsest.conversations.window.fit import newest
from palimpsest.scope import SessionScope

PAGE = 20


def head_after(sessions: Sessions, scope: SessionScope, head: Head, *, seq: int) -> Head:
    """Return the head with its window as it was after message `seq`. The messages of that window
    are not counted yet.

    Raises `NotFound` (`message_not_found`) if there is no such message or it was withdrawn.
    """
    if not head.base < seq <= head.seq or head.is_withdrawn(seq):
        raise no_message("at")
    earlier = _compactions(sessions, scope, head, last=seq)
    last = next(
        (compaction for compaction in earlier if max(compaction.newest, compaction.last) <= seq),
        None,
    )
    return replace(
        with_summary(head, last),
        seq=seq,
        window_start=(last.last if last else head.base) + 1,
        # Pins are kept for the present window alone (docs/adr/0035).
        pins=(),
        job=None,
        compaction="none",
    )


def _compactions(
    sessions: Sessions, scope: SessionScope, head: Head, *, last: int
) -> Iterator[Compaction]:
    """Yield the compactions through `last` that are still valid, the newest first. The withdrawal
    of messages undoes each compaction that includes one of them.
    """
    while last > head.base:
        page = sessions.compactions(
            scope, first=head.base + 1, last=last, newest_first=True, limit=PAGE
        )
        yield from (
            compaction
            for compaction in page
            if compaction.last < head.window_start and not head.is_withdrawn(compaction.last)
        )
        if len(page) < PAGE:
            return
        last = page[-1].last - 1


def counted(head: Head, read: Sequence[Message], *, last_user_seq: int, is_whole: bool) -> Head:
    """Return the head with the count and tokens of the read messages of its window. If the window
    has more messages, the head counts one more than were read.
    """
    shown = [message for message in read if message.role not in UNSHOWN_ROLES]
    return replace(
        head,
        last_user_seq=last_user_seq,
        window_tokens=sum(message.tokens for message in shown),
        window_messages=len(shown) + (not is_whole),
    )


def read_back(stored: Iterator[Message], *, budget: int) -> tuple[tuple[Message, ...], int]:
    """Return the newest messages within the budget, as `newest` does, and the sequence number of
    the user's last message (0 if there is none).
    """
    before: list[Message] = []
    for message in stored:
        before.append(message)
        if message.role == "user":
            break
    last_user_seq = before[-1].seq if before and before[-1].role == "user" else 0
    return newest(chain(before, stored), budget=budget, last_user_seq=last_user_seq), last_user_seq

"""Reading what is there: a live session, its window, its times."""

from __future__ import annotations

from datetime import datetime

from palimpsest.domain.lifecycle import is_withdrawn
from palimpsest.domain.messages import Message
from palimpsest.domain.scope import SessionScope
from palimpsest.domain.session import Head, Settings
from palimpsest.domain.times import seconds
from palimpsest.errors import NotFound
from palimpsest.ports.sessions import Opened, Sessions


def live(opened: Opened, *, now: datetime) -> tuple[Head, Settings]:
    """Head and settings of a session that is there; raise `NotFound` for one that is unknown, deleted or expired."""
    head, settings = opened.head, opened.settings
    if head is None or settings is None or head.is_gone(seconds(now)) or settings.base != head.base:
        raise no_session()
    return head, settings


def no_session() -> NotFound:
    return NotFound("There is no such session.", code="session_not_found")


def window(sessions: Sessions, scope: SessionScope, head: Head) -> tuple[Message, ...]:
    """Every message that the window holds, oldest first."""
    found = sessions.messages(scope, first=head.window_start, last=head.seq)
    return tuple(message for message in found if not is_withdrawn(message.seq, head))

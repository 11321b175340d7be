"""Everything that was found, records and messages, as their tables have it now."""

from __future__ import annotations

from collections.abc import Callable

from palimpsest.ports.memories import Memories
from palimpsest.ports.sessions import Sessions
from palimpsest.usecases.documents import message_of
from palimpsest.usecases.recall_messages import MessageReading
from palimpsest.usecases.recall_reading import Asked, Read, at_once
from palimpsest.usecases.recall_records import RecordReading


def read_all(asked: Asked, memories: Memories, sessions: Sessions) -> Read:
    """Raises `Unavailable`: what could not be read is never taken for what is not there."""
    messages = [key for key in asked.found if message_of(key) is not None]
    records = [key for key in asked.found if message_of(key) is None]
    reads: list[Callable[[], Read]] = [
        lambda: RecordReading(memories, sessions)(asked, records),
        lambda: MessageReading(sessions)(asked, messages),
    ]
    return Read().join(at_once(lambda read: read(), reads))

"""Everything that was found, records and messages, as their tables have it now."""

from __future__ import annotations

from palimpsest import parallel
from palimpsest.conversations.ports import Sessions
from palimpsest.memory.ports import Memories
from palimpsest.recall.messages import MessageReading
from palimpsest.recall.reading import Asked, Read
from palimpsest.recall.records import RecordReading
from palimpsest.search.documents import message_of


def read_all(asked: Asked, memories: Memories, sessions: Sessions) -> Read:
    """Raises `Unavailable`: what could not be read is never taken for what is not there."""
    messages = [key for key in asked.found if message_of(key) is not None]
    records = [key for key in asked.found if message_of(key) is None]
    found = parallel.both(
        lambda: RecordReading(memories, sessions)(asked, records), lambda: MessageReading(sessions)(asked, messages)
    )
    return Read().join(found)

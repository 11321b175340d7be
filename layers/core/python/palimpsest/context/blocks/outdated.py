"""Finds the messages that state an outdated value, so that a context need not read the records that
its search finds.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from palimpsest import parallel
from palimpsest.memory.ports import Memories
from palimpsest.memory.record import Record
from palimpsest.memory.stated_in import Place, places_of, places_of_earlier
from palimpsest.scope import UserScope

MOST_TOPICS = 40  # topics whose versions are read; with more of them, each search reads its own


@dataclass(frozen=True, slots=True)
class TopicHistory:
    """A topic that has an earlier value or has ended. `current` is its current record, or None if
    it has ended. `ids` are the ids of the current record and of the others. As long as these ids
    stay the same, the topic's outdated messages stay the same too.
    """

    topic: str
    ids: tuple[str | None, frozenset[str]]
    current: Record | None = field(compare=False)


class OutdatedMessages:
    """The messages of a user that say a value of a topic which was superseded or has ended. The
    versions of the topics are read when they are first needed, except for topics that have not
    changed since `before`. Safe for many threads.
    """

    def __init__(
        self,
        memories: Memories,
        scope: UserScope,
        topics: Sequence[TopicHistory],
        *,
        before: OutdatedMessages | None = None,
    ) -> None:
        self._memories, self._scope, self._topics = memories, scope, topics
        known: Mapping[TopicHistory, frozenset[Place]] = {} if before is None else before.places
        self.places: dict[TopicHistory, frozenset[Place]] = {
            topic: known[topic] for topic in topics if topic in known
        }
        self._lock = threading.Lock()

    def __call__(self) -> frozenset[Place] | None:
        """Return the messages by session and sequence number. Return None if there are too many
        topics. Raises `Unavailable`.
        """
        if len(self._topics) > MOST_TOPICS:
            return None
        # One thread reads the versions, and the others wait for its result.
        with self._lock:
            new = [topic for topic in self._topics if topic not in self.places]
            self.places |= dict(zip(new, parallel.run_each(self._read, new), strict=True))
            return frozenset().union(*self.places.values())

    def _read(self, history: TopicHistory) -> frozenset[Place]:
        versions = self._memories.versions(self._scope, history.topic)
        if history.current is None:
            return frozenset(places_of(versions))
        return frozenset(places_of_earlier(history.current, versions))


def topics_with_history(
    current: Sequence[Record], earlier: Sequence[Record], ended: Sequence[Record]
) -> list[TopicHistory]:
    """Return the topics that have an earlier value or have ended."""
    before: dict[str, set[str]] = defaultdict(set)
    for record in (*earlier, *ended):
        if record.topic_key is not None:
            before[record.topic_key].add(record.id)
    now = {record.topic_key: record for record in current}
    over = {record.topic_key for record in ended}
    return [
        _history(topic, now.get(topic), ids)
        for topic, ids in sorted(before.items())
        if topic in now or topic in over
    ]


def _history(topic: str, current: Record | None, others: Iterable[str]) -> TopicHistory:
    name = None if current is None else current.id
    return TopicHistory(topic, (name, frozenset(others)), current)

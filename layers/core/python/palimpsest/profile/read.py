"""Reads the current records of a user that a profile may show, and makes the profile. The number of
reads is limited, however many memories the user has (docs/adr/0083-a-profile-is-computed.md).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from cachetools import LRUCache

from palimpsest import parallel
from palimpsest.clock import Clock, milliseconds
from palimpsest.memory.ports import Memories, Pointer
from palimpsest.memory.preferences import TOPICS as PREFERENCES
from palimpsest.memory.record import KEYED, Record, RecordType, UserState
from palimpsest.memory.resting import changed_grounds
from palimpsest.models.ports import TokenCounter
from palimpsest.profile.kinds import NAMES, kind_of_topic, known_topics
from palimpsest.profile.profile import Profile, profile_of
from palimpsest.scope import UserScope

AT_ONCE = 100  # records or pointers in one read
MOST_TOPICS, TOPICS_AT_ONCE, MOST_READS = 1_000, 500, 8
"""How many topics of a user are read in the order of their keys, how many topics one read returns,
and the most reads. Topics that say who a user is are found even if their keys come later.
"""
MOST_CURRENT = 200  # how many records of these topics are read
MOST_PREFERENCES = 100
NEWEST, OLDEST = 300, 100
"""How many facts, instructions and tasks are listed: the number of the newest, and the number of
the oldest.
"""
LISTED: frozenset[RecordType] = frozenset({"fact", "instruction", "task"})
LAG = timedelta(seconds=2)  # of a list of records after a change
MOST_CACHED = 5_000  # records in a process


@dataclass(frozen=True, slots=True)
class _ReadRecords:
    """The records of a user at a version of the user's memory. `is_settled` is true if the lists
    had caught up with the tables when they were read. `changed` has the ids of those that rest on
    a record that has changed.
    """

    user: UserState
    records: tuple[Record, ...]
    changed: frozenset[str]
    read_at: datetime
    is_settled: bool


class ReadProfile:
    """Reads profiles of all users, from any thread. It caches a user's records until something
    about the user changes.
    """

    def __init__(self, memories: Memories, tokens: TokenCounter, clock: Clock) -> None:
        self._memories, self._tokens, self._clock = memories, tokens, clock
        self._cache: LRUCache[UserScope, _ReadRecords] = LRUCache(
            MOST_CACHED, getsizeof=lambda read: 1 + len(read.records)
        )
        self._lock = threading.Lock()

    def __call__(
        self, scope: UserScope, *, names: Iterable[str] = (), shows_ids: bool = True
    ) -> Profile:
        """Return the profile of the user, which is empty for an unknown user. If nothing changed,
        it takes one small read. `names` and `shows_ids` are as in `profile_of`. Raises
        `Unavailable`.
        """
        encoding = self._tokens.encoding_for(None)
        read = self._current(scope)
        return profile_of(
            read.records,
            user=scope.user,
            now=milliseconds(self._clock.now()),
            count=lambda text: self._tokens.count(text, encoding),
            names=names,
            changed=read.changed,
            shows_ids=shows_ids,
        )

    def records(self, scope: UserScope) -> tuple[Record, ...]:
        """Return the user's current records from which a profile is made, in no order. Some may
        have expired. Raises `Unavailable`.
        """
        return self._current(scope).records

    def _current(self, scope: UserScope) -> _ReadRecords:
        now, user = self._clock.now(), self._memories.user(scope)
        with self._lock:
            read = self._cache.get(scope)
        is_same = read is not None and read.user == user
        if read is not None and is_same and (read.is_settled or now < read.read_at + LAG):
            return read
        records = self._read(scope) if user.version else ()
        changed = changed_grounds(self._memories, scope, records)
        read = _ReadRecords(user, records, changed, now, is_settled=is_same)
        with self._lock:
            self._cache[scope] = read
        return read

    def _read(self, scope: UserScope) -> tuple[Record, ...]:
        """Return the user's current records. The pointers are read only once, so no topic has two
        current records.
        """
        pointers, is_whole = self._topics(scope)
        preferences, listed = self._preferences(scope), self._listed(scope)
        if not is_whole:
            topics = {record.topic_key for record in listed if record.topic_key is not None}
            pointers |= self._pointers(scope, sorted(topics - pointers.keys()))
        every = (*pointers.values(), *preferences)
        current = {pointer.record for pointer in every if pointer.record is not None}
        records = {
            record.id: record
            for record in listed
            if record.topic_key is None or record.id in current
        }
        wanted = (pointer.record for pointer in (*_first([*pointers.values()]), *preferences))
        missing = [name for name in wanted if name is not None and name not in records]
        records |= {record.id: record for record in self._records(scope, missing)}
        return tuple(
            record for record in records.values() if record.type in LISTED | {"preference"}
        )

    def _topics(self, scope: UserScope) -> tuple[dict[str, Pointer], bool]:
        """Return the pointers of the first topics in the order of their keys, and whether these are
        all topics. If not, the pointers of all known topics are among them. Preferences and the
        graph are left out.
        """
        pointers: dict[str, Pointer] = {}
        after = ""
        for _ in range(MOST_READS):
            page, last = self._memories.topics_after(scope, after, limit=TOPICS_AT_ONCE)
            pointers |= {
                pointer.topic_key: pointer for pointer in page if _keyed(pointer.topic_key) is None
            }
            if last is None:
                return pointers, True
            prefix = _keyed(last)
            after = last if prefix is None else prefix + LAST
            if len(pointers) >= MOST_TOPICS:
                break
        return pointers | self._pointers(scope, known_topics()), False

    def _preferences(self, scope: UserScope) -> list[Pointer]:
        """Return the pointers of the first preferences in the order of their keys, and of the
        preference that holds the user's names.
        """
        pointers = self._memories.topics(scope, prefix=PREFERENCES)
        names = [pointer for pointer in pointers if pointer.topic_key == NAMES]
        return [*pointers[:MOST_PREFERENCES], *names]

    def _listed(self, scope: UserScope) -> list[Record]:
        newest = self._memories.listed(scope, types=LISTED, limit=NEWEST)
        if newest.after is None:
            return [*newest.records]
        oldest = self._memories.listed(scope, types=LISTED, limit=OLDEST, newest_first=False)
        return [*newest.records, *oldest.records]

    def _pointers(self, scope: UserScope, topics: Sequence[str]) -> dict[str, Pointer]:
        read = parallel.run_each(partial(self._memories.pointers, scope), _parts(topics))
        return {key: pointer for part in read for key, pointer in part.items()}

    def _records(self, scope: UserScope, ids: Sequence[str]) -> list[Record]:
        parts = _parts(list(dict.fromkeys(ids)))
        read = parallel.run_each(partial(self._memories.records, scope), parts)
        return [record for part in read for record in part]


LAST = "\U0010ffff"  # above every other character


def _keyed(topic_key: str) -> str | None:
    """Return the prefix of an exact key. Only the keys of preferences and of the graph have one.
    The keys of other topics have no colon.
    """
    prefix, colon, _ = topic_key.partition(":")
    return prefix + colon if prefix in KEYED and colon else None


def _first(pointers: Sequence[Pointer]) -> list[Pointer]:
    """Return the pointers whose records are read: known topics first, then the latest changes."""
    known = len(known_topics())

    def rank(pointer: Pointer) -> tuple[bool, int]:
        return kind_of_topic(pointer.topic_key)[1] == known, -pointer.order[0]

    return sorted(pointers, key=rank)[:MOST_CURRENT]


def _parts(values: Sequence[str]) -> list[Sequence[str]]:
    return [values[start : start + AT_ONCE] for start in range(0, len(values), AT_ONCE)]

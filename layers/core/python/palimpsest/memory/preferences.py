"""Preferences of a user: values by key. Each preference is a record whose topic is the key. It is
kept for ever unless the tenant's settings say otherwise.

This module also has the exact limit on topics of one kind, which entities use too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from palimpsest.clock import Clock, seconds
from palimpsest.errors import Conflict, NotFound
from palimpsest.memory.decisions import Remembered
from palimpsest.memory.expiry import is_expired
from palimpsest.memory.ports import Memories, MemoryCommit, Pointer
from palimpsest.memory.record import MAX_CONTENT, Record
from palimpsest.memory.remember import Remember
from palimpsest.memory.removal.transactions import Removal, RemovesExports, no_exports, transactions
from palimpsest.memory.statements import Statement
from palimpsest.retry import until_committed
from palimpsest.scope import UserScope, checked_id

NEVER_SAID = (0, "", 0, 0, "")


@dataclass(frozen=True, slots=True)
class AtMost:
    """The limit of `most` topics per user whose keys begin with `prefix`. `what` names them in the
    error.
    """

    memories: Memories
    prefix: str
    most: int
    what: str

    def new(self, scope: UserScope, topics: Sequence[str]) -> frozenset[str]:
        """Return the topics (of at most 100) that are of this kind and do not exist yet. Raises
        `Conflict` (`too_many_` and `what`) if these topics would exceed the user's limit, and
        `Unavailable`.
        """
        mine = sorted({topic for topic in topics if topic.startswith(self.prefix)})
        there = self.memories.pointers(scope, mine) if mine else {}
        new = frozenset(
            topic for topic in mine if topic not in there or there[topic].record is None
        )
        if new and len(self.memories.topics(scope, prefix=self.prefix)) + len(new) > self.most:
            raise Conflict(
                f"A user has at most {self.most:,} {self.what}.", code=f"too_many_{self.what}"
            )
        return new

    def guarded(self, scope: UserScope, commit: MemoryCommit) -> MemoryCommit:
        """Return the commit with one more pointer, which every writer of a new topic changes. If
        two writers count the topics at the same time, one of them loses its commit, so that the
        limit holds. Raises the errors of `new`.
        """
        topics = [pointer.topic_key for pointer in commit.pointers if pointer.record is not None]
        if not any(topic.startswith(self.prefix) for topic in topics):
            return commit
        # Read before the count, so that a topic which is stored in between makes the commit fail.
        before = self.memories.pointers(scope, [self.prefix]).get(self.prefix)
        if not self.new(scope, topics):
            return commit
        moved = Pointer(self.prefix, None, NEVER_SAID, before.version if before else 0)
        return replace(commit, pointers=(*commit.pointers, moved))


MOST_PREFERENCES = 500  # a context reads the newest, and a list reads all
TOPICS = "preference:"
"""The prefix of the topic keys of preferences."""
IMPORTANCE = 0.9  # as extraction rates core preferences
PAGE = 100


@dataclass(frozen=True, slots=True)
class ManagePreferences:
    memories: Memories
    remember: Remember
    clock: Clock
    exports: RemovesExports = no_exports

    def set(self, scope: UserScope, values: Mapping[str, Any]) -> tuple[Remembered, ...]:
        """Store 1 to 30 values (JSON) by key, and return the outcome of each, in order. All other
        preferences stay.

        Raises `BadRequest` (`invalid_id`) for a key that isn't a valid id, `Conflict`
        (`too_many_preferences`) and `Unavailable`.
        """
        statements = [_statement(key, value) for key, value in values.items()]
        return self.remember(scope, statements, guard=partial(_limit(self.memories).guarded, scope))

    def read(self, scope: UserScope, key: str) -> Record:
        """Return the preference as a record, with its value in `data`. Raises `BadRequest`
        (`invalid_id`), `NotFound` (`preference_not_found`) and `Unavailable`.
        """
        topic = _topic(key)
        pointer = self.memories.pointers(scope, [topic]).get(topic)
        records = self._records(scope, [pointer] if pointer else ())
        if not records:
            raise _no_preference()
        return records[0]

    def listed(
        self, scope: UserScope, *, limit: int = PAGE, after: str | None = None
    ) -> tuple[tuple[Record, ...], str | None]:
        """Return at most `limit` (up to 100) preferences by key, and the key after which the next
        page begins (None on the last page).
        """
        pointers = self.memories.topics(scope, prefix=TOPICS)
        rest = [
            pointer for pointer in pointers if after is None or key_of(pointer.topic_key) > after
        ]
        page = rest[:limit]
        return self._records(scope, page), key_of(page[-1].topic_key) if len(rest) > limit else None

    def every(self, scope: UserScope) -> Iterator[Record]:
        """Yield all preferences by key."""
        after = None
        while True:
            page, after = self.listed(scope, after=after)
            yield from page
            if after is None:
                return

    def delete(self, scope: UserScope, key: str) -> None:
        """Remove a preference with all its versions, and every export that may hold them. Raises
        `BadRequest` (`invalid_id`), `NotFound` (`preference_not_found`) and `Unavailable`. After
        `Unavailable`, repeating the call removes the exports.
        """
        topic = _topic(key)
        try:
            until_committed(lambda: self._delete(scope, topic), clock=self.clock)
        except NotFound:
            # An earlier try has removed the preference, but perhaps not the exports
            # (docs/adr/0067).
            if topic in self.memories.pointers(scope, [topic]):
                self.exports(scope)
            raise
        self.exports(scope)

    def _delete(self, scope: UserScope, topic: str) -> None:
        epoch = self.memories.user(scope).epoch
        pointer = self.memories.pointers(scope, [topic]).get(topic)
        if pointer is None or pointer.record is None:
            raise _no_preference()
        removal = Removal(self.memories.versions(scope, topic), pointer)
        for commit in transactions([removal], epoch=epoch, room=self.memories.room):
            self.memories.commit(scope, commit)

    def _records(self, scope: UserScope, pointers: Sequence[Pointer]) -> tuple[Record, ...]:
        ids = [pointer.record for pointer in pointers if pointer.record is not None]
        records, now = self.memories.records(scope, ids), seconds(self.clock.now())
        return tuple(record for record in records if not is_expired(record, now=now))


def limited(memories: Memories, scope: UserScope, commit: MemoryCommit) -> MemoryCommit:
    """Return the commit with a condition, so that it is lost if the limit would be exceeded. Raises
    `Conflict` (`too_many_preferences`).
    """
    return _limit(memories).guarded(scope, commit)


def _limit(memories: Memories) -> AtMost:
    return AtMost(memories, TOPICS, MOST_PREFERENCES, "preferences")


def newest(memories: Memories, scope: UserScope, *, limit: int) -> tuple[Record, ...]:
    """Return the preferences that were set last, at most `limit` (up to 100). Raises
    `Unavailable`.
    """
    pointers = sorted(
        memories.topics(scope, prefix=TOPICS), key=lambda pointer: pointer.order, reverse=True
    )
    return memories.records(
        scope, [pointer.record for pointer in pointers[:limit] if pointer.record is not None]
    )


def key_of(topic_key: str) -> str:
    return topic_key.removeprefix(TOPICS)


def _topic(key: str) -> str:
    return TOPICS + checked_id(key, field="key")


def _statement(key: str, value: Any) -> Statement:
    """Return the statement of a preference. A context shows it as `Preference language: German`. A
    text is shown unchanged, and any other value as JSON.
    """
    text = (
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    )
    return Statement(
        type="preference",
        content=f"Preference {key}: {text}"[:MAX_CONTENT],
        topic=_topic(key),
        keywords=(" ".join(re.findall(r"[A-Za-z0-9]+", key)),),
        importance=IMPORTANCE,
        data=value,
    )


def _no_preference() -> NotFound:
    return NotFound("There is no such preference.", code="preference_not_found")

"""The names of a user: names that a call has set, and names with which the user introduced
themselves. A speaker with one of these names is the user.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from palimpsest.errors import NotFound
from palimpsest.memory.names import INTRODUCED, introduced_in
from palimpsest.memory.ports import Memories
from palimpsest.memory.preferences import IMPORTANCE, TOPICS, ManagePreferences, limited
from palimpsest.memory.record import MAX_CONTENT, Record
from palimpsest.memory.statements import Statement
from palimpsest.scope import UserScope

KEY: Final = "user.names"
"""The preference that holds the names that a call has set."""
MOST_ALIASES, LONGEST = 20, 80


@dataclass(frozen=True, slots=True)
class UserNames:
    """The names of a user. A call has set `name` and `aliases`. The user said the names in
    `introduced`.
    """

    name: str | None = None
    aliases: tuple[str, ...] = ()
    introduced: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Return every name once. The first one is the name to show."""
        named = (self.name, *self.introduced, *self.aliases)
        return tuple(dict.fromkeys(name for name in named if name))


NOBODY = UserNames()


def names_of(memories: Memories, scope: UserScope) -> UserNames:
    """Return the names that a call has set for the user, and the names with which the user
    introduced themselves. Raises `Unavailable`.
    """
    pointers = memories.pointers(scope, [TOPICS + KEY, *INTRODUCED])
    current = [pointer.record for pointer in pointers.values() if pointer.record is not None]
    if not current:
        return NOBODY
    by_topic = {record.topic_key: record for record in memories.records(scope, current)}
    introduced = _introduced(by_topic.get(key) for key in INTRODUCED)
    return replace(_set(by_topic.get(TOPICS + KEY)), introduced=tuple(dict.fromkeys(introduced)))


def _set(record: Record | None) -> UserNames:
    if record is None or not isinstance(record.data, dict):
        return NOBODY
    name, aliases = record.data.get("name"), record.data.get("aliases")
    listed = aliases if isinstance(aliases, list) else []
    texts = tuple(alias for alias in listed if isinstance(alias, str))
    return UserNames(name if isinstance(name, str) else None, texts)


def _statement(name: str | None, aliases: Sequence[str]) -> Statement:
    called = "The user is called"
    if name:
        called = f"The user's name is {name}"
    if aliases:
        called += ", also called " if name else " "
        called += ", ".join(aliases)
    return Statement(
        type="preference",
        content=f"{called}."[:MAX_CONTENT],
        topic=TOPICS + KEY,
        importance=IMPORTANCE,
        data={"name": name, "aliases": list(aliases)},
    )


def _introduced(records: Iterable[Record | None]) -> Iterator[str]:
    for record in records:
        if record is not None and record.subject in (None, "user"):
            yield from introduced_in(record.content)


@dataclass(frozen=True, slots=True)
class ManageNames:
    memories: Memories
    preferences: ManagePreferences

    def of(self, scope: UserScope) -> UserNames:
        """Return the names of the user. Raises `Unavailable`."""
        return names_of(self.memories, scope)

    def set(self, scope: UserScope, *, name: str | None, aliases: Sequence[str]) -> UserNames:
        """Replace the names that a call has set. Without a name and an alias, remove them. Raises
        `Unavailable`.
        """
        if name is None and not aliases:
            with suppress(NotFound):
                self.preferences.delete(scope, KEY)
        else:
            statement = _statement(name, tuple(dict.fromkeys(aliases)))
            guard = partial(limited, self.memories, scope)
            self.preferences.remember(scope, [statement], guard=guard)
        return self.of(scope)

"""A conversation that was read from a file, and the form and times of its messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

JSON = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Chat:
    """A conversation with its messages in order, as the service takes them.

    `name` is the same each time the file is read, and different for each conversation of a product.
    It is None if the file has no name for the conversation. With `is_named_by_caller`, it is the id
    of a session. `left_out` counts what was not read, by kind. `speakers` are the names in the
    file. `has_user` is false if none of them is the user.
    """

    name: str | None
    messages: Sequence[JSON]
    title: str = ""
    left_out: Counter[str] = field(default_factory=Counter)
    speakers: tuple[str, ...] = ()
    has_user: bool = True
    is_named_by_caller: bool = False

    @property
    def began(self) -> str:
        """The time of the first message that has one, or an empty text."""
        return next(
            (message["timestamp"] for message in self.messages if "timestamp" in message), ""
        )


def message(
    role: str,
    content: str,
    *,
    at: str | None = None,
    speaker: str | None = None,
    id_: str | None = None,
) -> JSON:
    """Return a message without the fields that have no value."""
    fields = {"role": role, "content": content, "name": speaker, "timestamp": at, "id": id_}
    return {name: value for name, value in fields.items() if value is not None}


def time_of(value: Any) -> str | None:
    """Return a time in RFC 3339. `value` is a number of seconds or milliseconds since 1970, or a
    text in ISO 8601. A text without an offset is in this machine's time. Return None for any other
    value.
    """
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if value > MOST_SECONDS else value
            return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
        if isinstance(value, str):
            return datetime.fromisoformat(value).astimezone(UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return None
    return None


MOST_SECONDS = 100_000_000_000
"""Seconds since 1970 in the year 5138. A larger number counts milliseconds."""


def path_to(leaf: str | None, parents: Mapping[str, str | None]) -> list[str]:
    """Return the ids from the root of a tree to the leaf. A circle ends where it began."""
    path: list[str] = []
    seen = set[str]()
    while leaf is not None and leaf in parents and leaf not in seen:
        seen.add(leaf)
        path.append(leaf)
        leaf = parents[leaf]
    return path[::-1]

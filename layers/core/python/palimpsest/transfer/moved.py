"""Changes the graph of an export that is imported for another user: what led to the user's own node
leads to that of the other user.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from palimpsest.graph.things import USER_TYPE, relationship_id, topic_of
from palimpsest.transfer.lines import Row


@dataclass(frozen=True, slots=True)
class Moved:
    """The user `was` that a file names, and the user `now` that it is imported for. `topics` has
    the new topics of relationships whose id was made from the id of the user.
    """

    was: str
    now: str
    topics: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, lines: Iterable[bytes], *, was: str, now: str) -> Moved:
        """Return the change that a file with these lines needs. The lines have been checked."""
        return cls(was, now, dict(_topics(lines, cls(was, now))))

    def row(self, row: Row) -> Row:
        """Return a row of the file, with the new user in place of the old one."""
        if row["kind"] != "record":
            return row
        if row.get("type") == "relationship":
            row = {**row, **self._relationship(row["data"], str(row["content"]))}
        elif row.get("topic_key") == topic_of("entity", self.was) and self._is_own(row):
            row = {**row, "topic_key": topic_of("entity", self.now)}
        moved = {
            "topic_key": self.topics.get(row.get("topic_key", ""), row.get("topic_key")),
            "draws": [self.topics.get(topic, topic) for topic in row.get("draws", ())],
        }
        return {**row, **{name: value for name, value in moved.items() if name in row}}

    def user(self, name: str) -> str:
        return self.now if name == self.was else name

    def _is_own(self, row: Row) -> bool:
        return isinstance(row.get("data"), Mapping) and row["data"].get("type") == USER_TYPE

    def _relationship(self, data: Mapping[str, Any], content: str) -> dict[str, Any]:
        line = "{start} {type} {end}".format_map(data)
        moved = {**data, "start": self.user(data["start"]), "end": self.user(data["end"])}
        if content.startswith(line):
            content = "{start} {type} {end}".format_map(moved) + content[len(line) :]
        return {"data": moved, "content": content}


def _topics(lines: Iterable[bytes], moved: Moved) -> Iterator[tuple[str, str]]:
    """Yield the old and the new topic of each relationship whose id was made from the user's id."""
    for line in lines:
        row = json.loads(line) if b"relationship" in line else {}
        if row.get("kind") != "record" or row.get("type") != "relationship":
            continue
        data = row["data"]
        if moved.was not in (data["start"], data["end"]):
            continue
        start, end = moved.user(data["start"]), moved.user(data["end"])
        for old, new in ((data["end"], end), (None, None)):
            made = topic_of("relationship", relationship_id(data["start"], data["type"], old))
            yield made, topic_of("relationship", relationship_id(start, data["type"], new))

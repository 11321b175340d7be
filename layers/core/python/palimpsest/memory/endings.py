"""Ends the relationships that were drawn from a fact, when the fact is superseded or removed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from palimpsest.memory.decisions import KnownTopic, Remembered
from palimpsest.memory.ports import Memories, MemoryCommit, Pointer
from palimpsest.memory.record import MAX_CONTENT, Record
from palimpsest.memory.removal.transactions import Room
from palimpsest.memory.statements import Statement
from palimpsest.scope import UserScope
from palimpsest.text.analyser import accented_words

RELATIONSHIP, ENTITY = "relationship:", "entity:"
"""The prefixes of the topics of relationships and entities."""
AT_ONCE = 100
_DENIED = re.compile(
    r"\b(?:not|\w+n['\u2019]t|cannot|never|no|former|formerly|ex|previous|previously"
    r"|past|used|left|quit|ended|was|were|had"
    r"|nicht|kein\w*|nie|niemals|früher\w*|ehemalig\w*|war|waren|hatte|hatten"
    r"|nunca|ya|antes|fue|era|ne|plus|pas|jamais|ancien\w*|était)\b",
    re.IGNORECASE,
)
"""Words with which a text says that something about a person is no longer true."""


@dataclass(frozen=True, slots=True)
class Superseded:
    """A record that stopped being current at `moment` (epoch milliseconds). `by` is the content
    that replaced it, or empty if the record was removed.
    """

    record: Record
    moment: int
    by: str = ""


def superseded_by(
    made: Sequence[Remembered], topics: Mapping[str, KnownTopic]
) -> Iterator[Superseded]:
    """Yield the records that statements displaced, and the new records that were never current
    because a later statement of their topic was already stored.
    """
    for decision in made:
        if decision.displaced is not None:
            yield Superseded(
                decision.displaced, decision.record.valid_from, decision.record.content
            )
        later = _later(decision.record, topics) if decision.outcome == "created" else None
        if later is not None:
            yield Superseded(decision.record, later.valid_from, later.content)


def _later(record: Record, topics: Mapping[str, KnownTopic]) -> Record | None:
    """Return the statement that follows this one in its topic, if another record is current."""
    topic = topics.get(record.topic_key or "", KnownTopic())
    if topic.current is None or topic.current.id == record.id:
        return None
    return next(
        (
            other
            for order, other in topic.statements
            if order > record.order and other.id != record.id
        ),
        None,
    )


@dataclass(frozen=True, slots=True)
class _Edge:
    """A relationship that is stored, or that the same commit stores. `said_at` is when it was last
    said (epoch milliseconds).
    """

    statement: Statement
    said_at: int

    @property
    def data(self) -> Mapping[str, Any]:
        return self.statement.data if isinstance(self.statement.data, Mapping) else {}

    @property
    def begun(self) -> int:
        since = self.data.get("since")
        return since if isinstance(since, int) else self.statement.valid_from or 0

    def has_ended_by(self, moment: int) -> bool:
        end = self.data.get("valid_to")
        return isinstance(end, int) and end <= moment

    def ended(self, moment: int) -> Statement:
        """Return the statement that the relationship ended at this moment. It repeats when the
        relationship began.
        """
        end = max(moment, self.begun)
        return replace(
            self.statement,
            content=f"{self.statement.content[: MAX_CONTENT - 40]} until {end}",
            data={**self.data, "since": self.begun, "valid_to": end},
            valid_from=moment if moment > self.said_at else None,
        )


@dataclass(frozen=True, slots=True)
class Endings:
    """Makes the statements that end relationships. Every method raises `Unavailable`."""

    memories: Memories

    def __call__(
        self,
        scope: UserScope,
        superseded: Sequence[Superseded],
        *,
        beside: Sequence[Statement] = (),
    ) -> list[Statement]:
        """Return the statements that end the relationships drawn from these records. `beside` holds
        the other statements of the same commit.

        A relationship stays open if a conversation said it again at that moment or later. It also
        stays open if the content that replaced the record still names both ends and has no word of
        `_DENIED`.
        """
        drawn = {
            topic: replaced
            for replaced in superseded
            for topic in replaced.record.draws
            if topic.startswith(RELATIONSHIP)
        }
        if not drawn:
            return []
        again = _last_said(beside)
        edges = {
            topic: edge
            for topic, edge in self._edges(scope, sorted(drawn), again).items()
            if edge.data
        }
        open_ = {
            topic: edge
            for topic, edge in edges.items()
            if _ends(edge, drawn[topic], again.get(topic))
        }
        names = self._names(scope, list(open_.values()), beside)
        return [
            edge.ended(drawn[topic].moment)
            for topic, edge in open_.items()
            if not _still_says(drawn[topic].by, edge, names, user=scope.user)
        ]

    def _edges(
        self, scope: UserScope, topics: Sequence[str], again: Mapping[str, Statement]
    ) -> dict[str, _Edge]:
        pointers = self._pointers(scope, topics)
        there = {record.id: record for record in self._records(scope, [*pointers.values()])}
        edges = {}
        for topic in topics:
            pointer, statement = pointers.get(topic), again.get(topic)
            stored = there.get(pointer.record or "") if pointer else None
            said_at = pointer.order[0] if pointer else 0
            if statement is not None and (statement.valid_from or 0) >= said_at:
                edges[topic] = _Edge(statement, statement.valid_from or 0)
            elif stored is not None:
                edges[topic] = _Edge(_statement(stored), said_at)
        return edges

    def _names(
        self, scope: UserScope, edges: Sequence[_Edge], beside: Sequence[Statement]
    ) -> dict[str, str]:
        """Return the names of the entities at both ends, by topic."""
        topics = sorted(
            {ENTITY + str(edge.data.get(end)) for edge in edges for end in ("start", "end")}
        )
        data = {
            statement.topic or "": statement.data
            for statement in beside
            if statement.type == "entity"
        }
        there = self._records(scope, [*self._pointers(scope, topics).values()])
        data |= {entity.topic_key or "": entity.data for entity in there}
        return {
            topic: str(fields.get("name", ""))
            for topic, fields in data.items()
            if isinstance(fields, Mapping)
        }

    def _pointers(self, scope: UserScope, topics: Sequence[str]) -> dict[str, Pointer]:
        parts = [topics[start : start + AT_ONCE] for start in range(0, len(topics), AT_ONCE)]
        return {
            key: pointer
            for part in parts
            for key, pointer in self.memories.pointers(scope, part).items()
        }

    def _records(self, scope: UserScope, pointers: Sequence[Pointer]) -> list[Record]:
        ids = [pointer.record for pointer in pointers if pointer.record is not None]
        parts = [ids[start : start + AT_ONCE] for start in range(0, len(ids), AT_ONCE)]
        return [record for part in parts for record in self.memories.records(scope, part)]


def _last_said(statements: Sequence[Statement]) -> dict[str, Statement]:
    """Return the last statement of each relationship, by topic."""
    relationships = [statement for statement in statements if statement.type == "relationship"]
    relationships.sort(key=lambda relationship: relationship.valid_from or 0)
    return {relationship.topic or "": relationship for relationship in relationships}


def _statement(record: Record) -> Statement:
    return Statement(
        type=record.type,
        content=record.content,
        topic=record.topic_key,
        importance=record.importance,
        source=record.source,
        agent=record.agent,
        data=record.data,
        valid_from=record.valid_from,
        method=record.method,
        prompt_hash=record.prompt_hash,
    )


def _ends(edge: _Edge, gone: Superseded, again: Statement | None) -> bool:
    is_said_since = edge.said_at > gone.moment or (
        again is not None and (again.valid_from or 0) >= gone.moment
    )
    return not is_said_since and not edge.has_ended_by(gone.moment)


def _still_says(content: str, edge: _Edge, names: Mapping[str, str], *, user: str) -> bool:
    """Return whether the content names both ends and denies nothing. The user need not be named."""
    ends = [str(edge.data.get(end)) for end in ("start", "end") if edge.data.get(end) != user]
    # In doubt a relationship ends, because the next statement opens it again (docs/adr/0071).
    if not content or not ends or _DENIED.search(content):
        return False
    # A fact whose spelling was corrected still names both ends.
    named = [_spoken(names.get(ENTITY + end, "")) for end in ends]
    return all(name.strip() and name in _spoken(content) for name in named)


def _spoken(text: str) -> str:
    return f" {' '.join(accented_words(text))} "


def joined(commit: MemoryCommit, more: MemoryCommit) -> MemoryCommit:
    """Return one commit with the contents of both."""
    return replace(
        commit,
        new=(*commit.new, *more.new),
        changed=(*commit.changed, *more.changed),
        said=(*commit.said, *more.said),
        pointers=(*commit.pointers, *more.pointers),
    )


def together(
    commits: Iterator[MemoryCommit], endings: MemoryCommit, room: Room
) -> Iterator[MemoryCommit]:
    """Yield the commits of a removal. The first one includes the endings if they fit into it.
    Otherwise the endings are a commit of their own before it, so that an interrupted removal can be
    repeated.
    """
    if not endings.pointers:
        yield from commits
        return
    first = next(commits, None)
    both = endings if first is None else joined(first, endings)
    if room(both) >= 0:
        yield both
    else:
        yield from (endings, *([] if first is None else [first]))
    yield from commits

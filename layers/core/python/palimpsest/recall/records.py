"""The records that were found: those that hold now, or held at the moment that is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from palimpsest import parallel
from palimpsest.clock import seconds
from palimpsest.conversations.ports import Sessions
from palimpsest.memory.ports import Memories, Pointer
from palimpsest.memory.records import Record, as_of
from palimpsest.recall.ranking import Candidate
from palimpsest.recall.reading import Asked, Read, Scores, pages
from palimpsest.recall.request import Recollection
from palimpsest.scope import UserScope
from palimpsest.text.words import coverage, terms

Held = tuple[Record, Scores]


@dataclass(frozen=True, slots=True)
class RecordReading:
    """Raises `Unavailable`: what could not be read is never taken for what is not there."""

    memories: Memories
    sessions: Sessions

    def __call__(self, asked: Asked, ids: Sequence[str]) -> Read:
        stored = [record for page in pages(ids) for record in self.memories.records(asked.scope, page)]
        pointers = self._pointers(asked.scope, stored)
        read = Read(dropped=dict.fromkeys(set(ids) - {record.id for record in stored}, "missing"))
        held: list[Held] = []
        if asked.request.looks_back:
            held += self._held_then(asked, stored, pointers)
        else:
            current = {pointer.record for pointer in pointers.values()}
            held += ((r, asked.found[r.id]) for r in stored if r.topic_key is None or r.id in current)
            read.dropped |= {r.id: "not_current" for r in stored if r.topic_key is not None and r.id not in current}
        against = {record.id: _reason_against(record, asked) for record, _ in held}
        read.dropped |= {name: reason for name, reason in against.items() if reason is not None}
        read.there = self._recollections(asked, [one for one in held if against[one[0].id] is None])
        return read

    def _pointers(self, scope: UserScope, records: Iterable[Record]) -> dict[str, Pointer]:
        found: dict[str, Pointer] = {}
        for page in pages(sorted({record.topic_key for record in records if record.topic_key})):
            found |= self.memories.pointers(scope, page)
        return found

    def _held_then(self, asked: Asked, stored: Sequence[Record], pointers: Mapping[str, Pointer]) -> Iterator[Held]:
        """Of each topic the version of that moment, with the scores of the versions that were found."""
        yield from ((record, asked.found[record.id]) for record in stored if record.topic_key is None)
        chains = parallel.each(lambda topic: self.memories.versions(asked.scope, topic), list(pointers))
        for (topic, pointer), said in zip(pointers.items(), chains, strict=True):
            retracted = None if pointer.record else pointer.order[0]
            version = as_of(said, moment=asked.moment, known_at=asked.request.known_at, retracted=retracted)
            if version is not None:
                found = [asked.found[record.id] for record in stored if record.topic_key == topic]
                yield version, {name: score for scores in found for name, score in scores.items()}

    def _recollections(self, asked: Asked, held: Sequence[Held]) -> list[Recollection]:
        over = self._sessions_over(asked, [record for record, _ in held])
        uses: dict[str, tuple[int, int]] = {}
        for page in pages([record.id for record, _ in held]):
            uses |= self.memories.uses(asked.scope, page)
        return [
            _recollection(
                record, scores, asked, uses=uses.get(record.id, (0, 0)), is_over=record.source.session in over
            )
            for record, scores in held
        ]

    def _sessions_over(self, asked: Asked, records: Iterable[Record]) -> frozenset[str]:
        """The sessions of tasks that have ended or are gone."""
        names = sorted({r.source.session for r in records if r.type == "task" and r.source.session is not None})
        heads = parallel.each(lambda name: self.sessions.open(asked.scope.owner.session(name)).head, names)
        now = seconds(asked.now)
        return frozenset(
            name
            for name, head in zip(names, heads, strict=True)
            if head is None or head.status != "active" or head.is_gone(now)
        )


def _recollection(
    record: Record, scores: Scores, asked: Asked, *, uses: tuple[int, int], is_over: bool
) -> Recollection:
    """`uses`: how often, and when last (epoch seconds); `is_over`: its session has ended."""
    candidate = Candidate(
        key=record.id,
        found=scores,
        said_at=record.valid_from,
        coverage=coverage(asked.query.terms, frozenset(terms(_words(record)))),
        importance=record.importance,
        uses=uses[0],
        used_at=uses[1] * 1000,
        comes_last=record.type == "task" and is_over,
    )
    return Recollection(
        id=record.id,
        type=record.type,
        content=record.content,
        source=record.source,
        valid_from=record.valid_from,
        record=record,
        candidate=candidate,
    )


def _reason_against(record: Record, asked: Asked) -> str | None:
    """Why a record is not shown, or None."""
    wanted, request = asked.request.filter, asked.request
    if record.expires_at is not None and record.expires_at <= seconds(asked.now):
        return "expired"
    if request.looks_back and (
        record.valid_from > asked.moment or (request.known_at is not None and record.created_at > request.known_at)
    ):
        return "not_yet"
    passes = (
        record.type in wanted.types
        and (wanted.min_importance is None or record.importance >= wanted.min_importance)
        and asked.was_created(record.created_at)
        and wanted.subject in (None, record.subject)
        and wanted.session in (None, record.source.session)
        and wanted.agent in (None, record.agent)
        and asked.is_described(record.metadata)
    )
    return None if passes else "filtered"


def _words(record: Record) -> str:
    return "\n".join((record.content, record.subject or "", *record.keywords, *record.queries))

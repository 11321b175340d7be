"""The raw messages that were found: those that are still there, and which of them a record has overtaken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from palimpsest import parallel
from palimpsest.clock import milliseconds, seconds
from palimpsest.conversations.lifecycle import is_withdrawn
from palimpsest.conversations.messages import Message
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Head
from palimpsest.extraction.chunk import said_at
from palimpsest.memory.ports import Memories
from palimpsest.memory.records import Record, Source, normalized
from palimpsest.recall.ranking import Candidate
from palimpsest.recall.reading import Asked, Read, pages
from palimpsest.recall.request import Recollection
from palimpsest.scope import SessionScope, UserScope
from palimpsest.search.documents import message_key, message_of, spoken_text
from palimpsest.text.words import coverage, excerpt, terms

MAX_SHOWN = 4_000  # characters of a message that a result shows
TOPICS_COMPARED = 8
COVERED = 0.5  # of a message's text, in a record's quote


@dataclass(frozen=True, slots=True)
class MessageReading:
    """Raises `Unavailable`: what could not be read is never taken for what is not there."""

    sessions: Sessions

    def __call__(self, asked: Asked, keys: Sequence[str]) -> Read:
        by_session: dict[str, dict[int, str]] = defaultdict(dict)
        for key in keys:
            session, seq = message_of(key) or ("", 0)
            by_session[session][seq] = key
        return Read().join(parallel.each(lambda each: self._of_session(asked, *each), list(by_session.items())))

    def _of_session(self, asked: Asked, session: str, keys: Mapping[int, str]) -> Read:
        scope = asked.scope.owner.session(session)
        head = self.sessions.open(scope).head
        if head is None or head.is_gone(seconds(asked.now)):
            return Read(dropped=dict.fromkeys(keys.values(), "missing"))
        if head.user != asked.scope.user:
            return Read(dropped=dict.fromkeys(keys.values(), "foreign"))
        messages = {message.seq: message for message in self._said(scope, list(keys))}
        read = Read()
        for seq, key in keys.items():
            message = messages.get(seq)
            if message is None or not (text := spoken_text(message)):
                read.dropped[key] = "missing"
            elif (reason := _reason_against(message, head, asked, session=session)) is not None:
                read.dropped[key] = reason
            else:
                read.there.append(_recollection(message, text, asked, session=session))
        return read

    def _said(self, scope: SessionScope, seqs: Sequence[int]) -> Iterator[Message]:
        for page in pages(seqs):
            yield from self.sessions.messages_at(scope, page)


def _reason_against(message: Message, head: Head, asked: Asked, *, session: str) -> str | None:
    """Why a message is not shown, or None."""
    if message.seq <= head.base or is_withdrawn(message.seq, head):
        return "missing"
    wanted = asked.request.filter
    when = milliseconds(said_at(message))
    known_at = asked.request.known_at
    is_known = known_at is None or milliseconds(datetime.fromisoformat(message.created_at)) <= known_at
    if asked.request.looks_back and (when > asked.moment or not is_known):
        return "not_yet"
    passes = (
        wanted.has_messages
        and asked.was_created(when)
        and wanted.session in (None, session)
        and wanted.agent in (None, head.agent)
        and asked.is_described(message.metadata)
    )
    return None if passes else "filtered"


def _recollection(message: Message, text: str, asked: Asked, *, session: str) -> Recollection:
    key = message_key(session, message.seq)
    when = milliseconds(said_at(message))
    return Recollection(
        id=message.id,
        type="message",
        content=excerpt(text, asked.query.terms, limit=MAX_SHOWN),
        source=Source(session=session, message_ids=(message.id,), seqs=(message.seq,)),
        valid_from=when,
        speaker=message.role,
        candidate=Candidate(
            key=key,
            found=asked.found[key],
            said_at=when,
            coverage=coverage(asked.query.terms, frozenset(terms(text))),
            neighbours=(message_key(session, message.seq - 1), message_key(session, message.seq + 1)),
        ),
    )


def with_outdated(memories: Memories, scope: UserScope, found: Sequence[Recollection]) -> list[Recollection]:
    """What was found, each message marked that says an earlier value of a topic whose current record was found too."""
    current = [one.record for one in found if one.record is not None and one.record.topic_key is not None]
    if not current or all(one.record is not None for one in found):
        return list(found)
    current = current[:TOPICS_COMPARED]
    chains = parallel.each(lambda record: memories.versions(scope, str(record.topic_key)), current)
    newer: dict[tuple[str | None, int], str] = {}
    for record, said in zip(current, chains, strict=True):
        newer |= dict.fromkeys(_places_of_earlier(record, said), record.id)
    return [_marked(one, newer) for one in found]


def without_covered(found: Sequence[Recollection]) -> list[Recollection]:
    """What was found, best first, without the messages that say little more than a record that was found too: the
    record stands where the better of both stood.
    """
    records = [one for one in found if one.record is not None]
    by_place = {(one.source.session, seq): one for one in records for seq in one.source.seqs}
    kept: dict[str, Recollection] = {}
    for one in found:
        record = by_place.get((one.source.session, one.source.seqs[0])) if one.record is None else None
        better = one if record is None or not _is_covered(one, record) else replace(record, score=one.score)
        kept.setdefault(better.candidate.key, better)
    return list(kept.values())


def _is_covered(message: Recollection, record: Recollection) -> bool:
    quote = record.source.quote
    return (
        quote is not None
        and message.outdated_by is None
        and quote in message.content
        and len(quote) >= COVERED * len(message.content)
    )


def _places_of_earlier(current: Record, said: Sequence[Record]) -> set[tuple[str | None, int]]:
    """The messages in which another value was said, and not the one that holds."""
    holds = [each for each in said if normalized(each.content) == normalized(current.content)]
    here = {(each.source.session, seq) for each in (current, *holds) for seq in each.source.seqs}
    return {(each.source.session, seq) for each in said if each not in holds for seq in each.source.seqs} - here


def _marked(one: Recollection, newer: Mapping[tuple[str | None, int], str]) -> Recollection:
    place = (one.source.session, one.source.seqs[0]) if one.record is None else None
    if place is None or place not in newer:
        return one
    return replace(one, candidate=replace(one.candidate, outdated_by=newer[place]))

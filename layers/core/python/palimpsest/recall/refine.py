"""Refines the found memories. It leaves out repetitions, marks earlier values, and ranks later
statements above earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from palimpsest import parallel
from palimpsest.conversations.configuration import parsed
from palimpsest.conversations.history import live, no_session
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.spoken import spoken_text
from palimpsest.memory.ports import Memories
from palimpsest.memory.record import Source
from palimpsest.memory.stated_in import Place, places_of, places_of_earlier
from palimpsest.recall.found import FoundMemory, words_of
from palimpsest.recall.question import Query
from palimpsest.recall.replacing import (
    StatementInMemory,
    asks_of_the_present,
    has_topic,
    may_replace,
    outdated,
    stated,
    superseded,
)
from palimpsest.scope import UserScope
from palimpsest.text.analyser import content_terms, term_set
from palimpsest.text.folding import normalized
from palimpsest.text.sentences import is_question

COVERED = 0.5  # the share of a message's text that a record must quote to replace it
SHORT = 600  # characters of a message that is shown in place of a record of it
TOPICS_COMPARED = 8
LOOKED_AT = 5  # how many of the best are compared; a lower one replaces nothing


@dataclass(frozen=True, slots=True)
class Seen:
    """The texts that the caller sees while asking: the `questions`, and the messages of `session`
    from number `first` on.
    """

    questions: tuple[str, ...] = ()
    session: str | None = None
    first: int = 1

    def holds(self, source: Source) -> bool:
        """Return whether the window has every message of a source."""
        is_here = self.session is not None and source.session == self.session and bool(source.seqs)
        return is_here and min(source.seqs) >= self.first

    def asks(self, text: str) -> bool:
        """Return whether a user's message with this text repeats one of the questions. The same
        text does, and so does a question with the same words.
        """
        if any(normalized(text) == normalized(question) for question in self.questions):
            return True
        if not (self.questions and is_question(text)):
            return False
        terms = set(content_terms(text))
        return any(terms == set(content_terms(question)) for question in self.questions)


def seen_by(
    sessions: Sessions, scope: UserScope, question: str, *, session: str | None, now: datetime
) -> Seen:
    """Return the texts that a caller sees who asks the question in this session (None: outside of
    any session). The user's last message there counts as a question too.

    Raises `NotFound` if the user has no such session, and `Unavailable`.
    """
    if session is None:
        return Seen((question,))
    where = scope.owner.session(session)
    head, settings = live(sessions.open(where, settings=True), now=now)
    if head.user != scope.user:
        raise no_session()
    # A session without a window shows its model the newest turn only.
    first = head.window_start if parsed(dict(settings.memory)).keeps_window else head.last_user_seq
    newest = sessions.messages_at(where, [head.last_user_seq]) if head.last_user_seq else ()
    newest_texts = (spoken_text(message) for message in newest)
    return Seen((question, *filter(None, newest_texts)), session, first)


def without_echoes(memories: Sequence[FoundMemory], *, question: str) -> list[FoundMemory]:
    """Return the memories, in which records replace messages that say the same, and repeated texts
    are left out.

    `memories` and the result are sorted, the best first.
    """
    records = {memory.candidate.key: memory for memory in memories if memory.record is not None}
    words = {
        key: term_set(words_of(memory.record))
        for key, memory in records.items()
        if memory.record is not None
    }
    # An answer repeats words of its question, so these don't show that it recites a record.
    question_terms = term_set(question)
    left: dict[str, FoundMemory] = {}
    for memory in memories:
        same: list[str] = []
        if memory.record is None:
            same = _quoting(memory, records.values())
            same = same or _recited(memory, words, question_terms=question_terms)
        better = [replace(records[key], score=memory.score) for key in same]
        for shown in better or [memory]:
            left.setdefault(shown.candidate.key, shown)
    return without_repeated(left.values())


def without_repeated(memories: Iterable[FoundMemory]) -> list[FoundMemory]:
    """Return the memories with only one of several equal texts, in the place of the best one. If
    one of these is a record, the record is kept. `times` counts the equal texts.
    """
    left: dict[str, FoundMemory] = {}
    for memory in memories:
        text = normalized(memory.content)
        first = left.setdefault(text, memory)
        if first is not memory:
            better = memory if first.record is None and memory.record is not None else first
            left[text] = replace(better, score=first.score, times=first.times + memory.times)
    return list(left.values())


def without_parts(memories: Sequence[FoundMemory]) -> list[FoundMemory]:
    """Return the memories without records that say nothing but a part of a message among them. Such
    a record is left out after its message. If the message is short, it takes the place of a record
    of no topic.
    """
    messages = {_place(memory): memory for memory in memories if memory.record is None}
    left: list[FoundMemory] = []
    shown: set[Place] = set()
    for memory in memories:
        place = _place(memory)
        message = messages.get(place)
        if message is None or not (memory is message or _is_part(memory, of=message)):
            left.append(memory)
            continue
        if place in shown:
            continue
        gives_way = not has_topic(memory) and len(message.content) <= SHORT
        kept = message if gives_way else memory
        left.append(replace(kept, score=memory.score))
        if kept is message:
            shown.add(place)
    return left


def _place(memory: FoundMemory) -> Place:
    return memory.source.session, min(memory.source.seqs, default=0)


def _is_part(memory: FoundMemory, *, of: FoundMemory) -> bool:
    """Return whether a fact has no word that its message lacks, no time, no mark, and no other
    source. A date that was added to it is such a word.
    """
    record = memory.record
    if record is None or record.type != "fact" or len(memory.source.seqs) != 1:
        return False
    is_marked = memory.rests_on_changed or memory.ended_at is not None or memory.when is not None
    if is_marked or of.outdated_by is not None or memory.times > 1:
        return False
    return term_set(memory.content) <= term_set(of.content) | term_set(record.subject or "")


def _quoting(message: FoundMemory, records: Iterable[FoundMemory]) -> list[str]:
    """Return a list with the key of the first record that quotes nearly the whole message, or an
    empty list if there is no such record. An outdated message can be quoted only by a record that
    has ended.
    """
    quoting = [
        record.candidate.key
        for record in records
        if message.outdated_by in (None, record.ended_at and record.id)
        and _quotes(record.source, message)
    ]
    return quoting[:1]


def _quotes(source: Source, message: FoundMemory) -> bool:
    """Return whether the source quotes nearly the whole message."""
    is_of_message = (
        source.session == message.source.session and message.source.seqs[0] in source.seqs
    )
    if not is_of_message or source.quote is None:
        return False
    return source.quote in message.content and len(source.quote) >= COVERED * len(message.content)


def _recited(
    message: FoundMemory, records: Mapping[str, frozenset[str]], *, question_terms: frozenset[str]
) -> list[str]:
    """Return the keys of the records that an answer of the assistant only repeats, without words of
    its own. `records` has the words of the records by key.
    """
    if message.speaker != "assistant":
        return []
    own = frozenset(content_terms(message.content)) - question_terms
    if not own or not own.issubset(frozenset().union(*records.values())):
        return []
    return [key for key, words in records.items() if not own.isdisjoint(words)]


def with_outdated(
    memories: Memories, scope: UserScope, found_memories: Sequence[FoundMemory]
) -> list[FoundMemory]:
    """Return all memories in the given order, and mark each message that says an earlier value of a
    topic whose current record was found too. `outdated_by` names that record.

    If the topic has ended, all messages that say a value of it are marked. If the message says
    values of several topics, `outdated_by` names the best of their records. Raises `Unavailable`.
    """
    current = [
        memory.record
        for memory in found_memories
        if memory.record is not None and memory.record.topic_key is not None
    ]
    if not current or all(memory.record is not None for memory in found_memories):
        return list(found_memories)
    current = current[:TOPICS_COMPARED]
    chains = parallel.run_each(
        lambda record: memories.versions(scope, str(record.topic_key)), current
    )
    ended = {memory.id for memory in found_memories if memory.ended_at is not None}
    newer: dict[Place, str] = {}
    for record, versions in zip(current, chains, strict=True):
        has_ended = record.id in ended
        places = places_of(versions) if has_ended else places_of_earlier(record, versions)
        # The memories are sorted, so the mark of an earlier, better record stays.
        newer = dict.fromkeys(places, record.id) | newer
    return [_marked(memory, newer) for memory in found_memories]


def _marked(memory: FoundMemory, newer: Mapping[Place, str]) -> FoundMemory:
    if memory.record is not None:
        return memory
    place = (memory.source.session, memory.source.seqs[0])
    return outdated(memory, by=newer[place]) if place in newer else memory


def newer_first(memories: Sequence[FoundMemory], query: Query) -> list[FoundMemory]:
    """Return the memories in an order in which the later of two similar statements of the user is
    above the earlier one. At most one later statement moves above an earlier one. If it very likely
    replaces the earlier one, that one is marked (`outdated_by`). For questions about the past,
    nothing is changed.
    """
    if not asks_of_the_present(query):
        return list(memories)
    placed: list[StatementInMemory] = []
    gave_way: set[str] = set()
    for memory in memories[:LOOKED_AT]:
        new = stated(memory, query)
        older = {
            place
            for place, earlier in enumerate(placed)
            if earlier.memory.candidate.key not in gave_way and may_replace(new, earlier, query)
        }
        gave_way.update(placed[place].memory.candidate.key for place in older)
        placed = [
            superseded(statement, by=new) if place in older else statement
            for place, statement in enumerate(placed)
        ]
        first = max([min(older, default=len(placed)), *_held_since(placed, memory.valid_from)])
        # With the score of its new place, the results stay sorted by score.
        score = placed[first].memory.score if first < len(placed) else memory.score
        placed.insert(first, replace(new, memory=replace(memory, score=score)))
    return [*(statement.memory for statement in placed), *memories[LOOKED_AT:]]


def _held_since(placed: Sequence[StatementInMemory], moment: int) -> list[int]:
    """Return the places right after those memories that are the current record of a topic and were
    said after the moment. These memories stay above older statements.
    """
    return [
        place for place, statement in enumerate(placed, 1) if _holds_since(statement.memory, moment)
    ]


def _holds_since(memory: FoundMemory, moment: int) -> bool:
    """Return whether the memory is the current record of a topic, said after that moment."""
    return has_topic(memory) and memory.ended_at is None and memory.valid_from > moment

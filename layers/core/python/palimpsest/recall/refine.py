"""Refines the found memories. It leaves out repetitions, marks earlier values, and ranks later
statements above earlier ones.
"""

from __future__ import annotations

import re
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
from palimpsest.recall.passage import best_sentences, is_long
from palimpsest.recall.question import Query
from palimpsest.scope import UserScope
from palimpsest.text.analyser import content_terms, term_set
from palimpsest.text.folding import normalized
from palimpsest.text.sentences import is_question

COVERED = 0.5  # the share of a message's text that a record must quote to replace it
TOPICS_COMPARED = 8
LOOKED_AT = 5  # how many of the best are compared; a lower one replaces nothing
# A later statement moves above an older one only if it has at least this part of the older score.
LEAST, IN_ONE_TALK = 0.12, 0.25
WORDS_ALIKE = 2  # Two statements are alike if they share this many words.
# The older statement is marked as outdated if the later one has at least this part of its score.
REPLACES = 0.25

_WENT_BY = re.compile(
    r"\b(?:did|was|were|had|used to|hatten?|war(?:en)?|étai(?:t|ent)"
    r"|avai(?:t|ent)|eran?|fue(?:ron)?|había)\b",
    re.IGNORECASE,
)
# General words, chosen before the labelled updates were seen (docs/adr/0034).
_CHANGE = re.compile(
    r"\b(?:now|nowadays|these days|any ?more|no longer|no more|instead|after all|again|back "
    r"(?:to|at|on|in)|new|newly"
    r"|latest|since|from now on|from (?:this|next) \w+|as of|lately|recently|finally|at "
    r"last|already|meanwhile|actually"
    r"|chang(?:es?|ed|ing)|switch(?:es|ed|ing)?|swap(?:s|ped|ping)?|replac(?:es?"
    r"|ed|ing)|mov(?:es?|ed|ing)"
    r"|shift(?:s|ed)?|transferr?(?:ed)?|renamed?|rebooked|rescheduled|postponed"
    r"|updated?|upgraded?|downgraded?"
    r"|becom(?:es?|ing)|became|turned|beg[aiu]n|start(?:s|ed|ing)?|stop(?:s|ped)?|quit|g[ai]ve "
    r"up|given up|giving up"
    r"|left|retired|clos(?:ed|ing)|cancell?ed|dropped|ended|over|sold|bought"
    r"|got|raised?|lower(?:ed)?|increased?"
    r"|reduced|cut|doubled|put (?:up|down|back)|took over|taken over|correction|scrap|turns out"
    r"|jetzt|nun|inzwischen|neu\w*|nicht mehr|statt\w*|wieder|doch|seit|gewechselt"
    r"|geändert|(?:um)?gezogen"
    r"|maintenant|désormais|nouve\w+|plus de|chang\w+|déménag\w+|plutôt|finalement"
    r"|ahora|ya no|nuev[oa]s?|cambi\w+|mud\w+|desde|al final|en vez)\b"
    r"|现在|改|换|不再|搬|今は|変え|変わ|新しい|もう|이제|바꿨|바뀌|새로|الآن|جديد|غير",
    re.IGNORECASE,
)
_VALUES = (
    re.compile(
        r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
        r"|fifteen|twenty|thirty|forty|fifty|hundred"
        r"|half|once|twice)\b",
        re.IGNORECASE,
    ),
    _DAY := re.compile(
        r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|week(?:end|day)s?|(?:morning|noon"
        r"|afternoon|evening|night)s?)\b",
        re.IGNORECASE,
    ),
    re.compile(rf"(?<=[\w,;:] )(?!I\b|(?i:{_DAY.pattern}))[A-ZÀ-ÞА-ЯΑ-Ω][\w'-]+"),
)
"""Patterns of a number, a day and a name."""


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
    return _outdated(memory, by=newer[place]) if place in newer else memory


@dataclass(frozen=True, slots=True)
class _Stated:
    """A memory with the statement in it that is compared with others. In a long text, this is the
    sentence with most of the question's words. Words of change in other sentences do not concern
    the question, and neither do equal words. `words` are its terms without function words.
    """

    memory: FoundMemory
    text: str
    words: frozenset[str]

    @property
    def speaks_of_change(self) -> bool:
        return _CHANGE.search(self.text) is not None


def _stated(memory: FoundMemory, query: Query) -> _Stated:
    text = best_sentences(memory.content, query, most=1)
    return _Stated(memory, text, frozenset(content_terms(text)))


def newer_first(memories: Sequence[FoundMemory], query: Query) -> list[FoundMemory]:
    """Return the memories in an order in which the later of two similar statements of the user is
    above the earlier one. At most one later statement moves above an earlier one. If it very likely
    replaces the earlier one, that one is marked (`outdated_by`). For questions about the past,
    nothing is changed.
    """
    if query.asks_of_the_past or _WENT_BY.search(query.text):
        return list(memories)
    placed: list[_Stated] = []
    gave_way: set[str] = set()
    for memory in memories[:LOOKED_AT]:
        new = _stated(memory, query)
        older = {
            place
            for place, earlier in enumerate(placed)
            if earlier.memory.candidate.key not in gave_way and _may_replace(new, earlier)
        }
        gave_way.update(placed[place].memory.candidate.key for place in older)
        placed = [
            _superseded(statement, by=new) if place in older else statement
            for place, statement in enumerate(placed)
        ]
        first = max([min(older, default=len(placed)), *_held_since(placed, memory.valid_from)])
        # With the score of its new place, the results stay sorted by score.
        score = placed[first].memory.score if first < len(placed) else memory.score
        placed.insert(first, replace(new, memory=replace(memory, score=score)))
    return [*(statement.memory for statement in placed), *memories[LOOKED_AT:]]


def _held_since(placed: Sequence[_Stated], moment: int) -> list[int]:
    """Return the places right after those memories that are the current record of a topic and were
    said after the moment. These memories stay above older statements.
    """
    return [
        place for place, statement in enumerate(placed, 1) if _holds_since(statement.memory, moment)
    ]


def _may_replace(new: _Stated, old: _Stated) -> bool:
    """Return whether the later statement may say the same as the older one, with another value.

    Both must be the user's, and must answer the question about equally well. If both are from one
    conversation, the later one must also have a word of change. If they are from two conversations,
    similarity is enough. If a text is long, the two must share a word, because both may be about
    many things. Records with a topic replace nothing here, because the versions of a topic are
    already in order.
    """
    later, older = new.memory, old.memory
    if (
        later.outdated_by
        or _has_topic(later)
        or _has_topic(older)
        or later.valid_from <= older.valid_from
    ):
        return False
    if not (_is_statement(later) and older.speaker in {"user", None}):
        return False
    if later.said_by != older.said_by:
        return False
    is_one_talk = later.source.session == older.source.session
    if later.score < (IN_ONE_TALK if is_one_talk else LEAST) * older.score:
        return False
    if new.words.isdisjoint(old.words) and (
        is_one_talk or is_long(later.content) or is_long(older.content)
    ):
        return False
    return new.speaks_of_change or (not is_one_talk and _are_alike(new, old))


def _is_statement(memory: FoundMemory) -> bool:
    if memory.record is not None:
        return memory.record.type != "event"
    return memory.speaker == "user" and memory.candidate.says != "question"


def _are_alike(new: _Stated, old: _Stated) -> bool:
    """Return whether two statements share words, or both name a number, a day or a person."""
    if len(new.words & old.words) >= WORDS_ALIKE:
        return True
    return any(value.search(new.text) and value.search(old.text) for value in _VALUES)


def _superseded(old: _Stated, *, by: _Stated) -> _Stated:
    """Return the older statement, marked as outdated if the later one very likely replaces it."""
    is_near = by.memory.score >= REPLACES * old.memory.score
    if not (is_near and len(by.words & old.words) >= WORDS_ALIKE and by.speaks_of_change):
        return old
    newer = old.memory.outdated_by or by.memory.id
    return replace(old, memory=_outdated(old.memory, by=newer))


def _has_topic(memory: FoundMemory) -> bool:
    return memory.record is not None and memory.record.topic_key is not None


def _holds_since(memory: FoundMemory, moment: int) -> bool:
    """Return whether the memory is the current record of a topic, said after that moment."""
    return _has_topic(memory) and memory.ended_at is None and memory.valid_from > moment


def _outdated(memory: FoundMemory, *, by: str) -> FoundMemory:
    return replace(memory, candidate=replace(memory.candidate, outdated_by=by))

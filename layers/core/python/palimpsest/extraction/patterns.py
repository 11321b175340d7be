"""Extraction without a model: what users state is kept in their own words, phrases only say what kind it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from palimpsest.conversations.messages import Message, text_of
from palimpsest.extraction.chunk import Chunk, Finding, said_at
from palimpsest.extraction.phrases import MARKS, NOT_WHAT, RELATION, REQUEST, SPLIT, Mark
from palimpsest.extraction.ports import Extraction
from palimpsest.memory.records import Method, RecordType
from palimpsest.text import salience
from palimpsest.text.dates import relative_dates
from palimpsest.text.salient_words import FIRST_PERSON
from palimpsest.text.sentences import sentences

METHOD: Method = "pattern"
CAPACITY = 20_000  # tokens of one step
WORTH_KEEPING = 2.0  # of a sentence without a mark: somebody's own, or with names and numbers
PLAIN, OF_ONESELF, OF_WHO_ONE_IS, EVENT = 0.5, 0.6, 0.8, 0.65  # importance
MOST_KEYWORDS, SHORTEST_KEYWORD = 8, 4
WORDS_OF_TOPIC = 4
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class _Statement:
    """One statement of a user: what kind it is, and how much it is worth remembering."""

    text: str
    type: RecordType
    importance: float
    topic: str | None = None


class PatternExtractor:
    """Implements `Extractor` without a model, in linear time: the same messages always give the same findings."""

    def capacity(self, *, prompt: str | None) -> int:
        del prompt
        return CAPACITY

    def extract(self, chunk: Chunk, *, prompt: str | None, whole: bool = False) -> Extraction:
        del prompt, whole
        findings: list[Finding] = []
        skipped: dict[int, str] = {}
        for message in chunk.messages:
            found = list(_findings(message)) if message.role == "user" else []
            findings += found
            if not found:
                skipped[message.seq] = "nothing_stated" if message.role == "user" else "not_the_user"
        return Extraction(tuple(findings), chunk.last, METHOD, skipped=skipped)


def _findings(message: Message) -> Iterator[Finding]:
    day = said_at(message).date()
    for sentence in sentences(text_of(message.chat)):
        for statement in _statements(sentence, day):
            yield _finding(statement, message.seq)


def _statements(sentence: str, day: date) -> Iterator[_Statement]:
    for part in _parts(sentence):
        if found := _stated(part, day):
            yield found


def _parts(sentence: str) -> Iterator[str]:
    """The sentence, or its parts where each has a mark of its own."""
    start = 0
    for split in SPLIT.finditer(sentence):
        before, behind = sentence[start : split.start()], sentence[split.end() :]
        if _marked(before)[0] and _marked(behind)[0]:
            yield before
            start = split.end()
    yield sentence[start:]


def _stated(text: str, day: date) -> _Statement | None:
    """What the text states; None for questions, requests, small talk, and what is worth too little."""
    mark, topic = _marked(text)
    if salience.is_question(text) and not (mark and mark.type == "task"):
        return None
    if mark is not None:
        is_of_nothing = topic is None and mark.topic is not None
        return None if is_of_nothing else _Statement(text, mark.type, mark.importance, topic)
    bag = salience.words(text)
    worth = salience.worth(text, speaker=salience.USER, bag=bag, topic=frozenset())
    if REQUEST.search(text) or salience.is_filler(text, bag) or worth.score < WORTH_KEEPING:
        return None
    if not FIRST_PERSON.search(text) and salience.leans_on_a_question(text):
        return None
    return _unmarked(text, day, is_who=worth.who)


def _unmarked(text: str, day: date, *, is_who: bool) -> _Statement:
    is_own = bool(FIRST_PERSON.search(text))
    if is_own and relative_dates(text, at=day):
        return _Statement(text, "event", OF_WHO_ONE_IS if is_who else EVENT)
    return _Statement(text, "fact", OF_WHO_ONE_IS if is_who else OF_ONESELF if is_own else PLAIN)


def _marked(text: str) -> tuple[Mark | None, str | None]:
    """The first mark that the text has, and its topic; no topic where it speaks of nothing that has a name."""
    for mark in MARKS:
        found = mark.match(text)
        if found is not None:
            return mark, _topic(mark, found)
    return None, None


def _topic(mark: Mark, found: re.Match[str]) -> str | None:
    if "what" not in found.groupdict():
        return mark.topic
    words = [word for word in _WORD.findall(found["what"].casefold()) if word not in NOT_WHAT]
    return "_".join((str(mark.topic), *words[:WORDS_OF_TOPIC])) if words else None


def _finding(statement: _Statement, seq: int) -> Finding:
    about = RELATION.search(statement.text)
    return Finding(
        type=statement.type,
        content=statement.text,
        seqs=(seq,),
        quote=statement.text,
        topic=statement.topic,
        subject=next(group for group in about.groups() if group).casefold() if about else "user",
        keywords=tuple(_keywords(statement.text)),
        importance=statement.importance,
    )


def _keywords(text: str) -> Sequence[str]:
    words = dict.fromkeys(word.casefold() for word in _WORD.findall(text) if len(word) >= SHORTEST_KEYWORD)
    return list(words)[:MOST_KEYWORDS]

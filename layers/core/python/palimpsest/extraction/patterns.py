"""Extraction without a model: statements of users are stored in their own words, and phrases tell their kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache

from palimpsest.conversations.messages import Message, said_at, text_of
from palimpsest.extraction.chunk import Chunk, Finding
from palimpsest.extraction.phrases import NOT_WHAT, RELATION, REQUEST, SPLIT, STATEMENT_KINDS, StatementKind
from palimpsest.extraction.ports import Extraction
from palimpsest.memory.records import Method, RecordType
from palimpsest.text import salience
from palimpsest.text.dates import relative_dates
from palimpsest.text.sentences import sentences_at_the_ends

METHOD: Method = "pattern"
CAPACITY = 20_000  # tokens of one step
MOST_READ = 16_000  # characters of one message; of a longer one the middle is not read
WORTH_REMEMBERING = 2.0  # for a sentence of no known kind: it is about oneself, or has names and numbers
PLAIN, OF_ONESELF, OF_WHO_ONE_IS, EVENT = 0.5, 0.6, 0.8, 0.65  # importance
MOST_KEYWORDS, SHORTEST_KEYWORD = 8, 4
WORDS_OF_TOPIC = 4
_WORD = re.compile(r"\w+")
_SEVERAL_WORDS = re.compile(r"\w\W+\w|[\u3040-\u9fff]{2}")


@dataclass(frozen=True, slots=True)
class _Statement:
    """One statement of a user: its kind, its importance (0..1) and its topic."""

    text: str
    type: RecordType
    importance: float
    topic: str | None = None


class PatternExtractor:
    """Implements `Extractor` without a model, in linear time: the same messages always give the same findings.

    What messages repeat is analysed once.
    """

    def capacity(self, *, prompt: str | None) -> int:
        del prompt
        return CAPACITY

    def extract(self, chunk: Chunk, *, prompt: str | None, whole: bool = False) -> Extraction:
        del prompt, whole
        findings: list[Finding] = []
        skipped: dict[int, str] = {}
        stated = cache(_statements)
        for message in chunk.messages:
            found = list(_findings(message, stated)) if message.role == "user" else []
            findings += found
            if not found:
                skipped[message.seq] = "nothing_stated" if message.role == "user" else "not_the_user"
        return Extraction(tuple(findings), chunk.last, METHOD, skipped=skipped)


def _findings(message: Message, stated: Callable[[str, date], Sequence[_Statement]]) -> Iterator[Finding]:
    day = said_at(message).date()
    for sentence in sentences_at_the_ends(text_of(message.chat), most=MOST_READ):
        for statement in stated(sentence, day):
            yield _finding(statement, message.seq)


def _statements(sentence: str, day: date) -> Sequence[_Statement]:
    return [found for part in _parts(sentence) if (found := _stated(part, day))]


def _parts(sentence: str) -> Iterator[str]:
    """The sentence, or its parts where each is a statement of a known kind. Each clause is looked at once."""
    part, states = "", False
    for joint, clause in _clauses(sentence):
        is_known = _kind_of(clause)[0] is not None
        if states and is_known:
            yield part
            part, states = "", False
        part, states = part + joint + clause if part else clause, states or is_known
    yield part


def _clauses(sentence: str) -> Iterator[tuple[str, str]]:
    """The sentence cut where another statement may begin: what joins each clause to the one before, and the clause."""
    start, joint = 0, ""
    for split in SPLIT.finditer(sentence):
        if _SEVERAL_WORDS.search(sentence, start, split.start()):
            yield joint, sentence[start : split.start()]
            start, joint = split.end(), split[0]
    yield joint, sentence[start:]


def _stated(text: str, day: date) -> _Statement | None:
    """What the text states; None for questions, requests, small talk and what is not worth remembering."""
    kind, topic = _kind_of(text)
    if salience.is_question(text) and not (kind and kind.type == "task"):
        return None
    if kind is not None:
        lacks_topic = topic is None and kind.topic is not None
        return None if lacks_topic else _Statement(text, kind.type, kind.importance, topic)
    bag = salience.words(text)
    worth = salience.worth(text, speaker=salience.USER, bag=bag, topic=frozenset())
    if REQUEST.search(text) or salience.is_filler(text, bag) or worth.score < WORTH_REMEMBERING:
        return None
    if not salience.is_own(text) and salience.leans_on_a_question(text):
        return None
    return _of_no_kind(text, day, is_who=worth.who)


def _of_no_kind(text: str, day: date, *, is_who: bool) -> _Statement:
    is_own = salience.is_own(text)
    if is_own and relative_dates(text, at=day):
        return _Statement(text, "event", OF_WHO_ONE_IS if is_who else EVENT)
    return _Statement(text, "fact", OF_WHO_ONE_IS if is_who else OF_ONESELF if is_own else PLAIN)


def _kind_of(text: str) -> tuple[StatementKind | None, str | None]:
    """The first kind whose phrases stand in the text, and the topic; no topic if the text names nothing."""
    for kind in STATEMENT_KINDS:
        found = kind.match(text)
        if found is not None:
            return kind, _topic(kind, found)
    return None, None


def _topic(kind: StatementKind, found: re.Match[str]) -> str | None:
    if "what" not in found.groupdict():
        return kind.topic
    words = [word for word in _WORD.findall(found["what"].casefold()) if word not in NOT_WHAT]
    return "_".join((str(kind.topic), *words[:WORDS_OF_TOPIC])) if words else None


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

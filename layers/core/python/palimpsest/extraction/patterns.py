"""Extraction without a model: statements of users are stored in their own words, and phrases tell their kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache

from palimpsest.conversations.messages import Message, said_at, text_of
from palimpsest.extraction.chunk import Chunk, Finding
from palimpsest.extraction.clauses import objects, parts
from palimpsest.extraction.phrases import NOT_WHAT, RELATION, StatementKind, asks_for_something, kind_of, says_nothing
from palimpsest.extraction.ports import Extraction
from palimpsest.graph.things import USER_TYPE, Relation
from palimpsest.memory.records import Method, SaidType
from palimpsest.text import salience
from palimpsest.text.dates import relative_dates
from palimpsest.text.sentences import is_filler, is_question, leans_on_a_question, sentences_at_the_ends, words

METHOD: Method = "pattern"
CAPACITY = 20_000  # tokens of one step
MOST_READ = 16_000  # characters of one message; of a longer one the middle is not read
WORTH_REMEMBERING = 2.0  # for a sentence of no known kind: it is about oneself, or has names and numbers
PLAIN, OF_ONESELF, OF_WHO_ONE_IS, EVENT = 0.5, 0.6, 0.8, 0.65  # importance
MOST_KEYWORDS, SHORTEST_KEYWORD = 8, 4
WORDS_OF_TOPIC = 4
RELATIONS = {"employer": ("WORKS_AT", "Company"), "residence": ("LIVES_IN", "Place")}
"""By the topic of a statement: what it says of the user, and what is named."""
_WORD = re.compile(r"\w+")
_KEYWORD = re.compile(rf"\w{{{SHORTEST_KEYWORD},}}")
_NAMED = re.compile(r" ?(?:the )?((?:[A-ZÀ-Þ][\w&.'-]*)(?: [A-ZÀ-Þ0-9&][\w&.'-]*){0,3})")


@dataclass(frozen=True, slots=True)
class _Statement:
    """One statement of a user: its kind, its importance (0..1), its topic, and the words that it rests on."""

    text: str
    quote: str
    type: SaidType
    importance: float
    topic: str | None = None
    relations: tuple[Relation, ...] = ()


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
    return [
        found
        for part in parts(sentence, is_known=lambda text: kind_of(text)[0] is not None)
        for text in _each(part.text)
        if (found := _stated(text, day, quote=part.quote))
    ]


def _each(text: str) -> list[str]:
    """The text, or one statement for each thing that it says is liked, or must not be eaten."""
    kind, found = kind_of(text)
    if kind is None or found is None or kind.topic not in ("preference", "allergy") or "what" not in found.groupdict():
        return [text]
    return objects(text, start=found.start("what"))


def _stated(text: str, day: date, *, quote: str) -> _Statement | None:
    """What the text states; None for questions, requests, small talk and what is not worth remembering."""
    kind, matched = kind_of(text)
    topic = _topic(kind, matched) if kind and matched else None
    if is_question(text) and not (kind and kind.type == "task"):
        return None
    if kind is not None:
        lacks_topic = topic is None and kind.topic is not None
        relations = tuple(_relations(kind, matched, text)) if matched else ()
        return None if lacks_topic else _Statement(text, quote, kind.type, kind.importance, topic, relations)
    bag = words(text)
    worth = salience.worth(text, speaker=salience.USER, bag=bag, topic=frozenset())
    if worth.score < WORTH_REMEMBERING or is_filler(text, bag) or asks_for_something(text) or says_nothing(text):
        return None
    if not salience.is_own(text) and leans_on_a_question(text):
        return None
    return _of_no_kind(text, day, quote=quote, is_who=worth.who)


def _relations(kind: StatementKind, matched: re.Match[str], text: str) -> Iterator[Relation]:
    """Where the user lives or works, if the text names it."""
    if kind.topic not in RELATIONS or not matched[0].split():
        return
    last = matched[0].split()[-1]
    found = _NAMED.match(text, matched.end() - (0 if last.islower() else len(last)))
    if found:
        relation, of = RELATIONS[kind.topic]
        yield Relation("user", USER_TYPE, relation, found[1].rstrip(".'-&"), of, single=True)


def _of_no_kind(text: str, day: date, *, quote: str, is_who: bool) -> _Statement:
    is_own = salience.is_own(text)
    if is_own and relative_dates(text, at=day):
        return _Statement(text, quote, "event", OF_WHO_ONE_IS if is_who else EVENT)
    return _Statement(text, quote, "fact", OF_WHO_ONE_IS if is_who else OF_ONESELF if is_own else PLAIN)


def _topic(kind: StatementKind, found: re.Match[str]) -> str | None:
    """The key of the topic; None if the text names nothing that has one."""
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
        quote=statement.quote,
        topic=statement.topic,
        subject=next(group for group in about.groups() if group).casefold() if about else "user",
        keywords=tuple(_keywords(statement.text)),
        importance=statement.importance,
        relations=statement.relations,
    )


def _keywords(text: str) -> Sequence[str]:
    return list(dict.fromkeys(map(str.casefold, _KEYWORD.findall(text))))[:MOST_KEYWORDS]

"""Rates how much a sentence is worth remembering, without a model. It looks at names, numbers,
decisions and the speaker.

It knows such words of the most common languages.
"""
# ruff: noqa: RUF001 - words of many scripts

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

from palimpsest.text.matching import either, patterns_by_writing, triggers_of
from palimpsest.text.sentences import is_filler, tells_who_the_user_is
from palimpsest.text.triggers import Triggers

USER, ASSISTANT, TOOL, NOBODY = "user", "assistant", "tool", ""
"""The speakers. `NOBODY` is for a line of an earlier summary that has no speaker."""
BASE = {USER: 1.0, ASSISTANT: 0.8, TOOL: 0.1, NOBODY: 1.2}
FACT = {USER: 1.0, ASSISTANT: 0.65, TOOL: 0.2, NOBODY: 1.0}
"""The worth of a number or identifier, by speaker. Advice and the output of tools are full of
numbers.
"""
MOST_FACTS = 4
IDENTIFIER = 1.7  # numbers, because nothing else in a conversation repeats them
OWN_WORD = 0.25  # for each word of a sentence about the user
LEAST_OWN = 1.0  # for such a sentence of few words, because it is worth remembering
NOISY = 0.2  # share of characters that are neither letters, digits nor blanks: code, tables, data
OFTEN = 0.2  # of all sentences: a word in more of them says nothing about the topic

# How fast a pattern is depends on its beginning. A letter, or one of a few letters, is found much
# faster than anything else.
_NUMBER = re.compile(r"\d\d*+(?:[.,:/-]\d+)*")
# Both are linear: a run of letters is tried from its beginning only.
_IDENTIFIER = re.compile(r"(?<![^\W\d_])[^\W\d_]++[-_/]?\d|\S@\S+\.\w|https?://")
_FACT = re.compile(
    r"(?<![^\W\d_])[^\W\d_]++[-_/]?\d[\w-]*|(?<!\S)\S+@\S+|\d+(?:[.,:/-]\d+)*\s?[^\W\d_]*"
)
_MAY_BE_FACT = re.compile(r"[\d@]")
_NONE = frozenset[str]()
_LOG = re.compile(
    r"\W{0,3}(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d"
    r"|(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b)|at [\w.$<>]{1,99}\("
)
_PAIR = re.compile(r"(?<!\S)[\w.]++=\S")
LOG_PAIRS = 3
_ROW = re.compile(r"\s*\|.*\|\s*$")
_FIELD = re.compile(r"\s*(?:[-*]\s+)?[\w.-]+(?: [\w.-]+){0,2}\s*:\s+(?:\S+ ?){1,6}(?<![.!?])$")
_ASSIGNED = re.compile(
    r"[\w.\]]+\s*(?:=|:=|\+=|->|=>)\s*\S|\w\([^)]*\)\s*[;{]?\s*(?:#.*)?$|[;{}]\s*$"
)
_NAME = re.compile(r" [A-ZÀ-ÞА-ЯΑ-Ω](?<=[\w,;:] .)[\w'’-]+")
_NOISE = re.compile(r"[^\w\s]|_")  # neither letter, digit nor blank
_NO_NOISE = bytes(point for point in range(128) if not _NOISE.match(chr(point)))


SETTLED, NUMBER_WORD, OWN = range(3)
FIELDS = ("settled", "number_words", "first_person")
"""The fields of words that make a sentence worth remembering: words that say that something was
decided, allowed, asked for, preferred or corrected; numbers and dates in words; and words with
which people speak of themselves.
"""


@cache
def _patterns() -> Sequence[re.Pattern[str]]:
    """Return, for each of `FIELDS`, a pattern for texts in lower case."""
    return tuple(either(*patterns_by_writing(field)) for field in FIELDS)


@cache
def _triggers() -> Triggers:
    return Triggers([triggers_of(field) for field in FIELDS], asked_together=True)


def _likely(sentence: str) -> Sequence[int]:
    """Return the numbers of the `FIELDS` that may have a word in the sentence."""
    return _triggers().candidates(sentence)


def facts(sentence: str) -> frozenset[str]:
    """Return the facts of a sentence by which repetitions are found: its identifiers, and its
    numbers, each with the word that follows.
    """
    return (
        frozenset(map(str.casefold, _FACT.findall(sentence)))
        if _MAY_BE_FACT.search(sentence)
        else _NONE
    )


@lru_cache(maxsize=8)
def is_own(sentence: str) -> bool:
    """Return whether the sentence speaks in the first person."""
    return OWN in _likely(sentence) and bool(_patterns()[OWN].search(sentence.lower()))


def has_number(sentence: str) -> bool:
    """Return whether the sentence has a number or a date, in digits or in words."""
    if _NUMBER.search(sentence):
        return True
    return NUMBER_WORD in _likely(sentence) and bool(
        _patterns()[NUMBER_WORD].search(sentence.lower())
    )


def own_words(text: str) -> int:
    """Return the number of words with which the text speaks in the first person."""
    if OWN not in _likely(text):
        return 0
    return sum(1 for _ in _patterns()[OWN].finditer(text.lower()))


def topic_words(bags: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return the words that the conversation is about. They occur in several sentences, but not in
    most.
    """
    counts: Counter[str] = Counter()
    total = 0
    for bag in bags:
        counts.update(bag)
        total += 1
    return frozenset(word for word, count in counts.items() if 1 < count <= max(2, OFTEN * total))


def tells_who(sentence: str, *, speaker: str) -> bool:
    """Return whether the speaker says in this sentence who the user is. The sentence must not be a
    question.
    """
    return speaker in (USER, NOBODY) and tells_who_the_user_is(sentence)


def worth(
    sentence: str,
    *,
    speaker: str,
    bag: frozenset[str],
    topic: frozenset[str],
    who: bool,
    asks: bool,
) -> float:
    """Return the worth of a sentence by itself. `bag` holds its words, and `topic` the words that
    the conversation is about. `who` says whether the sentence tells who the user is, `asks` whether
    it is a question.
    """
    own = speaker in (USER, NOBODY)
    likely = _likely(sentence)
    facts = _facts(sentence, has_number_words=NUMBER_WORD in likely)
    score = BASE.get(speaker, 0.0) + FACT.get(speaker, 1.0) * min(MOST_FACTS, facts)
    score += min(1.0, 0.12 * len(bag & topic))
    score += 0.3 * min(3, len(_NAME.findall(sentence)))
    if SETTLED in likely:
        score += 0.7 * min(2, len(_patterns()[SETTLED].findall(sentence.lower())))
    if who:
        score += 4.0
    if own and not asks and is_own(sentence):
        score += max(LEAST_OWN, min(1.5, OWN_WORD * len(bag)))
    if asks:
        score -= 1.2 if own else 2.0
    if not who and is_filler(sentence, bag):
        score -= 3.0
    if is_noisy(sentence):
        score -= 2.0
    return score


def _facts(sentence: str, *, has_number_words: bool) -> float:
    """Return how many numbers, dates and sums the sentence has. An identifier counts for more."""
    numbers: float = len(_NUMBER.findall(sentence))
    if numbers or "@" in sentence or "://" in sentence:
        numbers += IDENTIFIER * len(_IDENTIFIER.findall(sentence))
    if has_number_words:
        numbers += len(_patterns()[NUMBER_WORD].findall(sentence.lower()))
    return numbers


def is_copied(sentence: str) -> bool:
    """Return whether a line looks copied from a tool or a file. That is a row of a table, a line of
    code, or a name with its value ("room: 12").
    """
    return any(pattern.search(sentence) for pattern in (_ROW, _ASSIGNED)) or bool(
        _FIELD.match(sentence)
    )


def is_log_line(sentence: str) -> bool:
    """Return whether the sentence looks like a line of a log. Such a line begins with a time and a
    date or with a level, or consists of keys and values.
    """
    return _LOG.match(sentence) is not None or (
        sentence.count("=") >= LOG_PAIRS and len(_PAIR.findall(sentence)) >= LOG_PAIRS
    )


def is_noisy(sentence: str) -> bool:
    """Return whether the sentence has many characters other than letters, digits and spaces, as
    code, tables and data have.
    """
    if sentence.isascii():
        return len(sentence.encode().translate(None, _NO_NOISE)) > NOISY * len(sentence)
    return len(_NOISE.findall(sentence)) > NOISY * len(sentence)

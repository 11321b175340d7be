"""Rates how much a sentence is worth remembering, without a model: by names, numbers, decisions and
who is speaking.

The words that it looks for are those of the commonest languages.
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
"""Who speaks. A line of an earlier summary without a speaker has nobody."""
BASE = {USER: 1.0, ASSISTANT: 0.8, TOOL: 0.1, NOBODY: 1.2}
FACT = {USER: 1.0, ASSISTANT: 0.65, TOOL: 0.2, NOBODY: 1.0}
"""What a number or identifier is worth. Advice and tools' output are full of numbers."""
MOST_FACTS = 4
IDENTIFIER = 1.7  # numbers: nothing else in a conversation says the same
OWN_WORD = 0.25
NOISY = 0.2  # share of characters that are neither letters, digits nor blanks: code, tables, data
OFTEN = 0.2  # of all sentences: a word in more of them says nothing about the topic

# What a pattern begins with decides its time: a letter, or one of a few, is looked for much faster
# than all else.
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
_NAME = re.compile(r" [A-ZÀ-ÞА-ЯΑ-Ω](?<=[\w,;:] .)[\w'’-]+")
_NOISE = re.compile(r"[^\w\s]|_")  # neither letter, digit nor blank
_NO_NOISE = bytes(point for point in range(128) if not _NOISE.match(chr(point)))


SETTLED, NUMBER_WORD, OWN = range(3)
FIELDS = ("settled", "number_words", "first_person")
"""Words of what was decided, allowed, asked for, preferred or corrected; numbers and dates in
words; and words in which one speaks of oneself.
"""


@cache
def _patterns() -> Sequence[re.Pattern[str]]:
    """A pattern for each of the fields, for a text in lower case."""
    return tuple(either(*patterns_by_writing(field)) for field in FIELDS)


@cache
def _triggers() -> Triggers:
    return Triggers([triggers_of(field) for field in FIELDS], asked_together=True)


def _likely(sentence: str) -> Sequence[int]:
    """The numbers of the fields that may have a word in the sentence."""
    return _triggers().candidates(sentence)


def facts(sentence: str) -> frozenset[str]:
    """The numbers of a sentence, each with the word after it, and its identifiers. Repetitions are
    found by them.
    """
    return (
        frozenset(map(str.casefold, _FACT.findall(sentence)))
        if _MAY_BE_FACT.search(sentence)
        else _NONE
    )


@lru_cache(maxsize=8)
def is_own(sentence: str) -> bool:
    """Whether it speaks in the first person."""
    return OWN in _likely(sentence) and bool(_patterns()[OWN].search(sentence.lower()))


def topic_words(bags: Iterable[frozenset[str]]) -> frozenset[str]:
    """The words that the conversation is about. They come back, but not everywhere."""
    counts: Counter[str] = Counter()
    total = 0
    for bag in bags:
        counts.update(bag)
        total += 1
    return frozenset(word for word, count in counts.items() if 1 < count <= max(2, OFTEN * total))


def tells_who(sentence: str, *, speaker: str) -> bool:
    """Whether the speaker says who the user is. The sentence isn't a question."""
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
    """Rate a sentence by itself. `bag` holds its words, `topic` the words that the conversation is
    about; `who` says whether it tells who the user is, `asks` whether it is a question.
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
        score += min(1.5, OWN_WORD * len(bag))
    if asks:
        score -= 1.2 if own else 2.0
    if not who and is_filler(sentence, bag):
        score -= 3.0
    if is_noisy(sentence):
        score -= 2.0
    return score


def _facts(sentence: str, *, has_number_words: bool) -> float:
    """How many numbers, dates and sums it has; an identifier counts for more."""
    found: float = len(_NUMBER.findall(sentence))
    if found or "@" in sentence or "://" in sentence:
        found += IDENTIFIER * len(_IDENTIFIER.findall(sentence))
    if has_number_words:
        found += len(_patterns()[NUMBER_WORD].findall(sentence.lower()))
    return found


def is_log_line(sentence: str) -> bool:
    """Whether it looks like a line of a log: it begins with a time and a date or with a level, or
    consists of keys and values.
    """
    return _LOG.match(sentence) is not None or (
        sentence.count("=") >= LOG_PAIRS and len(_PAIR.findall(sentence)) >= LOG_PAIRS
    )


def is_noisy(sentence: str) -> bool:
    """Whether it has many characters that are neither letters, digits nor blanks, as code, tables
    and data have.
    """
    if sentence.isascii():
        return len(sentence.encode().translate(None, _NO_NOISE)) > NOISY * len(sentence)
    return len(_NOISE.findall(sentence)) > NOISY * len(sentence)

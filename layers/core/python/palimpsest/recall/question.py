"""A recall's request, the analysis of its question (words, topics, period), and measures of how
well a text matches it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Final

from palimpsest.memory.filters import MemoryFilter
from palimpsest.recall.about import person_asked_for
from palimpsest.text.analyser import Stems, content_words, function_words, terms, topic_key, words
from palimpsest.text.bm25 import BASE, Field, Matches, scored
from palimpsest.text.cutting import ELLIPSIS, shortened
from palimpsest.text.dates import Period, period
from palimpsest.text.folding import folded
from palimpsest.text.language import language_of
from palimpsest.text.matching import patterns_by_writing
from palimpsest.text.word_files import entries, word_files

DEFAULT_K = 5
MAX_QUESTION = 4_000  # characters that are read
LEAST_NAME = 3  # letters; a shorter part of an id is rarely a name
MAX_EXCERPTED = 50_000  # characters among which an excerpt is chosen
NEAR = 100  # characters within which an excerpt looks for the beginning of a word

WORDS: Final = "palimpsest.text"
WITHOUT_BLANKS = "\u3040"  # the first letter of the scripts without blanks
_BREAK = re.compile(r"[\s\u3002\uff01\uff1f]+")
_WORD = re.compile(r"\w[\w\u2019'-]*")
_OWNED = re.compile(r"['\u2019]s?$")
_THE_USER = re.compile(r"\b(?:the )?user(?P<owned>['\u2019]s)?\b", re.IGNORECASE)
NOTHING, ONESELF = {True: "", False: ""}, {True: "my", False: "I"}


@cache
def _what_happened() -> frozenset[str]:
    """Return words such as "what" and "happened". A question with only these words and a time asks
    for everything of that time.
    """
    return frozenset(entries(WORDS, "what_happened"))


@cache
def _the_past() -> re.Pattern[str]:
    """Return a pattern of questions that ask for earlier values too."""
    whole, joined = patterns_by_writing("the_past")
    return re.compile(rf"\b(?:{'|'.join(whole)})\b|{'|'.join(joined)}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """The request of a recall.

    With `as_of`, the result is what was valid at that moment. With `known_at`, the result is what
    was recorded by that moment. Both are in epoch milliseconds. At most `k` memories are returned,
    with at most `max_tokens` tokens together. `session` is the session that asks, and messages in
    its window are not returned. With `rerank`, a model reads the best candidates. Memories with a
    score (0..1) below `min_score` are not returned. If `min_score` is None, only the model's
    threshold decides.
    """

    query: str
    k: int = DEFAULT_K
    max_tokens: int | None = None
    filter: MemoryFilter = field(default_factory=MemoryFilter)
    as_of: int | None = None
    known_at: int | None = None
    answer: bool = False
    explain: bool = False
    session: str | None = None
    rerank: bool = True
    min_score: float | None = None

    @property
    def looks_back(self) -> bool:
        return self.as_of is not None or self.known_at is not None


@dataclass(frozen=True, slots=True)
class Query:
    """An analysed question. `searched` is the text with which the index is searched. `first_person`
    is the question as the user would ask it. `words` are its words without stop words, in the form
    in which texts are compared: each has its English stem, and perhaps one of its own language.
    `topic_keys` are possible keys of the topics that it names, the longest first. `asks_for_days`
    is true if the question asks only what happened in its period. `person` is the person other than
    the user whom it is about, by name or as a relative ("wife").
    """

    text: str
    searched: str
    first_person: str
    words: tuple[Stems, ...]
    topic_keys: tuple[str, ...]
    period: Period | None
    asks_of_the_past: bool
    asks_for_days: bool = False
    person: str | None = None

    @property
    def language(self) -> str:
        """The code of its language, as far as that is recognized, or else that of English."""
        return language_of(words(self.text))

    @property
    def terms(self) -> tuple[str, ...]:
        """All stems of its words."""
        return tuple(dict.fromkeys(stem for word in self.words for stem in word))


def analysed(text: str, *, user: str, now: datetime) -> Query:
    """Analyse the first 4,000 characters of a question about a user, in any language.

    The user's own name, which is recognized by the user's id, is removed. It only says whose
    memories are searched, and it would favour the few memories that contain it. The text for a
    reranker has "I" or "my" in its place, as users' statements have.
    """
    question = " ".join(text[:MAX_QUESTION].split())
    searched, first_person = _without(question, user), _without(question, user, by=ONESELF)
    person = person_asked_for(first_person)
    question_words, when = content_words(searched), period(question, now=now)
    return Query(
        text=question,
        searched=searched,
        first_person=first_person,
        words=question_words,
        topic_keys=topic_keys(searched, person=person),
        period=when,
        asks_of_the_past=_the_past().search(question) is not None,
        person=person,
        asks_for_days=when is not None and _asks_what_happened(question_words, when),
    )


def _asks_what_happened(question_words: Sequence[Stems], when: Period) -> bool:
    """Return whether the question consists only of the words for its period and words such as
    "happened".
    """
    left = {*question_words}.difference(content_words(when.words))
    return all(not _what_happened().isdisjoint(word) for word in left)


def _without(text: str, user: str, *, by: Mapping[bool, str] = NOTHING) -> str:
    """Return the text with the user's name replaced: `by[True]` replaces "Ada's", `by[False]`
    replaces "Ada". If nothing else is in the text, it is returned unchanged.
    """
    whole = user.casefold()
    parts = re.split(r"[^a-z]+", whole)
    names = {name for name in (*parts, whole) if len(name) >= LEAST_NAME}

    def without_name(match: re.Match[str]) -> str:
        owned = _OWNED.search(match[0])
        bare = re.sub(r"[\W_]", "", folded(_OWNED.sub("", match[0])))
        # In lower case, "mark" and "rose" are ordinary words.
        is_name = match[0][0].isupper() and bare in names
        return by[owned is not None] if is_name else match[0]

    by_role = _THE_USER.sub(lambda match: by[match["owned"] is not None], text)
    left = " ".join(_WORD.sub(without_name, by_role).split())
    return left if set(words(left)).difference(word.casefold() for word in by.values()) else text


MAX_KEYS = 90  # one read takes a hundred
LONGEST = 3  # words of a key
MOST_TOPICS = 6  # common ones


@cache
def _topics() -> Mapping[str, Sequence[str]]:
    """Return the common topics that a question names, by the folded words that name them. In a
    script without spaces, such a word also counts inside a longer run of characters.
    """
    topics: dict[str, list[str]] = {}
    for file in word_files(WORDS).values():
        for topic, topic_words in file.get("topics", {}).items():
            for word in topic_words:
                topics.setdefault(folded(word), []).append(topic)
    return topics


@cache
def _words_without_blanks() -> Sequence[str]:
    return tuple(word for word in _topics() if word[0] >= WITHOUT_BLANKS)


@cache
def _spelling() -> Mapping[str, str]:
    """Return, for each word, its spelling in keys."""
    return {
        key: value
        for file in word_files(WORDS).values()
        for key, value in file.get("spelling", {}).items()
    }


def topic_keys(text: str, *, person: str | None = None) -> tuple[str, ...]:
    """Return keys of one to three neighbouring words, the longest first, each also in its singular.
    After these come the keys of common topics that a word names ("live" names `residence`). If the
    question is about a `person` other than the user, these must belong to that person, because the
    common topics are the user's own.
    """
    every = words(text)
    spelling, empty = _spelling(), function_words()
    spelt = [spelling.get(word, word) for word in every if word not in empty]
    keys: dict[str, None] = {}
    for length in range(LONGEST, 0, -1):
        for start in range(len(spelt) - length + 1):
            for last in _singular(spelt[start + length - 1]):
                key = topic_key(" ".join((*spelt[start : start + length - 1], last)))
                if key:
                    keys[key] = None
    of = [person] if person is not None else every
    known = [topic for word in of for topic in _said_for(word)]
    return tuple(dict.fromkeys((*tuple(keys)[: MAX_KEYS - MOST_TOPICS], *known)))


def _said_for(word: str) -> Sequence[str]:
    topics = _topics()
    if word.isascii() or word in topics:
        return topics.get(word, ())
    return [topic for part in _words_without_blanks() if part in word for topic in topics[part]]


def _singular(word: str) -> tuple[str, ...]:
    # "Class", "bus" and "tennis" are no plurals.
    if not word.isascii() or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return (word,)
    return word, f"{word[:-3]}y" if word.endswith("ies") else word[:-1]


def coverage(question_words: Sequence[Stems], text_terms: Collection[str]) -> float:
    """Return the share (0..1) of the question's words that a text has, by any of their stems."""
    if not question_words:
        return 0.0
    return sum(has(text_terms, word) for word in question_words) / len(question_words)


def has(text_terms: Collection[str], word: Stems) -> bool:
    """Return whether a text with these terms has the word."""
    return any(stem in text_terms for stem in word)


def scores(question_terms: Sequence[str], texts: Sequence[Sequence[str]]) -> list[float]:
    """Return the BM25 score of each text, computed among these texts alone. A text is a sequence of
    its terms.
    """
    counts = [Counter(text) for text in texts]
    lengths = [len(text) for text in texts]
    every = Field(documents=len(texts), terms=sum(lengths))
    costs = {length: BASE + every.slope * length for length in lengths}  # an index rounds them
    matches = []
    for term in question_terms:
        numbers = [number for number, count in enumerate(counts) if term in count]
        postings = [(number, counts[number][term], lengths[number]) for number in numbers]
        matches.append(Matches([(every.weight(len(numbers)), postings)], costs))
    by_number = scored(matches)
    return [by_number.get(number, 0.0) for number in range(len(texts))]


def excerpt(text: str, question_words: Sequence[Stems], *, limit: int) -> str:
    """Return at most `limit` characters of the text: the part with most of the question's words."""
    if len(text) <= limit:
        return text
    step = max(1, limit // 2)
    starts = [_beginning(text, start) for start in range(0, min(len(text), MAX_EXCERPTED), step)]

    def rank(start: int) -> tuple[float, int]:
        part = frozenset(terms(text[start : start + limit]))
        return coverage(question_words, part), -start

    best = max(starts, key=rank)
    before = ELLIPSIS if best else ""
    return before + shortened(text[best:], limit=limit - len(before), count=len)[0]


def _beginning(text: str, start: int) -> int:
    """Return a position near `start` at which a word begins, or 0 if there is none."""
    gap = _BREAK.search(text, start, start + NEAR) if start else None
    return gap.end() if gap else 0

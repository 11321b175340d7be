"""What a recall is asked, the analysis of its question (words, topics, period), and how well a text
matches it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Final

from palimpsest.memory.filters import Filter
from palimpsest.text.analyser import content_terms, function_words, terms, topic_key, words
from palimpsest.text.bm25 import BASE, Field
from palimpsest.text.cutting import ELLIPSIS, shortened
from palimpsest.text.dates import Period, period
from palimpsest.text.folding import folded
from palimpsest.text.matching import patterns_by_writing
from palimpsest.text.word_files import entries, word_files

DEFAULT_K = 5
MAX_QUESTION = 4_000  # characters that are read
LEAST_NAME = 3
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
    """A question that has these words and a time alone asks for what was then."""
    return frozenset(entries(WORDS, "what_happened"))


@cache
def _the_past() -> re.Pattern[str]:
    """A question that this matches asks for earlier values too."""
    whole, joined = patterns_by_writing("the_past")
    return re.compile(rf"\b(?:{'|'.join(whole)})\b|{'|'.join(joined)}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """`as_of` asks for what held at a moment, `known_at` for what had been recorded by then (epoch
    milliseconds). `k` is how many memories may be returned, `max_tokens` how much they may weigh
    together. `session` is the one that asks: what its window holds is not returned. `rerank` has a
    model read the first of what was found. A memory whose score (0..1) is below `min_score` is not
    returned; None: the threshold alone decides.
    """

    query: str
    k: int = DEFAULT_K
    max_tokens: int | None = None
    filter: Filter = field(default_factory=Filter)
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
    """`searched` is the text that the index is searched with, `first_person` the question as the
    user would ask it; `terms` are the words in the form in which texts are compared; `topic_keys`
    are keys that a topic it names may have, the longest first. `asks_for_days` is whether it asks
    for nothing but what was in its period.
    """

    text: str
    searched: str
    first_person: str
    terms: tuple[str, ...]
    topic_keys: tuple[str, ...]
    period: Period | None
    asks_of_the_past: bool
    asks_for_days: bool = False


def analysed(text: str, *, user: str, now: datetime) -> Query:
    """Analyse a question about a user, in any language, of which the first 4,000 characters are
    read.

    The user's own name is taken out: it only says whose memories are searched, and would favour the
    few that contain it. It is recognised by the user's id. What a reranker reads has "I" or "my" in
    its place, as statements have it.
    """
    asked = " ".join(text[:MAX_QUESTION].split())
    searched = _without(asked, user)
    asked_for, when = content_terms(searched), period(asked, now=now)
    return Query(
        text=asked,
        searched=searched,
        first_person=_without(asked, user, by=ONESELF),
        terms=asked_for,
        topic_keys=topic_keys(searched),
        period=when,
        asks_of_the_past=_the_past().search(asked) is not None,
        asks_for_days=when is not None
        and _what_happened().issuperset({*asked_for}.difference(content_terms(when.words))),
    )


def _without(text: str, user: str, *, by: Mapping[bool, str] = NOTHING) -> str:
    """The text with `by` in place of the user's name: what it has for True stands for "Ada's", for
    False for "Ada". The text itself if there is nothing else in it.
    """
    names = {
        name
        for name in (*re.split(r"[^a-z]+", user.casefold()), user.casefold())
        if len(name) >= LEAST_NAME
    }

    def without_name(match: re.Match[str]) -> str:
        owned = _OWNED.search(match[0])
        bare = re.sub(r"[\W_]", "", folded(_OWNED.sub("", match[0])))
        return by[owned is not None] if match[0][0].isupper() and bare in names else match[0]

    by_role = _THE_USER.sub(lambda match: by[match["owned"] is not None], text)
    left = " ".join(_WORD.sub(without_name, by_role).split())
    return left if set(words(left)).difference(word.casefold() for word in by.values()) else text


MAX_KEYS = 90  # one read takes a hundred
LONGEST = 3  # words of a key
MOST_TOPICS = 6  # common ones


@cache
def _topics() -> Mapping[str, Sequence[str]]:
    """By a folded word, the topics for which it is used, which nearly every user has. A word of a
    script without blanks counts inside a run too.
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
    """By a word, how keys spell it."""
    return {
        key: value
        for file in word_files(WORDS).values()
        for key, value in file.get("spelling", {}).items()
    }


def topic_keys(text: str) -> tuple[str, ...]:
    """Return keys of one to three neighbouring words, the longest first, each also in its singular;
    then the keys of common topics that one of the words stands for ("live" for `residence`).
    """
    every = words(text)
    spelling, empty = _spelling(), function_words()
    said = [spelling.get(word, word) for word in every if word not in empty]
    keys: dict[str, None] = {}
    for length in range(LONGEST, 0, -1):
        for start in range(len(said) - length + 1):
            for last in _singular(said[start + length - 1]):
                key = topic_key(" ".join((*said[start : start + length - 1], last)))
                keys |= {key: None} if key else {}
    known = [topic for word in every for topic in _said_for(word)]
    return tuple(dict.fromkeys((*tuple(keys)[: MAX_KEYS - MOST_TOPICS], *known)))


def _said_for(word: str) -> Sequence[str]:
    topics = _topics()
    if word.isascii() or word in topics:
        return topics.get(word, ())
    return [topic for part in _words_without_blanks() if part in word for topic in topics[part]]


def _singular(word: str) -> tuple[str, ...]:
    if not word.isascii() or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return (word,)
    return word, f"{word[:-3]}y" if word.endswith("ies") else word[:-1]


def coverage(asked: Sequence[str], found: Collection[str]) -> float:
    """The share (0..1) of the question's terms that a text holds."""
    return sum(term in found for term in asked) / len(asked) if asked else 0.0


def scores(asked: Sequence[str], texts: Sequence[Sequence[str]]) -> list[float]:
    """The BM25 score of each text, given as its terms, among these texts alone."""
    counts = [Counter(text) for text in texts]
    every = Field(documents=len(texts), terms=sum(map(len, texts)))
    weights = {term: every.weight(sum(term in count for count in counts)) for term in asked}
    return [
        sum(
            weights[term] * count[term] / (count[term] + BASE + every.slope * len(text))
            for term in asked
            if term in count
        )
        for text, count in zip(texts, counts, strict=True)
    ]


def excerpt(text: str, asked: Sequence[str], *, limit: int) -> str:
    """At most `limit` characters of the text: the part in which most of the question's terms
    are.
    """
    if len(text) <= limit:
        return text
    starts = [
        _beginning(text, start)
        for start in range(0, min(len(text), MAX_EXCERPTED), max(1, limit // 2))
    ]
    best = max(
        starts,
        key=lambda start: (coverage(asked, frozenset(terms(text[start : start + limit]))), -start),
    )
    before = ELLIPSIS if best else ""
    return before + shortened(text[best:], limit=limit - len(before), count=len)[0]


def _beginning(text: str, start: int) -> int:
    """A place near `start` where a word begins; the text's own beginning where there is none."""
    found = _BREAK.search(text, start, start + NEAR) if start else None
    return found.end() if found else 0

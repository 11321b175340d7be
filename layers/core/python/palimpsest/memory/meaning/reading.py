"""Reads a sentence for its meaning: in the first person, without openers and times, as words that
name something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, Final

from palimpsest.text.analyser import function_words, words
from palimpsest.text.folding import folded
from palimpsest.text.word_files import entries, filled, filled_words, word_files

PACKAGE: Final = "palimpsest.memory.meaning"
MOST = 300  # characters of a sentence that is read for its meaning
LEAST_SHARED = 3  # letters of two forms of a word
_ENDS = " \t\n.!…,;:-–—*\"'”“„"
_PUNCTUATION = re.compile(r"[,;:.!–—]\s+|\s+[-–—]\s+")
_DATES = re.compile(r" \([^()]{0,20}\d{4}-\d\d[^()]{0,20}\)")  # that were written beside relative ones
_REWRITTEN = re.compile(r"['’‘]|\b(?:user|any more|Im|cannot)\b", re.IGNORECASE)
_INFLECTIONS = frozenset(
    {"", "e", "s", "es", "en", "ing", "ed", "er", "ar", "ir", "o", "as", "a", "t", "te", "st", "ais"}
)


def shared(name: str) -> Any:
    """A field of the words that belong to no language."""
    return word_files(PACKAGE)["shared"][name]


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern with its pieces, for a text in any case."""
    return re.compile(filled(PACKAGE, pattern), re.IGNORECASE)


def triggers(entry: Any) -> list[str]:
    """The words of which every match of an entry has one. Patterns in a list of words have none
    that could be looked up: only their beginnings count.
    """
    return [
        trigger
        for word in filled_words(PACKAGE, entry["words"])
        for trigger in _plain_words(word)
    ]


def _plain_words(word: str) -> Iterator[str]:
    beginning = re.match(r"[^\W_]+", word)
    if beginning is None:
        return
    if beginning[0] == word or word == beginning[0] + "*":
        yield word
    elif len(beginning[0]) > LEAST_SHARED:
        yield beginning[0][:-1] + "*"
    else:
        yield beginning[0] + "*" if len(beginning[0]) == LEAST_SHARED else beginning[0]


def first_words(phrase: str) -> list[str]:
    """The word, or the beginning of one, with which a phrase of a list begins."""
    plain = re.sub(r"\(\?:[^()]*\)\?|\(\?:|\)", " ", phrase).split()
    return [trigger for word in plain[:1] for trigger in _plain_words(word)]


@cache
def _rewrites() -> Sequence[tuple[re.Pattern[str], str]]:
    return [
        (re.compile(pattern, re.IGNORECASE), text) for pattern, text in entries(PACKAGE, "spoken")
    ]


@cache
def _openers() -> re.Pattern[str]:
    return compiled(r"^(?:\W*\b(?:{openers})\b[,:.!]*\s+)+(?=\w|\*)")


@lru_cache(maxsize=64)
def spoken(text: str) -> str:
    """The sentence as the user would say it, without contractions and openers."""
    said = _DATES.sub("", text[:MOST]).strip()
    if _REWRITTEN.search(said):
        for pattern, by in _rewrites():
            said = pattern.sub(by, said)
    said = _openers().sub("", said)
    return " ".join(said.split()).strip(_ENDS)


@cache
def _times() -> re.Pattern[str]:
    heads, middles, nouns = shared("time_heads"), shared("time_middles"), shared("time_nouns")
    day = r"(?:{weekdays}|{months}|{seasons}|(?:19|20)\d\d)"
    return compiled(
        rf"(?<!\w)(?:(?:{heads} )?(?:{middles} )*{day}(?: (?:19|20)\d\d)?"
        rf"|(?:{heads} )*(?:{middles} )+{nouns}|(?:{heads} )?(?:the )?\d\d?(?:st|nd|rd|th|\.)"
        r"(?: of)?(?: {months})?(?: (?:19|20)\d\d)?"
        rf"|(?:vor|hace|il y a) \w+ {nouns}|(?:\d+|an?|two|three|a few|several) {nouns} ago"
        rf"|(?:{heads} )?(?:{{time_words}}))(?!\w)"
    )


@lru_cache(maxsize=64)
def without_times(text: str) -> str:
    """The text without the words that say when."""
    return " ".join(_times().sub(" ", text).split()).strip(_ENDS)


@cache
def _empty() -> frozenset[str]:
    return function_words() | frozenset(map(folded, entries(PACKAGE, "empty")))


@lru_cache(maxsize=256)
def naming(text: str) -> tuple[str, ...]:
    """The words of the text that name something, folded, in order."""
    plain = spoken(text).replace("-", " ").replace("’", " ").replace("'", " ")
    found = words(without_times(plain))
    empty = _empty()
    return tuple(dict.fromkeys(word for word in found if word not in empty and len(word) > 1))


@cache
def _classes() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for file in word_files(PACKAGE).values():
        for name, those in file.get("classes", {}).items():
            for word in those:
                found.setdefault(folded(word), set()).add(name)
    return {word: frozenset(names) for word, names in found.items()}


def classes(word: str) -> frozenset[str]:
    """The classes of things that a word is in: "car" and "drive" are both in "vehicle"."""
    return _classes().get(word, frozenset())


def is_alike(one: str, other: str) -> bool:
    """Whether two folded words are forms of one word."""
    if one == other:
        return True
    shared_ = 0
    for ours, theirs in zip(one, other, strict=False):
        if ours != theirs:
            break
        shared_ += 1
    if shared_ < LEAST_SHARED:
        return False
    rests = {one[shared_:], other[shared_:]}
    return rests <= _INFLECTIONS or rests == {"", "n"}


def is_meant_by(word: str, others: Sequence[str]) -> bool:
    """Whether one of the other words is a form of the word, or in a class with it."""
    own = classes(word)
    return any(is_alike(word, other) or bool(own & classes(other)) for other in others)


def clauses(sentence: str) -> list[str]:
    """The parts of a sentence at its marks, and these at their joining words."""
    parts = [part.strip(_ENDS) for part in _PUNCTUATION.split(sentence)]
    splits = compiled(rf"\s+{shared('splits')}\s+")
    finer = [piece for part in parts for piece in splits.split(part) if piece != part]
    return [part for part in dict.fromkeys((*parts, *finer)) if part]

"""Compares two statements word by word: which words of the known one come again in the new one, and
what takes the place of the others. "Our home internet is 100 megabit" and "we get 900 megabit at
home" differ in one value.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise, takewhile

from palimpsest.memory.meaning.fitting import number_or_day
from palimpsest.memory.meaning.reading import LEAST_SHARED, empty_words, is_alike, spoken
from palimpsest.text.folding import folded

MOST = 300  # characters of a statement that are read
MOST_REST = 3  # words that may be one value
MOST_OTHERS, MOST_BEGUN = 6, 4  # more words count as so many
_WORD = re.compile(r"[^\W_]+(?:[.:][^\W_]+)*")
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class _AlignedWord:
    text: str
    form: str
    is_empty: bool


@dataclass(frozen=True, slots=True)
class _AlignedText:
    """The words of a statement in order, and again by their first letters."""

    words: Sequence[_AlignedWord]
    by_beginning: Mapping[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def texts(self) -> Sequence[str]:
        return [word.text for word in self.words]

    def has(self, word: _AlignedWord) -> bool:
        """Return whether the statement has a form of the word."""
        alike = self.by_beginning.get(word.text[:LEAST_SHARED], ())
        return any(is_alike(word.text, other) for other in alike)


@lru_cache(maxsize=1024)
def _read(text: str) -> _AlignedText:
    plain, empty = spoken(text[:MOST]), empty_words()
    read = _AlignedText(
        [
            _AlignedWord(
                folded(match[0]), _form(match[0], match.start()), folded(match[0]) in empty
            )
            for match in _WORD.finditer(plain)
        ]
    )
    for word in read.words:
        read.by_beginning[word.text[:LEAST_SHARED]].append(word.text)
    return read


def _form(word: str, place: int) -> str:
    """Return whether a word is a number, a day or month, a name or any other word."""
    if _DIGIT.search(word):
        return "number"
    if number_or_day().fullmatch(word):
        return "day"
    return "name" if place and word[0].isupper() else "word"


def alignment(new: str, known: str) -> Mapping[str, float]:
    """Return signs of how the words of a new and a known statement correspond. The rest are the
    words of the known statement that the new one lacks. If the rest is one short piece, it may be a
    value. The rest is led if the word before it also stands before a new word: "at 9", "at 10".
    """
    mine, theirs = _read(new), _read(known)
    if not mine.words or not theirs.words:
        return {}
    rest = [place for place, word in enumerate(theirs.words) if not mine.has(word)]
    full = [word for word in theirs.words if not word.is_empty]
    again = sum(mine.has(word) for word in full)
    others = [word for word in mine.words if not word.is_empty and not theirs.has(word)]
    is_one = 0 < len(rest) <= MOST_REST and rest[-1] - rest[0] < MOST_REST
    is_led = is_one and _is_led(rest[0], theirs, mine)
    forms = {word.form for word in map(theirs.words.__getitem__, rest) if not word.is_empty}
    same = forms & {word.form for word in others}
    begun = sum(takewhile(bool, map(is_alike, mine.texts, theirs.texts)))
    return {
        "again": again / max(1, len(full)),
        "all_again": 1 - len(rest) / len(theirs.words),
        "one_rest": float(is_one),
        "led": float(is_led),
        "others": min(MOST_OTHERS, len(others)) / MOST_OTHERS,
        "begun": min(MOST_BEGUN, begun) / MOST_BEGUN,
        "no_rest": float(not rest),
        **{f"same_{form}": 1.0 for form in same},
        **{f"one_{form}": 1.0 for form in same if is_one and again},
        **{f"led_{form}": 1.0 for form in same if is_led and again},
    }


def _is_led(place: int, theirs: _AlignedText, mine: _AlignedText) -> bool:
    """Return whether the word before this place in the known statement also stands before a new
    word in the new one: "at 9", "at 10".
    """
    if not place:
        return False
    before = theirs.words[place - 1].text
    return any(
        is_alike(before, word.text) and not theirs.has(after)
        for word, after in pairwise(mine.words)
    )

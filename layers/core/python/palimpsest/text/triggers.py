"""Finds which of many patterns may match a text. Each pattern has trigger words, and every match
contains one of them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from operator import lshift, or_
from threading import Lock
from typing import Final

from palimpsest.text.folding import folded

OPEN: Final = "*"
"""The character that ends a trigger which is only the beginning of a word."""
BEGINNING = 3  # the letters by which beginnings of words are looked up
MOST_WORDS = 16_384  # cached, because words are repeated
MOST_COMBINATIONS = 4_096  # combinations of patterns that are cached
FIRST_WITHOUT_BLANKS = "\u0590"  # Hebrew and all scripts after it join words, or write no blanks
_TWO = "İ"  # its lower case has two characters: a text with it may match every pattern
_ALIKE = {ord("ı"): "i", ord("ſ"): "s", ord(_TWO): "i"}  # noqa: RUF001 - equal when case is ignored
_LETTERS = re.compile(r"[^\W_]+")


class Triggers:
    """The triggers of several patterns. A pattern without triggers may match every text.

    A trigger is one word in lower case ("live"), or the beginning of a word ("decid*"). In scripts
    that join words or write no blanks it may be any part of a word.

    With `asked_together`, the words of a text are looked up once for all such triggers.
    """

    def __init__(self, triggers: Sequence[Sequence[str]], *, asked_together: bool = False) -> None:
        self.size = len(triggers)
        self._all = (1 << len(triggers)) - 1
        self.always = 0
        self._words: dict[str, int] = defaultdict(int)
        self._beginnings: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._parts: dict[str, int] = defaultdict(int)
        for number, words in enumerate(triggers):
            self.always |= 0 if words else 1 << number
            for word in words:
                self._add(lowered(word), 1 << number)
        self._patterns_of = lru_cache(maxsize=MOST_WORDS)(self.patterns_of)
        self._place: int | None = _join(self) if asked_together else None

    def candidates(self, text: str) -> Sequence[int]:
        """Return the numbers of the patterns that may match the text, in order."""
        return places(self.mask(text))

    def mask(self, text: str) -> int:
        """Return the numbers that `candidates` returns as the bits of one number; the lowest bit is
        the first pattern.
        """
        if self._place is not None:
            return _mask_of_all(text, len(_TOGETHER)) >> self._place & self._all
        if _TWO in text:
            return self._all
        bits = self.always
        for patterns in map(self._patterns_of, word_set(lowered(text))):
            bits |= patterns
        return bits

    def _add(self, word: str, pattern: int) -> None:
        if word >= FIRST_WITHOUT_BLANKS:
            self._parts[word] |= pattern
        elif word.endswith(OPEN):
            self._beginnings[word[:BEGINNING]][word[:-1]] |= pattern
        else:
            self._words[word] |= pattern

    def patterns_of(self, word: str) -> int:
        """Return the patterns that may match a text with this word, as the bits of one number."""
        patterns = self._words.get(word, 0)
        for beginning, those in self._beginnings.get(word[:BEGINNING], {}).items():
            patterns |= those if word.startswith(beginning) else 0
        if not word.isascii():
            for part, those in self._parts.items():
                patterns |= those if part in word else 0
        return patterns


_TOGETHER: list[tuple[Triggers, int]] = []
"""All triggers that are looked up together. Their patterns are numbered as one series, and each
entry has the number of its first pattern.
"""
_JOINING = Lock()


def _join(triggers: Triggers) -> int:
    """Add the triggers to the ones that are looked up together. Return the number of their first
    pattern.
    """
    with _JOINING:
        last, place = _TOGETHER[-1] if _TOGETHER else (None, 0)
        place += last.size if last else 0
        _TOGETHER.append((triggers, place))
    return place


class _PatternsByWord(dict[str, int]):
    """The patterns that may match a text with a word. They are the patterns of the first `joined`
    triggers of `_TOGETHER`. The results are cached by word, because words are repeated.
    """

    def __init__(self, joined: int) -> None:
        self._asked = tuple(_TOGETHER[:joined])
        self.always = self._sum(triggers.always for triggers, _ in self._asked)

    def __missing__(self, word: str) -> int:
        if len(self) >= MOST_WORDS:
            self.clear()
        bits = self[word] = self._sum(triggers.patterns_of(word) for triggers, _ in self._asked)
        return bits

    def _sum(self, patterns: Iterable[int]) -> int:
        places = (place for _, place in self._asked)
        return reduce(or_, map(lshift, patterns, places), 0)


@lru_cache(maxsize=8)
def _patterns_by_word(joined: int) -> _PatternsByWord:
    return _PatternsByWord(joined)


@lru_cache(maxsize=256)  # a sentence is asked for by many readers
def _mask_of_all(text: str, joined: int) -> int:
    """Return the patterns of the first `joined` triggers of `_TOGETHER` that may match the text, as
    the bits of one number.
    """
    if _TWO in text:
        return -1
    patterns = _patterns_by_word(joined)
    masks = map(patterns.__getitem__, word_set(lowered(text)))
    return reduce(or_, filter(None, masks), patterns.always)


@lru_cache(maxsize=MOST_COMBINATIONS)
def places(number: int) -> Sequence[int]:
    """Return the positions of the bits that are set, in order."""
    return tuple(place for place in range(number.bit_length()) if number >> place & 1)


@lru_cache(maxsize=8)  # several readers look at a sentence one after the other
def word_set(lower: str) -> frozenset[str]:
    """Return the runs of letters and digits of a text in lower case."""
    return frozenset(folded(lower).split() if lower.isascii() else _LETTERS.findall(lower))


@lru_cache(maxsize=8)
def lowered(text: str) -> str:
    """Return the text in lower case. Each letter keeps its position. Letters that are equal when
    case is ignored become one letter.
    """
    return (text if text.isascii() else text.translate(_ALIKE)).lower()
